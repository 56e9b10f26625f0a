import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { RecordedMonotonic } from "../../src/can/mod.ts";
import { type Finding, type FindingKind, RecordedDoctor } from "../../src/doctor/mod.ts";
import { newStoredFrame, pgnOfId, sourceOfId } from "../../src/frame/mod.ts";
import { findRecorded, readRecorded } from "../../src/recordings/mod.ts";
import { needs } from "../support/needs.ts";
import { SAMPLES } from "../support/recordings.ts";

const DATA = new URL("../data/", import.meta.url);
/** Whole recordings that are not part of the repository. */
const FOLDER = new URL("../../../shared/data/recordings/", import.meta.url);

/** A finding that a recording must have: kind, address of the device if one is named, and why it is true. */
type Expected = readonly [kind: FindingKind, src: number | undefined, why: string];

/** The findings of whole recordings, each compared with the frames. Every other one must have none. */
const EXPECTED: Readonly<Record<string, readonly Expected[]>> = {
  "susteranna2020.raw": [
    [
      "incomplete_fast_packet",
      undefined,
      "PGN 130824 of 27 has the frames a0-a6 of one message and then c0: b0-b6 are missing; the same for ten other " +
      "senders, always where the time of the recording jumps: the recorder has lost frames, not one device",
    ],
    [
      "sources_disagree",
      undefined,
      "PGN 127250, both magnetic: 23 says 5.978 rad (342.5°) and 128 says 1.70 rad (97°), from the first to the last frame",
    ],
    [
      "sources_disagree",
      36,
      "PGN 130306, apparent: 36 says 0.25 m/s in every frame, while 33, 39 and 27 agree on 7 to 14 m/s",
    ],
  ],
};

async function findingsOf(path: URL): Promise<Finding[]> {
  const monotonic = new RecordedMonotonic();
  const doctor = new RecordedDoctor((timeUs) => monotonic.at(timeUs));
  const frame = newStoredFrame();
  const input = await findRecorded(path.pathname);
  const onIncomplete = (bus: number, id: number) => doctor.incomplete({ bus, src: sourceOfId(id), pgn: pgnOfId(id) });
  for await (const part of readRecorded([input], { log: silentLogger, onIncomplete })) {
    doctor.enter(part.buses);
    while (part.next(frame, (device) => doctor.learn(device))) doctor.add(frame);
  }
  return doctor.findings();
}

function summaryOf(findings: readonly Finding[]): string[] {
  return findings.map(({ kind, src }) => `${kind} ${src ?? ""}`).sort();
}

Deno.test("doctor: the recordings of the tests have no findings", needs({ permissions: ["read"] }), async () => {
  for (const { file } of SAMPLES) assert.deepEqual(await findingsOf(new URL(file, DATA)), [], file);
});

Deno.test({
  name: "doctor: whole recordings have the expected findings and no others",
  ...needs({ permissions: ["read"], extras: { "recordings beside the repository": exists(FOLDER) } }),
  fn: async () => {
    const files = [...Deno.readDirSync(FOLDER)].filter(({ isFile }) => isFile).map(({ name }) => name).sort();
    for (const file of files) {
      const expected = (EXPECTED[file] ?? []).map(([kind, src]) => `${kind} ${src ?? ""}`).sort();
      assert.deepEqual(summaryOf(await findingsOf(new URL(file, FOLDER))), expected, file);
    }
    for (const file of Object.keys(EXPECTED)) assert.ok(files.includes(file), file);
  },
});

function exists(folder: URL): boolean {
  try {
    return Deno.statSync(folder).isDirectory;
  } catch {
    return false;
  }
}

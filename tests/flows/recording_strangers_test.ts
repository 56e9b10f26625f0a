// A boat whose journal directory holds what is none of its own.
import assert from "node:assert/strict";
import { encodeFileHeader } from "../../src/journal/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { keepWarnings } from "../support/history.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { range, seqs, SessionClient } from "../support/session.ts";

const FILES = needs({ permissions: ["read", "write", "net"] });
const ALWAYS = "/history?from=2000-01-01T00:00:00Z&limit=100000";
const HEADER = encodeFileHeader({ version: 2, blockBytes: 16 * 1024 * 1024, compression: "zstd", epochWord: 1 });
const MAX_GROWTH_BYTES = 256 * 1024 * 1024;

/** Bytes behind a header that announces the largest blocks. */
function boast(...bytes: number[]): Uint8Array {
  const content = Uint8Array.from({ length: 3_000_000 }, (_, i) => bytes[i % bytes.length]!);
  content.set(HEADER);
  return content;
}

/** Bytes that are held for this file of tests: others may run beside it in the same process. */
function heldBytes(): number {
  const { heapTotal, external } = Deno.memoryUsage();
  return heapTotal + external;
}

/** Files by name: none is a journal's, whatever it is called. */
function strangers(): Record<string, Uint8Array> {
  const random = new Random(41);
  const index = boast(0xff);
  // An index that would be gigabytes long: `count u32 | "LPJI"`.
  index.set([0xff, 0xff, 0xff, 0x7f, 0x4c, 0x50, 0x4a, 0x49], index.length - 8);
  return {
    "photo.lpj": new TextEncoder().encode("PNG and more text than a header has"),
    "nothing.lpj": new Uint8Array(0),
    "nmea2k-20250101T000000.000Z.lpj": new Uint8Array(0),
    "nmea2k-20250101T000001.000Z.lpj": random.bytes(500_000),
    "nmea2k-20250101T000002.000Z.lpj": boast(0xff),
    "nmea2k-20250101T000003.000Z.lpj": boast(0x00, 0x00, 0x00, 0x7f),
    "nmea2k-20250101T000004.000Z.lpj": boast(0x00),
    "nmea2k-20250101T000005.000Z.lpj": index,
    "nmea2k-99991231T235959.999Z.lpj": random.bytes(50_000),
    "nmea2k-20260231T000000.000Z.lpj": random.bytes(50),
    "backfill-20250101T000000.000Z.lpj": random.bytes(5000),
    "tail-a": random.bytes(300_000),
    "tail-b": boast(0xff),
    "notes.txt": new TextEncoder().encode("not looked at"),
    "nmea2k-20250101T000001.000Z.lpj.archived": new Uint8Array(0),
  };
}

function pathExists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

for (const retention of [undefined, { softPercent: 80, overflow: "delete-unarchived", archive: "off" } as const]) {
  const how = retention ? "with" : "without";
  Deno.test(
    `strangers in the journal directory cost a warning each, and health where their names are a journal's, ${how} retention`,
    FILES,
    () =>
      inFolder(async (directory) => {
        const files = strangers();
        for (const [name, bytes] of Object.entries(files)) Deno.writeFileSync(`${directory}/${name}`, bytes);
        await Deno.mkdir(`${directory}/nmea2k-20250101T000009.000Z.lpj`);
        await Deno.symlink(`${directory}/nowhere`, `${directory}/nmea2k-20250101T000010.000Z.lpj`);
        const before = heldBytes();
        let said = 0;
        for (let run = 0; run < 2; run++) {
          const { log, warnings } = keepWarnings();
          const stateDirectory = `${directory}/state`;
          await Deno.mkdir(stateDirectory, { recursive: true });
          const journal = { directory, stateDirectory, blockBytes: 4096, ...(retention && { retention }) };
          await using boat = await TestBoat.start({ clock: new FakeClock(), log, journal, stateDirectory });
          const session = new SessionClient(boat.url, { id: `run${run}` });
          await session.put();
          for (let i = 0; i < 500; i++) boat.say();
          said += 500;
          await eventually("all frames", () => boat.boat.broker.head === said);
          const kept = await boat.get<{ seq: number }[]>(ALWAYS);
          assert.deepEqual(seqs(kept), range(1, said));
          await using events = await session.events();
          assert.deepEqual(seqs(await events.atLeast(500)), range(said - 499, said));
          const health = await (await boat.raw("/healthz")).text();
          const { journal: component } = JSON.parse(health).components;
          assert.equal(component.status, "degraded");
          assert.match(
            component.message,
            /^journal file "(nmea2k|backfill)-\S+" is damaged: .*; and \d more, see the log$/,
          );
          for (const name of Object.keys(files).filter((each) => each.endsWith(".lpj"))) {
            // What looked like the torn end of a recording is gone, and told to be.
            const times = run === 1 && !pathExists(`${directory}/${name}`) ? 0 : 1;
            assert.equal(
              warnings.filter((line) => line.includes(name) && !line.includes('"message":"alert"')).length,
              times,
              `${name}: ${warnings.join("\n")}`,
            );
          }
        }
        assert.ok(heldBytes() - before < MAX_GROWTH_BYTES);
      }),
  );
}

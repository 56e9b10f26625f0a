import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { compressSmall } from "../../src/journal/mod.ts";
import type { PackThread } from "../../src/journal/block/packer.ts";
import { recover } from "../../src/journal/wal/recovery.ts";
import { pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { appendRange, frameOf, makeWriter, readJournal } from "../support/journal_run.ts";
import type { FrameSeen } from "../support/journal_files.ts";
import { environment, needs, rounds } from "../support/needs.ts";
import { PowerCutDisk } from "../support/power_cut.ts";
import { Random } from "../support/random.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? rounds(20, 4)) * 10;
const RUN = needs({ permissions: ["read", "write"] });

/** Packs blocks, sooner or later. */
class SlowThread implements PackThread {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  async pack(block: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    await pause(this.#random.int(20));
    return compressSmall(block);
  }

  close(): void {}
}

/** Records as a boat does: bursts, syncs, rotations, and an end. */
async function record(
  disk: PowerCutDisk,
  { directory, random, packs }: { directory: string; random: Random; packs: boolean },
): Promise<void> {
  let told = 0;
  const { writer } = makeWriter(directory, {
    rotateBytes: 12_000,
    onWritten: () => tell(),
    onEnded: () => tell(),
    ...(packs && { slowBlockMs: 0, packThread: new SlowThread(random) }),
  });
  const tell = () => {
    if (writer.durableSeq > told) disk.mark(told = writer.durableSeq);
  };
  let seq = 0;
  for (let turn = 0; turn < 120; turn++) {
    const from = seq + 1;
    seq += random.chance(0.2) ? random.int(800) : random.int(60);
    appendRange(writer, from, seq);
    if (random.chance(0.5)) {
      // Not waited for: frames go on coming while the disk works.
      void writer.sync().then(tell);
    }
    if (random.chance(0.05)) void writer.rotate();
    if (random.chance(0.8)) await pause();
    tell();
  }
  await writer.sync();
  tell();
  await writer.close();
  tell();
}

async function lay(directory: string, files: Map<string, Uint8Array<ArrayBuffer>>): Promise<void> {
  await Deno.mkdir(directory);
  for (const [name, bytes] of files) Deno.writeFileSync(`${directory}/${name}`, bytes);
}

/** The power goes again, while a start recovers. */
async function recoverAndCut(directory: string, random: Random): Promise<void> {
  using disk = new PowerCutDisk(directory);
  await recover({ directory, log: silentLogger });
  const { files } = disk.cut(random.int(disk.length + 1), random);
  await Deno.remove(directory, { recursive: true });
  await lay(directory, files);
}

function isFrame({ seq, data }: FrameSeen, wanted: number): boolean {
  const { offset, length, data: bytes } = frameOf(wanted);
  return seq === wanted && data === bytes.subarray(offset, offset + length).toHex();
}

for (const packs of [false, true]) {
  const how = packs ? "with blocks that are being packed" : "with blocks that are packed at once";
  Deno.test({
    name: `recovery: the power goes ${ROUNDS} times between any two writes, and what was durable is there once, ${how}`,
    ...RUN,
    fn: () => inFolder((folder) => cutPower(folder, packs)),
  });
}

async function cutPower(folder: string, packs: boolean): Promise<void> {
  const random = new Random(41);
  const directory = `${folder}/journal`;
  await Deno.mkdir(directory);
  using disk = new PowerCutDisk(directory, { slowMs: 4 });
  await record(disk, { directory, random, packs });
  disk[Symbol.dispose]();
  assert.ok(disk.length > 50);
  for (let round = 0; round < ROUNDS; round++) {
    const count = random.int(disk.length + 1);
    const { files, marked } = disk.cut(count, random);
    const after = `${folder}/${round}`;
    await lay(after, files);
    if (random.chance(0.3)) await recoverAndCut(after, random);
    const found = await recover({ directory: after, log: silentLogger });
    const told = `cut after ${count} of ${disk.length}: ${[...files.keys()]}`;
    assert.ok(found.lastSeq >= marked, `${told}: ${found.lastSeq} of ${marked}`);
    const next = makeWriter(after, { newestFile: found.newestFile });
    next.writer.append(found.lastSeq + 1, frameOf(found.lastSeq + 1));
    await next.writer.close();
    const { frames } = readJournal(after, { twice: false });
    assert.equal(frames.length, found.lastSeq + 1, told);
    assert.ok(frames.every((frame, i) => isFrame(frame, i + 1)), told);
    await Deno.remove(after, { recursive: true });
  }
}

// Several busy buses at once, one of which stalls for three seconds, while the link to the cloud breaks.
import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { pause } from "../support/eventually.ts";
import { readJournal } from "../support/journal_run.ts";
import { IS_FULL } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { metricOf, PROCESSES } from "../support/replication_faults.ts";
import { FAST_EVERY } from "../support/replication_feed.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const SECONDS = IS_FULL ? 60 : 5;
const RATE = 1000;
const STALL_MS = 3000;
/** Small, so that a short run fills many. */
const BLOCK_BYTES = IS_FULL ? 262_144 : 16_384;
/** Bytes of a block that the trailer and the device table may take. */
const BLOCK_OVERHEAD_BYTES = 1500;
/** Bytes of a frame beside its payload: identifier, and a time of two bytes. */
const FRAME_OVERHEAD_BYTES = 6;

/** What a journal holds of each bus, and how it is packed. */
interface Held {
  /** By bus: the numbers of the feed, in the order in which they are held. */
  numbers: number[][];
  /** Frames with their number, time to the microsecond, bus and payload. */
  frames: string[];
  blocks: number;
  payloadBytes: number;
  fileBytes: number;
}

async function readHeld(directory: string, buses: number): Promise<Held> {
  const index = await JournalIndex.open(directory, { log: silentLogger });
  const held: Held = {
    numbers: Array.from({ length: buses }, () => []),
    frames: [],
    blocks: 0,
    payloadBytes: 0,
    fileBytes: index.bytes,
  };
  const frame = newStoredFrame();
  for await (const block of index.blocks({ fromSeq: 1 })) {
    held.blocks++;
    for (const cursor = block.frames(); cursor.next(frame);) {
      const { seq, timeUs, bus, data, offset, length } = frame;
      const payload = data.subarray(offset, offset + length);
      held.numbers[bus]?.push(new DataView(data.buffer, data.byteOffset + offset).getUint32(0, true));
      held.frames.push(`${seq} ${timeUs} ${bus} ${payload.toHex()}`);
      held.payloadBytes += length;
    }
  }
  return held;
}

/** Feeds all buses for a while and lets boat and cloud agree. Gives what both hold. */
async function run(buses: number, { rate, hasStall }: { rate: number; hasStall: boolean }) {
  const random = new Random(170 + buses);
  const feeds = Array.from({ length: buses }, (_, i) => ({ name: `can${i}`, pieceMs: () => random.between(1, 7) }));
  await using lab = await ReplicationLab.start({
    feeds,
    rate,
    boatFlags: ["-journal-block-size", String(BLOCK_BYTES)],
    // Nothing may be cut off for its rate: four full buses are more than one boat usually sends.
    cloudFlags: ["-replication-rate-limit", "0", "-journal-block-size", String(BLOCK_BYTES)],
  });
  await lab.connected();
  const stalled = lab.feeds.at(-1);
  const started = performance.now();
  if (hasStall && stalled) {
    await pause(SECONDS * 200);
    stalled.rate = 0;
    lab.proxy.cut("rst");
    await pause(STALL_MS);
    await stalled.burst(RATE * STALL_MS / 1000);
    stalled.rate = rate;
  }
  await pause(Math.max(0, SECONDS * 1000 - (performance.now() - started)));
  await lab.converged();
  const fed = lab.feeds.map(({ count }) => count);
  // A machine that stands still for 750 ms in the middle of a fast packet gives it up, and counts it.
  const late = await Promise.all(
    feeds.map(({ name }) => metricOf(lab, "boat", `vbg_assembler_dropped_total{bus="${name}",reason="timeout"}`)),
  );
  const conflicts = /"conflict/i.test(lab.log("cloud")) || /conflict/i.test(lab.log("boat"));
  const { text, isGood } = await lab.audit();
  const boat = await readHeld(`${lab.folder}/journal`, buses);
  const cloud = await readHeld(`${lab.folder}/cloud/boat-1`, buses);
  // Files are read without our code, too: as software does that knows the format alone. Blocks of the cloud may overlap.
  for (const directory of ["journal", "cloud/boat-1"]) {
    const read = readJournal(`${lab.folder}/${directory}`).frames;
    const byNumber = new Map(read.map(({ seq, timeUs, bus, data }) => [seq, `${seq} ${timeUs} ${bus} ${data}`]));
    assert.deepEqual([...byNumber].sort(([a], [b]) => a - b).map(([, text]) => text), boat.frames);
  }
  return { fed, late, text, isGood, boat, cloud, conflicts };
}

/** Blocks of a journal, and how many there would be if all were full. */
function fillOf({ blocks, payloadBytes, frames }: Held): { blocks: number; full: number } {
  const bytes = payloadBytes + frames.length * FRAME_OVERHEAD_BYTES;
  return { blocks, full: bytes / (BLOCK_BYTES - BLOCK_OVERHEAD_BYTES) };
}

/** Bytes in files for each frame. */
function bytesPerFrame({ fileBytes, frames }: Held): number {
  return fileBytes / frames.length;
}

for (const buses of IS_FULL ? [2, 3, 4] : [3]) {
  Deno.test({
    name: `${buses} buses with ${RATE} messages/s each, one stalled for 3 s, lose nothing and fill their blocks`,
    ...PROCESSES,
    fn: async () => {
      const { fed, late, text, isGood, boat, cloud, conflicts } = await run(buses, { rate: RATE, hasStall: true });
      for (const [bus, count] of fed.entries()) {
        // Each frame once, in the order in which its bus had it.
        const numbers = Array.from({ length: count }, (_, i) => i + 1);
        const there = new Set(boat.numbers[bus]);
        const missing = numbers.filter((number) => !there.has(number));
        assert.ok(missing.length <= (late[bus] ?? 0), `can${bus}: ${missing} are missing, ${late[bus]} are counted`);
        assert.ok(missing.every((number) => number % FAST_EVERY === 0), `can${bus}: ${missing}`);
        for (const held of [boat, cloud]) {
          assert.deepEqual(held.numbers[bus], numbers.filter((number) => there.has(number)), `can${bus}`);
        }
      }
      assert.ok(isGood || late.some((count) => count > 0), text);
      assert.equal(conflicts, false);
      // Number, time to the microsecond, bus and payload.
      assert.deepEqual(cloud.frames, boat.frames);
      const single = await run(1, { rate: buses * RATE, hasStall: false });
      for (const { blocks, full } of [boat, single.boat].map(fillOf)) {
        assert.ok(blocks <= Math.ceil(1.3 * full), `${blocks} blocks, ${full} full ones`);
      }
      const ratio = bytesPerFrame(boat) / bytesPerFrame(single.boat);
      if (IS_FULL) {
        // deno-lint-ignore no-console -- figures for the run at full size
        console.log(JSON.stringify({ buses, fed, several: fillOf(boat), one: fillOf(single.boat), ratio }));
      }
      assert.ok(ratio <= 1.3, `${ratio} of the bytes of one bus`);
    },
  });
}

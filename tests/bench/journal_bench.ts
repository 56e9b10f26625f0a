import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import {
  BlockBuilder,
  type BlockFrame,
  compress,
  crc32c,
  decompress,
  readBlock,
  WindowDigests,
} from "../../src/journal/mod.ts";
import { JournalWriter } from "../../src/journal/writer/journal_writer.ts";
import { Random } from "../support/random.ts";
import { rate, report } from "./figure.ts";
import { journalSizeBench } from "./journal_size_bench.ts";

const COUNT = 1_000_000;
const BLOCK_BYTES = 262_144;
const SINGLE_PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];

/** Frames of a boat, made before they are measured: one in ten has 43 bytes, values drift as those of sensors do. */
function makeFrames(): BlockFrame[] {
  const random = new Random(1);
  const values = Array.from({ length: 300 }, () => random.bytes(43));
  return Array.from({ length: 20_000 }, (_, i) => {
    const long = i % 10 === 9;
    const pgn = long ? 129029 : SINGLE_PGNS[i % 10] ?? 0;
    const sensor = i % 300;
    const drifting = values[sensor] ?? new Uint8Array(43);
    drifting[1 + random.int(3)] = random.int(256);
    const data = drifting.slice(0, long ? 43 : 8);
    const id = (2 << 26) | (pgn << 8) | (sensor % 30);
    return { id, bus: 0, timeUs: i * 500 + random.int(400), data, offset: 0, length: data.length };
  });
}

/** Appends a million frames whose times go on; each full block is given to `sealed`. */
function appendAll(
  frames: readonly BlockFrame[],
  sealed: (builder: BlockBuilder) => void,
  digests?: WindowDigests,
): void {
  const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
  builder.begin();
  const message: BlockFrame = { id: 0, bus: 0, timeUs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  for (let i = 0; i < COUNT; i++) {
    const round = Math.floor(i / frames.length);
    const frame = frames[i % frames.length] ?? message;
    message.id = frame.id;
    message.timeUs = 1.7e15 + round * 10_000_000 + frame.timeUs;
    message.data = frame.data;
    message.length = frame.length;
    digests?.add(i + 1, message);
    if (builder.append(i + 1, message) === "added") continue;
    sealed(builder);
    builder.begin();
    builder.append(i + 1, message);
  }
  sealed(builder);
}

/** Bytes that this process has had written to disks, whole pages; undefined where the system does not say. */
function bytesToDisk(): number | undefined {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(Deno.readTextFileSync("/proc/self/io"))?.[1]);
  } catch {
    return undefined;
  }
}

/** What a card has to take: ten minutes of 200 frames a second, synced each second, as fast as the disk can. */
async function writesBench(frames: readonly BlockFrame[]): Promise<void> {
  const directory = await Deno.makeTempDir();
  const before = bytesToDisk();
  const writer = new JournalWriter({
    directory,
    // Syncing is asked for below.
    syncIntervalMs: 3_600_000,
    buses: ["can0"],
    epoch: new Uint8Array(16),
    clock: systemClock,
    log: silentLogger,
  });
  const seconds = 600;
  for (let seq = 1; seq <= seconds * 200; seq++) {
    const frame = frames[seq % frames.length];
    if (frame) writer.append(seq, { ...frame, pgn: 0, monoMs: 0, timeUs: 1.7e15 + seq * 5000 });
    if (seq % 200 === 0) await writer.sync();
  }
  await writer.close();
  const after = bytesToDisk();
  await Deno.remove(directory, { recursive: true });
  if (before === undefined || after === undefined) return;
  report({
    name: "journal writes at 200 frames/s",
    value: (after - before) / seconds,
    unit: "bytes/s",
    bar: "<= 20000",
  });
}

/** Figures of blocks, each on one core, and of what a disk has to take and to hold. */
export async function journalBench(): Promise<void> {
  const frames = makeFrames();
  const append = rate(COUNT, () => appendAll(frames, () => {}));
  report({ name: "journal append", value: append, unit: "frames/s", bar: ">= 3000000" });

  const digested = rate(COUNT, () => appendAll(frames, () => {}, new WindowDigests()));
  report({ name: "journal append with digests", value: digested, unit: "frames/s", bar: ">= 3000000" });

  let packed: Uint8Array<ArrayBuffer>[] = [];
  const write = rate(COUNT, () => {
    packed = [];
    appendAll(frames, (builder) => packed.push(compress(builder.finish(), "zstd")));
  });
  report({ name: "journal append, CRC, zstd", value: write, unit: "frames/s", bar: ">= 1500000" });
  const bytes = packed.reduce((sum, { length }) => sum + length, 0);
  report({ name: "journal bytes of a frame, zstd", value: bytes / COUNT, unit: "bytes" });

  const frame = newStoredFrame();
  let sum = 0;
  const read = rate(COUNT, () => {
    for (const block of packed) {
      const unpacked = decompress(block, { compression: "zstd", blockBytes: BLOCK_BYTES });
      const cursor = readBlock(unpacked, { version: 2, blockBytes: BLOCK_BYTES }).frames();
      while (cursor.next(frame)) sum += frame.length;
    }
  });
  if (sum === 0) throw new Error("The blocks gave nothing back");
  report({ name: "journal read, zstd", value: read, unit: "frames/s", bar: ">= 2000000" });

  const blocks = packed.map((block) => decompress(block, { compression: "zstd", blockBytes: BLOCK_BYTES }));
  const iterate = rate(COUNT, () => {
    for (const block of blocks) {
      const cursor = readBlock(block, { version: 2, blockBytes: BLOCK_BYTES }).frames();
      while (cursor.next(frame)) sum += frame.length;
    }
  });
  report({ name: "journal read, not compressed", value: iterate, unit: "frames/s" });
  const first = blocks[0] ?? new Uint8Array(0);
  const checksum = rate(first.length * 100 / 1e6, () => {
    for (let i = 0; i < 100; i++) sum += crc32c(first);
  });
  report({ name: "journal checksum", value: checksum, unit: "MB/s" });
  await writesBench(frames);
  journalSizeBench();
}

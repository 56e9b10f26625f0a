import assert from "node:assert/strict";
import {
  type Block,
  BlockBuilder,
  type BlockDevice,
  type BlockMetadata,
  encodeFileHeader,
  OversizedMessageError,
  readBlock,
} from "../../src/journal/mod.ts";
import { framesOf } from "../support/journal_files.ts";
import { claim, message, START_US } from "../support/messages.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";

const BLOCK_BYTES = 4096;
const LONGEST = new Uint8Array(1785).fill(7);

function read(bytes: Uint8Array): Block {
  return readBlock(bytes, { version: 2, blockBytes: bytes.length });
}

function device(src: number, fields: Partial<BlockDevice> = {}): BlockDevice {
  const product = { productCode: 7, modelId: "Model", softwareVersion: "1", modelVersion: "A", modelSerial: "S" };
  return { bus: 0, src, name: 0x1000n + BigInt(src), activeFrom: 0, ...product, ...fields };
}

const NOTES: BlockMetadata = {
  buses: ["can0", "can1", "", "ü"],
  epoch: new Uint8Array(16).fill(1),
  boot: { bootId: new Uint8Array(16).fill(2), monoMs: 1.5, timeUs: START_US, clock: "unsynchronized" },
  gap: { firstMissing: 5, reason: "disk" },
};

function begun(options: { devices?: BlockDevice[]; metadata?: BlockMetadata; blockBytes?: number } = {}): BlockBuilder {
  const builder = new BlockBuilder({ blockBytes: options.blockBytes ?? BLOCK_BYTES });
  builder.begin(options);
  return builder;
}

Deno.test("block builder: a gap, a repeated number and a time over a minute before the latest break the block", () => {
  const builder = begun();
  assert.equal(builder.append(10, message({ monoMs: 5 })), "added");
  assert.equal(builder.append(11, message({ monoMs: 5 })), "added");
  for (const seq of [11, 13, 10, 1]) assert.equal(builder.append(seq, message({ monoMs: 6 })), "break");
  assert.equal(builder.append(12, message({ monoMs: 6 - 60_001 })), "added");
  assert.equal(builder.append(13, message({ monoMs: 6 })), "added");
  assert.equal(builder.append(14, message({ monoMs: 6 - 60_001 })), "break");
  assert.equal(builder.append(14, message({ monoMs: 6 - 60_000 })), "added");
  const { frames, firstSeq, lastSeq, firstTimeUs, latestTimeUs } = builder;
  assert.deepEqual([frames, firstSeq, lastSeq], [5, 10, 14]);
  assert.deepEqual([firstTimeUs, latestTimeUs], [START_US + 5000, START_US + 6000]);
  assert.deepEqual(framesOf(read(builder.finish())).map(({ seq }) => seq), [10, 11, 12, 13, 14]);
});

Deno.test("block builder: times that go back by up to a minute are kept to the microsecond", () => {
  for (const backUs of [1, 127, 128, 16_384, 2_000_001, 59_999_999, 60_000_000]) {
    const builder = begun();
    const times = [START_US, START_US - backUs, START_US + 1, START_US + 1 - backUs, START_US + 3, START_US + 3];
    times.forEach((timeUs, i) => assert.equal(builder.append(i + 1, message({ timeUs })), "added"));
    const bytes = builder.finish();
    assert.deepEqual(framesOf(read(bytes)).map(({ timeUs }) => timeUs), times);
    const file = [
      ...encodeFileHeader({ version: 2, blockBytes: BLOCK_BYTES, compression: "none", epochWord: 0 }),
      ...bytes,
    ];
    const [others] = readLpj(Uint8Array.from(file)).blocks;
    assert.deepEqual(others?.frames.map(({ timeUs }) => Number(timeUs)), times, "read without our code");
  }
});

Deno.test("block builder: a copy is the block so far, and the block goes on", () => {
  const builder = begun({ devices: [device(1)], metadata: NOTES });
  assert.equal(read(builder.copy()).frameCount, 0);
  builder.append(1, message());
  const copy = builder.copy();
  builder.append(2, claim(9n, { src: 3 }));
  assert.equal(read(copy).frameCount, 1);
  assert.deepEqual(builder.copy(), builder.finish());
});

Deno.test("block builder: a block belongs to who finished it", () => {
  const builder = begun();
  builder.append(1, message());
  const first = builder.finish();
  const kept = first.slice();
  builder.begin();
  builder.append(2, message({ data: [9] }));
  builder.finish();
  assert.deepEqual(first, kept);
});

Deno.test("block builder: what cannot be used or stored is refused", () => {
  const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
  for (const use of [() => builder.finish(), () => builder.copy(), () => builder.append(1, message())]) {
    assert.throws(use, /before begin/);
  }
  builder.begin();
  assert.throws(() => builder.append(1, message({ bus: 4 })), RangeError);
  assert.throws(() => builder.append(1, message({ timeUs: 0.5 })), RangeError);
  assert.throws(() => builder.append(1, message({ timeUs: NaN })), RangeError);
  assert.throws(() => builder.append(-1, message()), RangeError);
  assert.throws(() => builder.append(NaN, message()), RangeError);
  assert.equal(builder.frames, 0);
  assert.throws(() => builder.begin({ metadata: { epoch: new Uint8Array(15) } }), RangeError);
  assert.throws(() => builder.begin({ metadata: { buses: ["a", "b", "c", "d", "e"] } }), RangeError);
  for (const blockBytes of [0, 2048, 5000, 2 ** 25]) assert.throws(() => new BlockBuilder({ blockBytes }), RangeError);
});

Deno.test("block builder: an address claim inside the block becomes an entry with the product known in the end", () => {
  const products: Record<string, BlockDevice> = { "1 20": device(20, { modelId: "Late" }) };
  const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES, productOf: (bus, src) => products[`${bus} ${src}`] });
  builder.begin({ devices: [device(5), device(6, { name: 0n })] });
  builder.append(1, message());
  builder.append(2, claim(0xabcn, { src: 20, bus: 1 }));
  builder.append(3, message({ pgn: 126464, data: new Uint8Array(9) }));
  builder.append(4, message({ pgn: 60928, data: new Uint8Array(7) }));
  builder.append(5, claim(0x1005n, { src: 30 }));
  builder.append(6, claim(0xdefn, { src: 20, bus: 1 }));
  const { devices } = read(builder.finish());
  assert.deepEqual(
    devices.map(({ bus, src, name, activeFrom, modelId }) => [bus, src, name, activeFrom, modelId]),
    [
      [0, 5, 0x1005n, 0, "Model"],
      [1, 20, 0xabcn, 1, ""],
      [0, 30, 0x1005n, 4, "Model"],
      [1, 20, 0xdefn, 5, "Late"],
    ],
  );
});

Deno.test("block builder: blocks are filled to the last frame that fits", () => {
  for (const [devices, metadata] of [[[], {}], [[device(1), device(2)], NOTES]] as [BlockDevice[], BlockMetadata][]) {
    const builder = begun({ devices, metadata });
    let seq = 1;
    while (builder.append(seq, message({ timeUs: START_US })) === "added") seq++;
    const block = builder.copy();
    const table = new DataView(block.buffer).getUint16(BLOCK_BYTES - 10, true);
    const unused = BLOCK_BYTES - 16 - 10 - table - 13 * builder.frames;
    // A frame of 13 bytes does not fit; the note of the buses has room kept for it and is not there.
    assert.ok(unused >= 0 && unused < 13 + 3 + devices.length, `${unused} bytes unused`);
    // What is shorter still may.
    assert.equal(
      builder.append(seq, message({ data: [], timeUs: START_US })),
      unused - 3 - devices.length >= 6 ? "added" : "full",
    );
  }
});

Deno.test("block builder: claims never take more room than was kept for them, whatever the products are called", () => {
  const long = "ü€😀".repeat(99);
  const product = { productCode: 1, modelId: long, softwareVersion: long, modelVersion: long, modelSerial: long };
  for (const blockBytes of [4096, 262_144]) {
    const builder = new BlockBuilder({ blockBytes, productOf: () => product });
    builder.begin({ devices: [device(1, { modelId: long })], metadata: NOTES });
    let seq = 1;
    while (builder.append(seq, claim(5n, { src: seq % 250, bus: 3 })) === "added") seq++;
    const block = read(builder.finish());
    assert.equal(block.frameCount, seq - 1);
    assert.equal(block.devices.length, seq);
    assert.ok(seq > 5);
    assert.ok(long.startsWith(block.devices.at(-1)!.modelId) && block.devices.at(-1)!.modelId.length > 20);
    assert.deepEqual(block.metadata, NOTES);
  }
});

Deno.test("block builder: the longest message fits into the smallest block, however many devices there are", () => {
  const devices = Array.from({ length: 1000 }, (_, i) => device(i % 254, { bus: i % 4, modelId: "M".repeat(255) }));
  for (const blockBytes of [4096, 8192, 262_144]) {
    const builder = begun({ blockBytes, devices, metadata: { ...NOTES, buses: Array(4).fill("n".repeat(300)) } });
    assert.equal(builder.append(1, message({ pgn: 60928, data: LONGEST })), "added");
    const block = read(builder.finish());
    assert.deepEqual(block.devices.at(-1)!.activeFrom, 0);
    const kept = block.devices.slice(0, -1);
    assert.ok(kept.length > 30);
    assert.deepEqual(
      kept.map(({ name, bus }) => [name, bus]),
      devices.slice(0, kept.length).map((d) => [d.name, d.bus]),
    );
    assert.equal(framesOf(block)[0]!.data, LONGEST.toHex());
  }
});

Deno.test("block builder: a message for which an empty block is too small is an error, at once", () => {
  const builder = begun();
  builder.append(1, message());
  assert.throws(() => builder.append(2, message({ data: new Uint8Array(4096) })), OversizedMessageError);
  assert.equal(builder.append(2, message({ data: new Uint8Array(4050) })), "full");
  builder.finish();
  builder.begin();
  assert.equal(builder.append(2, message({ data: new Uint8Array(4050) })), "added");
});

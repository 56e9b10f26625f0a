import assert from "node:assert/strict";
import { newStoredFrame } from "../../src/frame/mod.ts";
import {
  BlockBuilder,
  BlockError,
  blockHeaderBytes,
  compress,
  crc32c,
  decompress,
  type FileKind,
  indexBytesOf,
  parseBlockHeader,
  parseFileHeader,
  parseIndex,
  readBlock,
} from "../../src/journal/mod.ts";
import { VECTOR_A, VECTOR_C, VECTOR_D, VECTOR_E } from "../support/journal_vectors.ts";
import { claim, message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const BLOCK_BYTES = 4096;

/** A block with everything in it: devices, metadata, claims, frames of all lengths. */
function richBlock(random: Random): Uint8Array<ArrayBuffer> {
  const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
  const product = { productCode: 9, modelId: "Model", softwareVersion: "1.0", modelVersion: "", modelSerial: "77" };
  const devices = [1, 2, 3].map((src) => ({ bus: src, src, name: BigInt(src), activeFrom: 0, ...product }));
  const boot = { bootId: random.bytes(16), monoMs: 5, timeUs: 6, clock: "synchronized" } as const;
  const gap = { firstMissing: 3, reason: "disk" } as const;
  builder.begin({ devices, metadata: { buses: ["can0", "can1"], epoch: random.bytes(16), boot, gap } });
  for (let seq = 1;; seq++) {
    const monoMs = seq * seq;
    const isClaim = seq % 7 === 0;
    const length = random.pick([0, 3, 8, 8, 8, 43, 130]);
    const frame = isClaim
      ? claim(BigInt(seq), { src: seq, bus: 2, monoMs })
      : message({ data: random.bytes(length), monoMs });
    if (builder.append(seq, frame) !== "added") return builder.finish();
  }
}

function fixChecksum(block: Uint8Array<ArrayBuffer>): void {
  new DataView(block.buffer, block.byteOffset).setUint32(block.length - 4, crc32c(block.subarray(0, -4)), true);
}

/** Reads all that a block says; checks that it can be so. What is thrown must be a BlockError. */
function readAll(block: Uint8Array, version: 1 | 2 = 2): "whole" | "broken" {
  try {
    const read = readBlock(block, { version, blockBytes: BLOCK_BYTES });
    assert.ok(read.devices.length <= BLOCK_BYTES / 19);
    for (const { bus, src } of read.devices) assert.ok(bus < 4 && src < 256);
    assert.ok((read.metadata.buses?.length ?? 0) <= 4);
    const frame = newStoredFrame();
    let end = 0;
    for (const cursor = read.frames(); cursor.next(frame);) {
      assert.ok(frame.offset > end && frame.length >= 0);
      end = frame.offset + frame.length;
      assert.ok(end <= BLOCK_BYTES - 10);
      assert.ok(Number.isSafeInteger(frame.timeUs) && Number.isSafeInteger(frame.seq) && frame.seq >= 0);
      assert.ok(frame.bus >= 0 && frame.bus < 4 && frame.id >= 0 && frame.id < 2 ** 29);
    }
    return "whole";
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    return "broken";
  }
}

/** Changes a few bytes of `bytes`, often those near its end. */
function mutate(random: Random, bytes: Uint8Array): void {
  for (let changes = random.between(1, 4); changes > 0; changes--) {
    const at = random.chance(0.3)
      ? bytes.length - 1 - random.int(Math.min(300, bytes.length))
      : random.int(bytes.length);
    const how = random.int(4);
    if (how < 2) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(8));
    else if (how === 2) bytes[at] = random.pick([0, 1, 0x7f, 0x80, 0xff]);
    else bytes.fill(0xff, at, at + random.int(12));
  }
}

Deno.test("journal fuzz: a block with a bit changed is refused by its checksum", () => {
  const random = new Random(21);
  const block = richBlock(random);
  for (let round = 0; round < 2000; round++) {
    const bytes = block.slice();
    const at = random.int(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(8));
    assert.throws(
      () => readBlock(bytes, { version: 2, blockBytes: BLOCK_BYTES }),
      (error) => error instanceof BlockError && error.reason === "checksum",
    );
  }
});

Deno.test("journal fuzz: changed blocks with a right checksum are read as far as they can be", () => {
  const random = new Random(22);
  const blocks = [richBlock(random), ...[VECTOR_A, VECTOR_C, VECTOR_D].map(({ bytes }) => bytes.slice(16))];
  const outcomes = { whole: 0, broken: 0 };
  for (let round = 0; round < 20_000; round++) {
    const block = random.pick(blocks).slice();
    mutate(random, block);
    fixChecksum(block);
    outcomes[readAll(block, random.pick([1, 2]))]++;
  }
  assert.ok(outcomes.whole > 1000 && outcomes.broken > 1000, JSON.stringify(outcomes));
});

Deno.test("journal fuzz: huge numbers at every place of a block", () => {
  const block = richBlock(new Random(23));
  const table = BLOCK_BYTES - 10 - new DataView(block.buffer).getUint16(BLOCK_BYTES - 10, true);
  const numbers = [
    "ff",
    "ffff",
    "ffffffff",
    "ffffff7f",
    "ffffffffffffffff7f",
    "ffffffffffffffffff01",
    "80808080808080808080",
  ];
  for (const hex of numbers) {
    const number = Uint8Array.fromHex(hex);
    for (let at = 0; at + number.length <= BLOCK_BYTES - 4; at++) {
      if (at > 1000 && at < table - 10) continue;
      const bytes = block.slice();
      bytes.set(number, at);
      fixChecksum(bytes);
      readAll(bytes);
    }
  }
});

Deno.test("journal fuzz: random bytes as blocks, with a right checksum and small counts", () => {
  const random = new Random(24);
  for (let round = 0; round < 1000; round++) {
    const block = random.bytes(BLOCK_BYTES);
    const view = new DataView(block.buffer);
    block.fill(0, 6, 8);
    block.fill(0, 14, 16);
    if (random.chance(0.8)) view.setUint16(BLOCK_BYTES - 10, random.int(4090), true);
    if (random.chance(0.8)) view.setUint32(BLOCK_BYTES - 8, random.int(300), true);
    fixChecksum(block);
    readAll(block, random.pick([1, 2]));
    readAll(block.subarray(random.int(9)));
  }
});

Deno.test("journal fuzz: frames in front of a broken one are given", () => {
  const block = VECTOR_D.bytes.slice(16);
  // The length of the fourth frame.
  const at = block.indexOf(0x2b, 40);
  block.set([0xff, 0xff, 0x7f], at);
  fixChecksum(block);
  const frame = newStoredFrame();
  const cursor = readBlock(block, { version: 2, blockBytes: BLOCK_BYTES }).frames();
  for (let i = 0; i < 3; i++) assert.ok(cursor.next(frame));
  for (let again = 0; again < 2; again++) {
    assert.throws(() => cursor.next(frame), (error) => error instanceof BlockError && error.reason === "frame");
  }
  assert.equal(frame.seq, 1003);
});

Deno.test("journal fuzz: a table that begins anywhere inside the last frame", () => {
  const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
  builder.begin();
  builder.append(1, message());
  // Its delta takes seven bytes.
  builder.append(2, message({ monoMs: 5e9 }));
  const block = builder.finish();
  const frame = newStoredFrame();
  for (let start = 29; start < 29 + 19; start++) {
    const bytes = block.slice();
    bytes.set([0, 0], start);
    new DataView(bytes.buffer).setUint16(BLOCK_BYTES - 10, BLOCK_BYTES - 10 - start, true);
    fixChecksum(bytes);
    const cursor = readBlock(bytes, { version: 2, blockBytes: BLOCK_BYTES }).frames();
    assert.ok(cursor.next(frame));
    assert.throws(() => cursor.next(frame), (error) => error instanceof BlockError && error.reason === "frame");
    assert.equal(cursor.index, 1);
  }
});

Deno.test("journal fuzz: file headers, block headers and indexes of random bytes throw nothing else", () => {
  const random = new Random(25);
  for (let round = 0; round < 5000; round++) {
    const bytes = random.chance(0.5)
      ? random.bytes(random.int(60))
      : random.pick([VECTOR_D, VECTOR_E]).bytes.slice(0, 60);
    if (bytes.length > 0) mutate(random, bytes);
    try {
      parseFileHeader(bytes);
    } catch (error) {
      assert.ok(error instanceof BlockError, String(error));
    }
    const compression = random.pick(["none", "zstd", "zstd-dict"] as const);
    const kind: FileKind = { version: random.pick([1, 2]), compression, blockBytes: BLOCK_BYTES };
    const found = parseBlockHeader(bytes, kind);
    if (found.kind === "block") {
      assert.ok(found.header.dataBytes <= 2 * BLOCK_BYTES && bytes.length >= blockHeaderBytes(kind));
    }
    const index = VECTOR_E.bytes.slice(-16);
    mutate(random, index);
    const size = indexBytesOf(index, { fileBytes: 238 });
    assert.ok(size === undefined || size <= 238 - 16);
    for (const offset of parseIndex(index, { fileBytes: 238 }) ?? []) assert.ok(offset >= 16 && offset < 222);
  }
});

Deno.test("journal fuzz: compressed blocks with changed bytes become a block, or a BlockError", () => {
  const random = new Random(26);
  const packed = compress(richBlock(random), "zstd");
  for (let round = 0; round < 5000; round++) {
    const bytes = packed.slice(0, random.chance(0.2) ? random.int(packed.length) : packed.length);
    if (bytes.length > 0) mutate(random, bytes);
    try {
      readAll(decompress(bytes, { compression: "zstd", blockBytes: BLOCK_BYTES }));
    } catch (error) {
      assert.ok(error instanceof BlockError, String(error));
    }
  }
});

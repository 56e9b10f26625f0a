import assert from "node:assert/strict";
import { BlockBuilder, type BlockDevice, encodeFileHeader } from "../../src/journal/mod.ts";
import { framesOf, readFile } from "../support/journal_files.ts";
import { sha256, VECTOR_A, VECTOR_B, VECTOR_C, VECTOR_D, VECTOR_E } from "../support/journal_vectors.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";

const T = 1749988800000000;

/** A frame as a line: `id, microseconds after T, payload`. */
type Line = [id: number, afterUs: number, data: string];

const LINES_A: Line[] = [
  [0x09f80101, 0, "10270000d0490100"],
  [0x09fd0601, 100_000, "01201c409cffffff"],
  [0x09f11202, 200_000, "00ae1ef6ff0a0001"],
  [0x09f80201, 300_000, "00fcff204e6400ff"],
  [0x09f50303, 400_000, "00c800ffffffffff"],
];

/** As they were written: the fourth and fifth came after the clock was set back. */
const LINES_D: Line[] = [
  [0x09f80101, 0, "10270000d0490100"],
  [0x18ea05fe, 1000, "00ee00"],
  [0x18eeff05, 1500, "010000000000a000"],
  [0x0df80501, 1200, Uint8Array.from({ length: 43 }, (_, i) => i).toHex()],
  [0x09f11201, 1300, "00ae1ef6ff0a0001"],
];

const DEVICES_D: BlockDevice[] = [
  {
    bus: 0,
    src: 1,
    name: 0x00e0170001000004n,
    activeFrom: 0,
    productCode: 1234,
    modelId: "GNX 120",
    softwareVersion: "1.2.3",
    modelVersion: "HW1",
    modelSerial: "SN-42",
  },
  {
    bus: 0,
    src: 5,
    name: 0x00a0000000000001n,
    activeFrom: 2,
    productCode: 0,
    modelId: "",
    softwareVersion: "",
    modelVersion: "",
    modelSerial: "",
  },
];

function messageOf([id, afterUs, hex]: Line, baseUs = T) {
  const data = Uint8Array.fromHex(hex);
  return { id, bus: 0, timeUs: baseUs + afterUs, data, offset: 0, length: data.length };
}

/** A file of version 2, not compressed, of one block. */
function writeFile(lines: Line[], { baseSeq, baseUs }: { baseSeq: number; baseUs: number }): Uint8Array<ArrayBuffer> {
  const builder = new BlockBuilder({ blockBytes: 4096 });
  builder.begin();
  lines.forEach((line, i) => assert.equal(builder.append(baseSeq + i, messageOf(line, baseUs)), "added"));
  const header = encodeFileHeader({ version: 2, blockBytes: 4096, compression: "none", epochWord: 0 });
  const file = new Uint8Array(header.length + 4096);
  file.set(header);
  file.set(builder.finish(), header.length);
  return file;
}

function linesOf(bytes: Uint8Array, baseUs = T): Line[] {
  const [block] = readFile(bytes).blocks;
  return framesOf(block!).map(({ id, timeUs, data }) => [id, timeUs - baseUs, data]);
}

Deno.test("journal vectors: the files of the reference are what they should be", async () => {
  for (const { bytes, sha256: wanted } of [VECTOR_A, VECTOR_B, VECTOR_C, VECTOR_D, VECTOR_E]) {
    assert.equal(await sha256(bytes), wanted);
  }
});

Deno.test("journal vectors: A is read, and written again bit for bit", async () => {
  assert.deepEqual(linesOf(VECTOR_A.bytes), LINES_A);
  const written = writeFile(LINES_A, { baseSeq: 0, baseUs: T });
  assert.deepEqual(written, VECTOR_A.bytes);
  assert.equal(await sha256(written), VECTOR_A.sha256);
});

Deno.test("journal vectors: B is read, and written again bit for bit", async () => {
  const lines: Line[] = [[0x09f80100, 0, "0102030405060708"]];
  assert.deepEqual(linesOf(VECTOR_B.bytes, 1000), lines);
  assert.equal(readFile(VECTOR_B.bytes).blocks[0]!.baseSeq, 42);
  const written = writeFile(lines, { baseSeq: 42, baseUs: 1000 });
  assert.deepEqual(written, VECTOR_B.bytes);
  assert.equal(await sha256(written), VECTOR_B.sha256);
});

Deno.test("journal vectors: C, version 1, is read; its frames have no numbers", () => {
  const { header, blocks: [block] } = readFile(VECTOR_C.bytes);
  assert.equal(header.version, 1);
  assert.equal(block!.baseSeq, undefined);
  const timeUs = 1750000000000000;
  assert.deepEqual(framesOf(block!), [
    { seq: 0, timeUs, id: 0x09f8010a, pgn: 129025, bus: 0, data: "aabbccddeeff1122" },
  ]);
});

for (const [name, { bytes }] of [["D", VECTOR_D], ["E, zstd with an index,", VECTOR_E]] as const) {
  Deno.test(`journal vectors: ${name} is read; time stands still where the clock was set back`, () => {
    const { header, offsets, blocks: [block] } = readFile(bytes);
    assert.equal(header.compression, name === "D" ? "none" : "zstd");
    assert.deepEqual(offsets, name === "D" ? undefined : [16]);
    const frames = framesOf(block!);
    assert.deepEqual(frames.map(({ timeUs }) => timeUs - T), [0, 1000, 1500, 1500, 1600]);
    assert.deepEqual(frames.map(({ id, data }) => [id, data]), LINES_D.map(([id, , data]) => [id, data]));
    assert.deepEqual(frames.map(({ seq }) => seq), [1001, 1002, 1003, 1004, 1005]);
    assert.deepEqual(frames.map(({ pgn }) => pgn), [129025, 59904, 60928, 129029, 127250]);
    assert.deepEqual(block!.devices, DEVICES_D);
    assert.deepEqual(block!.metadata, {});
  });
}

Deno.test("journal: where a time of D lies before the last one, the block goes on and keeps every time", () => {
  const builder = new BlockBuilder({ blockBytes: 4096 });
  const blocks: Uint8Array<ArrayBuffer>[] = [];
  builder.begin({ devices: DEVICES_D.slice(0, 1) });
  LINES_D.forEach((line, i) => {
    assert.equal(builder.append(1001 + i, messageOf(line)), "added");
  });
  blocks.push(builder.finish());
  const header = encodeFileHeader({ version: 2, blockBytes: 4096, compression: "none", epochWord: 0 });
  const file = new Uint8Array([...header, ...blocks.flatMap((block) => [...block])]);
  const read = readLpj(file).blocks;
  assert.deepEqual(read.map(({ baseSeq }) => baseSeq), [1001n]);
  assert.deepEqual(read.flatMap(({ frames }) => frames.map(({ timeUs }) => Number(timeUs) - T)), [
    0,
    1000,
    1500,
    1200,
    1300,
  ]);
  assert.deepEqual(read[0]!.devices.map(({ src, activeFrom }) => [src, activeFrom]), [[1, 0], [5, 2]]);
});

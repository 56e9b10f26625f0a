import assert from "node:assert/strict";
import { pgnOfId } from "../../src/frame/mod.ts";
import {
  BlockBuilder,
  type BlockFrame,
  compress,
  type Compression,
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
} from "../../src/journal/mod.ts";
import { type FrameSeen, framesOf, readFile } from "../support/journal_files.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";
import { Random } from "../support/random.ts";

/** A frame with its number. */
type Numbered = BlockFrame & { seq: number };

/** Steps of the clock; a block ends where one goes back. */
function step(random: Random): number {
  if (random.chance(0.002)) return -random.int(1e7);
  if (random.chance(0.01)) return random.int(3e12);
  return random.chance(0.1) ? random.int(1e6) : random.int(200);
}

function lengthOf(random: Random): number {
  if (random.chance(0.6)) return 8;
  return random.chance(0.05) ? random.pick([0, 127, 128, 223, 1784, 1785]) : random.int(random.pick([9, 50, 1786]));
}

function randomFrames(random: Random, count: number): Numbered[] {
  let seq = random.int(2 ** 40);
  let timeUs = random.chance(0.1) ? 0 : 1.7e15;
  return Array.from({ length: count }, () => {
    seq += random.chance(0.005) ? random.between(2, 1e6) : 1;
    timeUs = Math.max(0, timeUs + step(random));
    const isClaim = random.chance(0.02);
    const length = isClaim ? random.pick([7, 8, 9, 30]) : lengthOf(random);
    const id = isClaim ? 0x18eeff00 | random.int(256) : random.int(2 ** 29);
    const offset = random.int(5);
    return { seq, timeUs, id, bus: random.int(4), data: random.bytes(offset + length + 3), offset, length };
  });
}

/** Writes a file as the journal does: blocks as they come, an index in the end. */
function writeFile(
  frames: readonly Numbered[],
  { blockBytes, compression }: { blockBytes: number; compression: "none" | "zstd" },
): { bytes: Uint8Array<ArrayBuffer>; blocks: number } {
  const parts: Uint8Array[] = [encodeFileHeader({ version: 2, blockBytes, compression, epochWord: 0x01020304 })];
  const offsets: number[] = [];
  let at = 16;
  const add = (part: Uint8Array) => {
    parts.push(part);
    at += part.length;
  };
  const builder = new BlockBuilder({ blockBytes });
  const seal = () => {
    offsets.push(at);
    const { firstSeq: baseSeq, firstTimeUs: baseTimeUs } = builder;
    const data = compress(builder.finish(), compression);
    const header = { baseSeq, baseTimeUs, dictionaryBytes: 0, dataBytes: data.length };
    if (compression === "zstd") add(encodeBlockHeader(header, { version: 2, compression }));
    add(data);
  };
  builder.begin();
  for (const frame of frames) {
    if (builder.append(frame.seq, frame) === "added") continue;
    seal();
    builder.begin();
    assert.equal(builder.append(frame.seq, frame), "added");
  }
  seal();
  if (compression === "zstd") add(encodeIndex(offsets));
  return { bytes: new Uint8Array(parts.flatMap((part) => [...part])), blocks: offsets.length };
}

function wantedOf({ seq, timeUs, id, bus, data, offset, length }: Numbered): FrameSeen {
  return { seq, timeUs, id, pgn: pgnOfId(id), bus, data: data.subarray(offset, offset + length).toHex() };
}

Deno.test("journal property: what goes in comes out, in blocks without gaps", () => {
  const random = new Random(11);
  for (let round = 0; round < 60; round++) {
    const frames = randomFrames(random, random.between(1, 800));
    const compression: Compression = random.pick(["none", "zstd"] as const);
    const blockBytes = random.pick([4096, 8192, 65_536, 262_144]);
    const { bytes, blocks: count } = writeFile(frames, { blockBytes, compression });
    const { header, blocks, offsets } = readFile(bytes);
    assert.deepEqual(header, { version: 2, blockBytes, compression, epochWord: 0x01020304 });
    assert.equal(blocks.length, count);
    if (compression === "zstd") assert.equal(offsets?.length, count);
    assert.deepEqual(blocks.flatMap(framesOf), frames.map(wantedOf));
    const claims = frames.filter(({ id, length }) => pgnOfId(id) === 60928 && length >= 8);
    const entries = blocks.flatMap(({ devices }) => devices.map(({ bus, src }) => `${bus} ${src}`));
    assert.deepEqual(entries, claims.map(({ bus, id }) => `${bus} ${id & 0xff}`));
  }
});

Deno.test("journal property: software that knows the format alone reads the same", () => {
  const random = new Random(12);
  for (let round = 0; round < 20; round++) {
    const frames = randomFrames(random, random.between(1, 400));
    const compression = random.pick(["none", "zstd"] as const);
    const { bytes } = writeFile(frames, { blockBytes: 16_384, compression });
    const file = readLpj(bytes);
    assert.equal(file.indexed, compression === "zstd");
    const found = file.blocks.flatMap(({ frames }) => frames);
    const seen = found.map(({ seq, timeUs, prio, src, data }) => [Number(seq), Number(timeUs), prio, src, data]);
    const wanted = frames.map(wantedOf);
    assert.deepEqual(seen, wanted.map(({ seq, timeUs, id, data }) => [seq, timeUs, id >>> 26, id & 0xff, data]));
    // Bit 25 is not theirs.
    assert.deepEqual(found.map(({ pgn }) => pgn), wanted.map(({ pgn }) => pgn & 0x1ffff));
  }
});

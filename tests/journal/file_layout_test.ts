import assert from "node:assert/strict";
import {
  BlockError,
  type BlockErrorReason,
  blockHeaderBytes,
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
  epochWordOf,
  type FileKind,
  indexBytesOf,
  parseBlockHeader,
  parseFileHeader,
  parseIndex,
} from "../../src/journal/mod.ts";

const HEADER = "4c504a02001000000100000000000000";

function header(...changes: [at: number, byte: number][]): Uint8Array {
  const bytes = Uint8Array.fromHex(HEADER);
  for (const [at, byte] of changes) bytes[at] = byte;
  return bytes;
}

function refuses(parse: () => unknown, reason: BlockErrorReason): void {
  assert.throws(parse, (error) => error instanceof BlockError && error.reason === reason);
}

Deno.test("file header: written and read; the epoch's first bytes stand in the reserved word", () => {
  const epoch = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
  for (const version of [1, 2] as const) {
    for (const compression of ["none", "zstd", "zstd-dict"] as const) {
      const wanted = { version, blockBytes: 262_144, compression, epochWord: epochWordOf(epoch) };
      const bytes = encodeFileHeader(wanted);
      assert.equal(bytes.length, 16);
      assert.deepEqual([...bytes.subarray(12)], [1, 2, 3, 4]);
      assert.deepEqual(parseFileHeader(bytes), wanted);
    }
  }
});

Deno.test("file header: bits that are not known are passed over, what cannot be is refused", () => {
  assert.equal(parseFileHeader(header([9, 0xff], [11, 0x80])).compression, "zstd");
  refuses(() => parseFileHeader(header([0, 0x4d])), "file-header");
  refuses(() => parseFileHeader(header().subarray(0, 15)), "file-header");
  refuses(() => parseFileHeader(new Uint8Array(0)), "file-header");
  for (const version of [0, 3, 255]) refuses(() => parseFileHeader(header([3, version])), "version");
  for (const byte of [0x08, 0x11, 0x00]) refuses(() => parseFileHeader(header([5, byte])), "block-size");
  refuses(() => parseFileHeader(header([5, 0], [7, 0x02])), "block-size");
  refuses(() => parseFileHeader(header([8, 3])), "compression");
});

Deno.test("block header: the four compressed forms have the sizes of the format, and come back", () => {
  const sizes: [version: 1 | 2, compression: "zstd" | "zstd-dict", bytes: number][] = [
    [1, "zstd", 12],
    [2, "zstd", 20],
    [1, "zstd-dict", 16],
    [2, "zstd-dict", 24],
  ];
  for (const [version, compression, bytes] of sizes) {
    const kind: FileKind = { version, compression, blockBytes: 4096 };
    const dictionaryBytes = compression === "zstd-dict" ? 700 : 0;
    const baseSeq = version === 1 ? undefined : 5e12;
    const parts = { baseTimeUs: 1.7e15, baseSeq, dictionaryBytes, dataBytes: 300 };
    const encoded = encodeBlockHeader(parts, { version, compression });
    assert.equal(encoded.length, bytes);
    assert.equal(blockHeaderBytes(kind), bytes);
    assert.deepEqual(parseBlockHeader(encoded, kind), {
      kind: "block",
      header: { ...parts, compression, headerBytes: bytes },
    });
  }
});

Deno.test("block header: where blocks are not compressed, it is the block's own beginning", () => {
  const bytes = Uint8Array.fromHex("e8030000000000002a00000000000000");
  const common = {
    compression: "none",
    headerBytes: 0,
    dictionaryBytes: 0,
    dataBytes: 4096,
    baseTimeUs: 1000,
  } as const;
  for (const [version, baseSeq] of [[1, undefined], [2, 42]] as const) {
    const kind: FileKind = { version, compression: "none", blockBytes: 4096 };
    assert.deepEqual(parseBlockHeader(bytes, kind), { kind: "block", header: { ...common, baseSeq } });
  }
});

Deno.test("block header: a dictionary of no bytes is none, no bytes at all are the end, too many are damage", () => {
  const kind: FileKind = { version: 2, compression: "zstd-dict", blockBytes: 4096 };
  const parse = (dictionaryBytes: number, dataBytes: number) =>
    parseBlockHeader(
      encodeBlockHeader({ baseTimeUs: 1, baseSeq: 1, dictionaryBytes, dataBytes }, {
        version: 2,
        compression: "zstd-dict",
      }),
      kind,
    );
  const found = parse(0, 9);
  assert.equal(found.kind === "block" && found.header.compression, "zstd");
  assert.equal(parse(0, 0).kind, "end");
  assert.equal(parse(9, 0).kind, "damaged");
  assert.equal(parse(0, 8193).kind, "damaged");
  assert.equal(parse(2 ** 31, 9).kind, "damaged");
  assert.equal(parseBlockHeader(new Uint8Array(23).fill(1), kind).kind, "end");
});

Deno.test("index: written and read; of no blocks, too", () => {
  for (const offsets of [[], [16], [16, 300, 2 ** 40]]) {
    const bytes = encodeIndex(offsets);
    const fileBytes = 2 ** 41;
    assert.equal(indexBytesOf(bytes.subarray(-8), { fileBytes }), bytes.length);
    assert.deepEqual(parseIndex(bytes, { fileBytes }), offsets);
  }
  assert.equal(encodeIndex([16]).toHex(), "1000000000000000010000004c504a49");
});

Deno.test("index: one that cannot be true is none", () => {
  const fileBytes = 1000;
  for (const offsets of [[15], [0], [16, 16], [100, 50], [16, 976], [2 ** 63]]) {
    assert.equal(parseIndex(encodeIndex(offsets), { fileBytes }), undefined, String(offsets));
  }
  assert.deepEqual(parseIndex(encodeIndex([16, 975]), { fileBytes }), [16, 975]);
  const footer = (count: number, magic = 0x494a504c) => {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setUint32(0, count, true);
    new DataView(bytes.buffer).setUint32(4, magic, true);
    return bytes;
  };
  assert.equal(indexBytesOf(footer(262_144), { fileBytes: 1e9 }), 262_144 * 8 + 8);
  assert.equal(indexBytesOf(footer(262_145), { fileBytes: 1e9 }), undefined);
  assert.equal(indexBytesOf(footer(0xffffffff), { fileBytes: 1e9 }), undefined);
  assert.equal(indexBytesOf(footer(122), { fileBytes }), 984);
  assert.equal(indexBytesOf(footer(123), { fileBytes }), undefined);
  assert.equal(indexBytesOf(footer(1, 1), { fileBytes }), undefined);
  assert.equal(indexBytesOf(new Uint8Array(7), { fileBytes }), undefined);
});

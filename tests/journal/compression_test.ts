import assert from "node:assert/strict";
import { constants, zstdCompressSync } from "node:zlib";
import { BlockError, compress, decompress, loadDictionaryDecoder } from "../../src/journal/mod.ts";
import { VECTOR_D } from "../support/journal_vectors.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

/** The block of vector D. */
const BLOCK = VECTOR_D.bytes.subarray(16);
const blockBytes = BLOCK.length;

/** Trained with zstd 1.5.4 on frames of a bus. */
const DICTIONARY = Uint8Array.fromHex(
  "37a430ec214852151f10d092421a03b399aaaa2a1460a0aaaa2a48758abcf7967b6fb9f7de5bca14b30200180c140f70dd000000" +
    "0420494644c94d900ead53690cc5588c19430c01000000000000000000000000009471a84652cd20000000000000000000000000" +
    "01000000040000000800000004040404a08d060101f8890f0d2b020a02050000000000000000a08d0605ffee9803070b0fa08d06" +
    "05ffee98020a0200a08d060101f889000b0f03a08d060101f8890c0c0c0ca08d060101f889070b0f03000000000000000000a08d" +
    "060112f1890c0c0c0ca08d060101f8890c070b0a040404a08d060101f88904040404a08d0605ffee980a02060ea08d060105f80d" +
    "2b0905010da08d060112f18900000000a08df88904040f03a08d0605ffee980b0f0307a08d0605ffee980f0e0609a08d060112f1" +
    "89010d0905a08d060112f1890d09050cf80d2b0e060e01a08d060112f1890905010da08d060112f18905010d09a08d060112f189" +
    "010d0808a08d0605ffee980e060e0112f189010d0905000000000000000000a08d060105f80d2b0d0f0907a08d0605ffee980f03" +
    "070ba08d0605ffee9803070b8d060112f1890f090c0ca08d060101f8890c0c0c04a08d060101f88904040f04a08d060101f88900" +
    "000000a08d060101f8890aa08d060101f88908080808a08d060101f889030d0b0fa08d0605ffee98070b0f03",
);
/** {@linkcode BLOCK} by zstd 1.5.4 with that dictionary. */
const PACKED_WITH_DICTIONARY = Uint8Array.fromHex(
  "28b52ffd6321485215000f5d0500840800f0c8049b370600e910270000d0490100e807fe05ea180300ee00f40301a00000000102" +
    "030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a6400ae1ef6ff0a0001020001" +
    "040000010017e0d20407474e582031323005312e322e330348573105534e2d34320501a000023c0005000000e2e4a2870bfc1401" +
    "f0527ed2f91ddf79b663bafd27c606563936622909a03c87914ea9f80f",
);

function unpack(bytes: Uint8Array): Uint8Array {
  return decompress(bytes, { compression: "zstd", blockBytes });
}

function refused(run: () => unknown, message?: RegExp): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof BlockError, String(error));
    assert.equal(error.reason, "compressed");
    if (message) assert.match(error.message, message);
    return true;
  });
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

Deno.test("compression: blocks come back as plain arrays, and a frame tells its size", () => {
  assert.equal(compress(BLOCK, "none"), BLOCK);
  assert.equal(decompress(BLOCK, { compression: "none", blockBytes }), BLOCK);
  const packed = compress(BLOCK, "zstd");
  assert.ok(packed.length < 250);
  // RFC 8878 §3.1.1.1: one segment, size of two bytes less 256.
  assert.deepEqual([...packed.subarray(4, 7)], [0x60, 0x00, 0x0f]);
  assert.deepEqual(unpack(packed), BLOCK);
  assert.equal(Object.getPrototypeOf(unpack(packed)), Uint8Array.prototype);
  assert.equal(Object.getPrototypeOf(packed), Uint8Array.prototype);
  const large = new Random(1).bytes(262_144);
  assert.deepEqual(decompress(compress(large, "zstd"), { compression: "zstd", blockBytes: 262_144 }), large);
});

Deno.test("compression: several frames are one block, with frames to pass over among them", () => {
  const piece = (from: number, to: number) => new Uint8Array(zstdCompressSync(BLOCK.subarray(from, to)));
  const skippable = Uint8Array.of(0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3);
  const empty = piece(0, 0);
  assert.deepEqual(unpack(join(piece(0, 100), piece(100, 4096))), BLOCK);
  assert.deepEqual(
    unpack(join(skippable, empty, piece(0, 4000), skippable, piece(4000, 4096), empty, skippable)),
    BLOCK,
  );
  assert.deepEqual(unpack(join(compress(BLOCK.slice(0, 300), "zstd"), piece(300, 4096))), BLOCK);
  refused(() => unpack(join(piece(0, 100), piece(100, 4095))), /4095/);
  refused(() => unpack(join(piece(0, 4096), piece(0, 1))));
  refused(() => unpack(join(compress(BLOCK, "zstd"), skippable.subarray(0, 10))), /cut short/);
  refused(() => unpack(join(compress(BLOCK, "zstd"), Uint8Array.of(0))), /cut short/);
  refused(() => unpack(join(...Array(2000).fill(empty))), /frames/);
});

Deno.test("compression: a frame that is cut anywhere is refused, its checksum included", () => {
  const params = { [constants.ZSTD_c_checksumFlag]: 1 };
  for (const packed of [compress(BLOCK, "zstd"), new Uint8Array(zstdCompressSync(BLOCK, { params }))]) {
    assert.deepEqual(unpack(packed), BLOCK);
    for (let length = 0; length < packed.length; length++) refused(() => unpack(packed.subarray(0, length)));
  }
});

Deno.test("compression: more or less than a block is refused before it costs memory", () => {
  refused(() => decompress(BLOCK, { compression: "none", blockBytes: 8192 }));
  for (const size of [4095, 4097, 2 ** 24]) {
    const other = new Uint8Array(size);
    refused(() => unpack(compress(other, "zstd")));
    refused(() => unpack(new Uint8Array(zstdCompressSync(other))));
  }
  // A window of 2^31 bytes, and a content of 2^40.
  const window = new Uint8Array(zstdCompressSync(BLOCK));
  window[5] = 21 << 3;
  refused(() => unpack(window), /memory/);
  refused(() => unpack(Uint8Array.fromHex("28b52ffde00000000000010000010000")), /1099511627776/);
});

Deno.test("compression: bytes that are no zstd, or hold impossible blocks, are refused", () => {
  const head = "28b52ffd60000f";
  for (const hex of ["", "00", "28b52ffe00", head, head + "070000", head + "f9ff3f", "28b52ffd68000f010000"]) {
    refused(() => unpack(Uint8Array.fromHex(hex)));
  }
  const packed = compress(new Random(3).bytes(4096), "zstd");
  const random = new Random(4);
  for (let round = 0; round < 2000; round++) {
    const bytes = packed.slice();
    bytes[random.int(20)] = random.int(256);
    try {
      assert.equal(unpack(bytes).length, blockBytes);
    } catch (error) {
      assert.ok(error instanceof BlockError, String(error));
    }
  }
});

Deno.test("compression: a block with a dictionary, by zstd itself", needs({ permissions: ["read"] }), async () => {
  const decoder = await loadDictionaryDecoder();
  const options = { dictionary: DICTIONARY, blockBytes };
  assert.deepEqual(decoder.decompress(PACKED_WITH_DICTIONARY, options), BLOCK);
  assert.deepEqual(decoder.decompress(compress(BLOCK, "zstd"), options), BLOCK);
  refused(() => unpack(PACKED_WITH_DICTIONARY));
  refused(() => decoder.decompress(PACKED_WITH_DICTIONARY, { dictionary: DICTIONARY, blockBytes: 2048 }));
  refused(() => decoder.decompress(PACKED_WITH_DICTIONARY, { dictionary: DICTIONARY, blockBytes: 8192 }));
  refused(() => decoder.decompress(PACKED_WITH_DICTIONARY, { dictionary: DICTIONARY.subarray(0, 50), blockBytes }));
  refused(() => decoder.decompress(PACKED_WITH_DICTIONARY, { dictionary: new Uint8Array(0), blockBytes }));
  refused(() => decoder.decompress(new Uint8Array(0), options));
  for (let length = 0; length < PACKED_WITH_DICTIONARY.length; length++) {
    refused(() => decoder.decompress(PACKED_WITH_DICTIONARY.subarray(0, length), options));
  }
  const random = new Random(5);
  for (let round = 0; round < 500; round++) {
    const bytes = PACKED_WITH_DICTIONARY.slice();
    const dictionary = DICTIONARY.slice();
    for (const part of [bytes, dictionary]) part[random.int(part.length)] = random.int(256);
    try {
      assert.equal(decoder.decompress(bytes, { dictionary, blockBytes }).length, blockBytes);
    } catch (error) {
      assert.ok(error instanceof BlockError, String(error));
    }
  }
  assert.deepEqual(decoder.decompress(PACKED_WITH_DICTIONARY, options), BLOCK);
});

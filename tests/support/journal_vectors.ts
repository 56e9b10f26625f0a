// Journal files of other software, told byte for byte by the format's reference: what is left out of a block is zero.

/** A file of the reference. */
export interface JournalVector {
  bytes: Uint8Array<ArrayBuffer>;
  /** Of the whole file, hex. */
  sha256: string;
}

const BLOCK_BYTES = 4096;
const V2_HEADER = "4c504a02001000000000000000000000";

function file(
  header: string,
  { pieces, sha256 }: { pieces: [at: number, hex: string][]; sha256: string },
): JournalVector {
  const bytes = new Uint8Array(16 + BLOCK_BYTES);
  bytes.set(Uint8Array.fromHex(header));
  for (const [at, hex] of pieces) bytes.set(Uint8Array.fromHex(hex), 16 + (at < 0 ? BLOCK_BYTES + at : at));
  return { bytes, sha256 };
}

/** Version 2, not compressed: five frames of five devices. */
export const VECTOR_A = file(V2_HEADER, {
  pieces: [
    [0, "00f0c8049b3706000000000000000000"],
    [
      16,
      "000101f88910270000d0490100a08d060106fd8901201c409cffffffa08d060212f18900ae1ef6ff0a0001" +
      "a08d060102f88900fcff204e6400ffa08d060303f58900c800ffffffffff",
    ],
    [-12, "0000020005000000af2b84b5"],
  ],
  sha256: "4c4cb172d158e68e4d734b094ca0577321926153ed30fc5acaad8f090ebdbec0",
});

/** Version 2, not compressed: one frame. */
export const VECTOR_B = file(V2_HEADER, {
  pieces: [
    [0, "e8030000000000002a00000000000000"],
    [16, "000001f8890102030405060708"],
    [-12, "00000200010000006ed58223"],
  ],
  sha256: "4312e7dde0ddaa932d4a79b8702e7ad5aab47451d6a796ebc28c1239d1f65e63",
});

/** Version 1, not compressed: one frame. */
export const VECTOR_C = file("4c504a01001000000000000000000000", {
  pieces: [
    [0, "00605ba09d370600"],
    [8, "000a01f889aabbccddeeff1122"],
    [-12, "0000020001000000c68d12f9"],
  ],
  sha256: "adba36512e48af3e4f3bd2011f11681ce33191ff976360e5081c942c7a6920d2",
});

/** Version 2, not compressed: short, long and addressed frames, a claim among them, and a clock set back. */
export const VECTOR_D = file(V2_HEADER, {
  pieces: [
    [0, "00f0c8049b370600e903000000000000"],
    [
      16,
      "000101f88910270000d0490100e807fe05ea180300ee00f40305ffee98010000000000a000000105f80d2b" +
      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a" +
      "640112f18900ae1ef6ff0a0001",
    ],
    [
      4026,
      "020001040000010017e00000000000d20407474e582031323005312e322e330348573105534e2d3432" +
      "05010000000000a00002000000000000000000",
    ],
    [-10, "3c0005000000e2e4a287"],
  ],
  sha256: "e3491146da9dd74d8f963a5bbc5be8fcb4c519e6db303a0535a368693b4ad88c",
});

/** The block of vector D as zstd, with an index. */
export const VECTOR_E: JournalVector = {
  bytes: Uint8Array.fromHex(
    "4c504a0200100000010000000000000000f0c8049b370600e903000000000000ba00000028b52ffd60000f850500940900f0c8049b370600" +
      "e903000101f88910270000d0490100e807fe05ea180300ee00f40305ffee980100a000000105f80d2b0001020304050607" +
      "08090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a640112f18900ae1ef6ff0a00020001" +
      "040000010017e000d20407474e582031323005312e322e330348573105534e2d343205023c0005000000e2e4a2870700788745ac" +
      "7b480304f373f0eb91805b60f300e61000000000000000010000004c504a49",
  ),
  sha256: "4854297f4cec95d5d4cc76b4d47a268d62c407d9099d05455f3fa9584353b06e",
};

/** SHA-256 as hex. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

import { createHash } from "node:crypto";
import { turn } from "../base/mod.ts";

/** Length and digests of a body. */
export interface Digests {
  /** Bytes. */
  size: number;
  /** 16 bytes. */
  md5: Uint8Array;
  /** Lower-case hexadecimal, as in the `ETag` of most stores. */
  md5Hex: string;
  /** Lower-case hexadecimal. */
  sha256Hex: string;
}

/** Bytes that are hashed before the event loop gets its turn: less than 10 ms on a small computer. */
const SLICE_BYTES = 1024 * 1024;

/** Computes both digests, in slices. */
export async function digestBoth(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<Digests> {
  const [md5, sha256] = [createHash("md5"), createHash("sha256")];
  let size = 0;
  for await (const slice of body instanceof Uint8Array ? slicesOf(body) : body) {
    md5.update(slice);
    sha256.update(slice);
    size += slice.length;
  }
  const digest = new Uint8Array(md5.digest());
  return { size, md5: digest, md5Hex: digest.toHex(), sha256Hex: sha256.digest("hex") };
}

async function* slicesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    if (at > 0) await turn();
    yield body.subarray(at, at + SLICE_BYTES);
  }
}

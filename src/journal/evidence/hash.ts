import { createHash } from "node:crypto";
import type { FileHash } from "./statement.ts";

/** Bytes that are read and hashed at once: less than a millisecond of work. */
const CHUNK_BYTES = 262_144;

/**
 * Hashes a file.
 *
 * @param onChunk called with the number of bytes after each chunk, and waited for; what it throws ends the reading
 * @throws {Error} error of the system
 */
export async function hashFile(path: string, onChunk: (bytes: number) => void | Promise<void>): Promise<FileHash> {
  using file = await Deno.open(path, { read: true });
  const chunk = new Uint8Array(CHUNK_BYTES);
  const hash = createHash("sha256");
  let bytes = 0;
  for (;;) {
    const count = await file.read(chunk);
    if (count === null) return { bytes, sha256: hash.digest("hex") };
    hash.update(chunk.subarray(0, count));
    bytes += count;
    await onChunk(count);
  }
}

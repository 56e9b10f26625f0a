import { basename } from "node:path";
import { BlockError } from "../errors.ts";
import { readEnd } from "../file/end.ts";
import { readFileAt } from "../file/source.ts";
import { readHead } from "../index/file_index.ts";
import type { Statement } from "./statement.ts";

/**
 * What a statement says of the frames of a file, and whether its end is torn. Only its first header, its index and its last
 * block are read.
 *
 * @throws {Error} error of the system
 */
export async function readFrames(path: string): Promise<Pick<Statement, "frames"> & { isTorn: boolean }> {
  using file = await Deno.open(path, { read: true });
  const { size } = await file.stat();
  const read = (offset: number, length: number) => readFileAt(file, { offset, length });
  const end = await readEnd(file, basename(path));
  const head = await readHead(read, size).catch((error: unknown) => {
    if (error instanceof BlockError) return undefined;
    throw error;
  });
  const isTorn = (end?.tornBytes ?? 0) > 0;
  const firstSeq = head?.first?.seq ?? NaN;
  if (end?.epoch === undefined || !(firstSeq <= end.lastSeq)) return { frames: undefined, isTorn };
  return { frames: { epoch: end.epoch.toHex(), firstSeq, lastSeq: end.lastSeq }, isTorn };
}

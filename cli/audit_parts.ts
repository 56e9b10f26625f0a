import { errorText } from "@vessel/gateway/settings";
import type { Message } from "@vessel/gateway/frame";
import {
  decodeOpening,
  epochWordOf,
  type Gap,
  readFileAt,
  readFileIndex,
  readingAhead,
  readTails,
  storedBytes,
} from "@vessel/gateway/journal";

/** Frames whose numbers follow each other: a block of a file that is not read yet, or what a tail holds. */
export type Part =
  & { epochWord: number; seq: number; timeUs: number }
  & (
    | { kind: "block"; path: string; offset: number; bytes: number }
    | { kind: "tail"; epoch: string; frames: readonly Message[]; gap: Gap | undefined }
  );

/** What was found in a directory. */
export interface Parts {
  /** In the order of their first numbers. */
  parts: Part[];
  /** What could not be read, in words. */
  damage: string[];
}

/** Bytes of a file that are read at once to find its blocks. */
const WINDOW_BYTES = 262_144;

/**
 * Finds all that a directory holds of a journal: blocks of its files, torn ones as far as they go, and the frames that
 * are in its tails alone. Nothing is changed.
 *
 * @throws {Deno.errors.NotFound} there is no such directory
 */
export async function findParts(directory: string): Promise<Parts> {
  const found: Parts = { parts: [], damage: [] };
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(directory)) if (isFile && name.endsWith(".lpj")) names.push(name);
  for (const name of names.sort()) {
    try {
      await findBlocks(`${directory}/${name}`, found);
    } catch (error) {
      found.damage.push(`${name}: ${errorText(error)}`);
    }
  }
  for (const { epoch, firstSeq, frames, opening } of await readTails(directory)) {
    const [first] = frames;
    if (first === undefined) continue;
    const { gap } = decodeOpening(opening).notes;
    const place = { epochWord: epochWordOf(epoch), seq: firstSeq, timeUs: first.timeUs };
    found.parts.push({ kind: "tail", ...place, epoch: epoch.toHex(), frames, gap });
  }
  found.parts.sort((a, b) => a.seq - b.seq);
  return found;
}

async function findBlocks(path: string, { parts, damage }: Parts): Promise<void> {
  using file = await Deno.open(path);
  const { size } = await file.stat();
  const read = readingAhead((offset, length) => readFileAt(file, { offset, length }), WINDOW_BYTES);
  const { header: { epochWord }, blocks, state, damaged, end } = await readFileIndex(read, size);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (state === "torn") damage.push(`${name}: torn behind byte ${end}`);
  if (damaged > 0) damage.push(`${name}: ${damaged} places where no block begins`);
  for (const { offset, header } of blocks) {
    const { baseSeq: seq, baseTimeUs: timeUs } = header;
    if (seq === undefined) damage.push(`${name}: its frames have no numbers`);
    else parts.push({ kind: "block", epochWord, seq, timeUs, path, offset, bytes: storedBytes(header) });
    if (seq === undefined) return;
  }
}

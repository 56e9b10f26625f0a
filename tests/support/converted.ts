import { assembleRecording, readRecording, type RecordingFormat } from "../../src/can/mod.ts";
import { formatHex, type Message, newStoredFrame, parseCanId, type StoredFrame } from "../../src/frame/mod.ts";
import { type BlockMetadata, FILE_HEADER_BYTES, parseFileHeader, readBlock } from "../../src/journal/mod.ts";
import { type LpjFile, type LpjFrame, readLpj } from "./minimal_lpj_reader.ts";
import { streamOf } from "./recordings.ts";

/** Messages of a recording, as the library makes them. */
export async function messagesOf(bytes: Uint8Array, { format }: { format?: RecordingFormat } = {}): Promise<Message[]> {
  return await Array.fromAsync(assembleRecording(readRecording(streamOf([bytes]), { format })));
}

/** A message as a line: time, priority, PGN, source, destination, payload. */
export function messageText({ id, timeUs, data, offset, length }: Message): string {
  const { prio, pgn, src, dst } = parseCanId(id);
  return `${timeUs} ${prio} ${pgn} ${src} ${dst} ${formatHex(data, { start: offset, length })}`;
}

/** The same of a frame out of a journal. */
export function frameText({ timeUs, prio, pgn, src, dst, data }: LpjFrame): string {
  return `${timeUs} ${prio} ${pgn} ${src} ${dst} ${data}`;
}

/** Reads a journal as other software does. */
export async function readJournal(path: string): Promise<LpjFile & { frames: LpjFrame[]; bytes: Uint8Array }> {
  const bytes = await Deno.readFile(path);
  const file = readLpj(bytes);
  return { ...file, frames: file.blocks.flatMap(({ frames }) => frames), bytes };
}

/** Names in a directory, hidden ones included. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).sort();
}

/** What our own reader finds in a journal without compression. */
export async function journalBlocks(path: string): Promise<{ metadata: BlockMetadata; frames: StoredFrame[] }[]> {
  const bytes = await Deno.readFile(path);
  const { version, blockBytes } = parseFileHeader(bytes);
  const count = (bytes.length - FILE_HEADER_BYTES) / blockBytes;
  return Array.from({ length: count }, (_, i) => {
    const start = FILE_HEADER_BYTES + i * blockBytes;
    const block = readBlock(bytes.subarray(start, start + blockBytes), { version, blockBytes });
    const frames: StoredFrame[] = [];
    const cursor = block.frames();
    for (let frame = newStoredFrame(); cursor.next(frame); frame = newStoredFrame()) frames.push(frame);
    return { metadata: block.metadata, frames };
  });
}

import assert from "node:assert/strict";
import { Logger, silentLogger } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import type { BlockMetadata } from "../../src/journal/mod.ts";
import { JournalWriter, type JournalWriterOptions } from "../../src/journal/writer/journal_writer.ts";
import { recover } from "../../src/journal/wal/recovery.ts";
import { copyAsCrashed } from "./folder.ts";
import { FakeClock } from "./fake_clock.ts";
import { type FrameSeen, frameSeen, framesOf, readFile } from "./journal_files.ts";
import { message, START_US } from "./messages.ts";
import { readLpj } from "./minimal_lpj_reader.ts";

/** The run of numbers of recordings under test. */
export const EPOCH = Uint8Array.from({ length: 16 }, (_, i) => 0xe0 + i);

/** The frame of a number: whoever reads it knows what it must be. */
export function frameOf(seq: number, { timeUs = START_US + seq * 1000, length = 8 + (seq % 7 === 0 ? 35 : 0) } = {}) {
  const data = Uint8Array.from({ length }, (_, i) => (seq * 31 + i * 17) & 0xff);
  return message({ pgn: seq % 7 === 0 ? 129029 : 127250, src: seq % 50, bus: seq % 2, timeUs, data });
}

/** What a reader has to find of it. */
export function seenOf(seq: number, frame: Message = frameOf(seq)): FrameSeen {
  return frameSeen({ ...frame, seq });
}

/** A logger whose lines are kept. */
export function keptLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { log: new Logger({ write: (line) => lines.push(line) }), lines };
}

/** A writer with small blocks, whose own timer fires only when a test says how often. */
export function makeWriter(directory: string, options: Partial<JournalWriterOptions> = {}) {
  const clock = new FakeClock();
  const { log, lines } = keptLog();
  const ended: string[] = [];
  const writer = new JournalWriter({
    directory,
    blockBytes: 4096,
    syncIntervalMs: 3_600_000,
    buses: ["can0", "can1"],
    epoch: EPOCH,
    clock,
    log,
    onEnded: (path) => ended.push(path),
    ...options,
  });
  return { writer, clock, lines, ended };
}

/** Appends the frames of numbers, both included. */
export function appendRange(writer: JournalWriter, from: number, to: number): void {
  for (let seq = from; seq <= to; seq++) writer.append(seq, frameOf(seq));
}

/** Appends frames until another block is begun, and waits until they are safe. Returns the last one's number. */
export async function fillBlock(writer: JournalWriter, from: number): Promise<number> {
  const before = writer.unwritten().length;
  let seq = from;
  for (writer.append(seq, frameOf(seq)); writer.unwritten().length <= Math.max(1, before);) {
    seq++;
    writer.append(seq, frameOf(seq));
  }
  await writer.sync();
  return seq;
}

/** What a start finds when the power goes now. */
export async function afterPowerCut(
  folder: string,
): Promise<{ lastSeq: number; frames: FrameSeen[] }> {
  const copy = await Deno.makeTempDir();
  try {
    copyAsCrashed(folder, copy);
    const { lastSeq } = await recover({ directory: copy, log: silentLogger });
    return { lastSeq, frames: readJournal(copy).frames };
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

/** A block as a test wants it. */
export interface BlockSeen {
  file: string;
  metadata: BlockMetadata;
  firstSeq: number;
  frames: FrameSeen[];
}

/** Names of the journal's files, in order. */
export function journalFiles(directory: string): string[] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) => name.endsWith(".lpj")).sort();
}

/** Everything in a directory's files, in the order of their names; read `twice`, the second time without our code. */
export function readJournal(
  directory: string,
  { twice = true } = {},
): { blocks: BlockSeen[]; frames: FrameSeen[]; indexed: boolean[] } {
  const blocks: BlockSeen[] = [];
  const indexed: boolean[] = [];
  for (const file of journalFiles(directory)) {
    const bytes = Deno.readFileSync(`${directory}/${file}`);
    const ours = readFile(bytes).blocks.map((block) => ({
      file,
      metadata: block.metadata,
      firstSeq: block.baseSeq ?? 0,
      frames: framesOf(block),
    }));
    blocks.push(...ours);
    if (!twice) continue;
    const minimal = readLpj(bytes);
    const seqs = minimal.blocks.flatMap(({ frames }) => frames.map(({ seq, data }) => `${seq} ${data}`));
    assert.deepEqual(seqs, ours.flatMap(({ frames }) => frames.map(({ seq, data }) => `${seq} ${data}`)));
    indexed.push(minimal.indexed);
  }
  return { blocks, frames: blocks.flatMap(({ frames }) => frames), indexed };
}

/** The frames of numbers, both included, as readers have to find them. */
export function wantedRange(from: number, to: number): FrameSeen[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => seenOf(from + i));
}

import type { EpochBlock } from "../../journal/mod.ts";

/** A position in the order of a history: after one frame and before the next. */
export interface HistoryPosition {
  /** First four bytes of the frame's epoch; 0 if its file names none. */
  epochWord: number;
  /** Sequence number; without an epoch numbers may repeat, and this is the index in the block. */
  at: number;
  /** Base time of its block, microseconds since 1970. */
  blockUs: number;
}

const POSITION = /^([0-9a-f]{8})-(\d{1,16})-(\d{1,16})$/;

/** Formats a position for the parameter `after`. */
export function formatPosition({ epochWord, at, blockUs }: HistoryPosition): string {
  return `${epochWord.toString(16).padStart(8, "0")}-${at}-${Math.max(0, blockUs)}`;
}

/** Parses a position; undefined: not a position. */
export function parsePosition(text: string): HistoryPosition | undefined {
  const [, word = "", at = "", us = ""] = POSITION.exec(text) ?? [];
  if (word === "") return undefined;
  return { epochWord: parseInt(word, 16), at: Number(at), blockUs: Number(us) };
}

/** The {@linkcode HistoryPosition.at} of a frame. */
export function positionAt({ epochWord }: EpochBlock, { seq, index }: { seq: number; index: number }): number {
  return epochWord === 0 ? index : seq;
}

/**
 * Highest {@linkcode HistoryPosition.at} of a block's frames at or before a position; -Infinity: all are after it.
 *
 * @param order epochs of the journal's files in the order in which they are read
 */
export function passedThrough(
  { block: { baseTimeUs }, epochWord }: EpochBlock,
  { position, order }: { position: HistoryPosition; order: readonly number[] },
): number {
  if (epochWord === position.epochWord) {
    if (epochWord !== 0 || baseTimeUs === position.blockUs) return position.at;
    return baseTimeUs < position.blockUs ? Infinity : -Infinity;
  }
  const [own, other] = [order.indexOf(epochWord), order.indexOf(position.epochWord)];
  // The files of the position's epoch are deleted, or not written yet.
  if (other < 0) return baseTimeUs <= position.blockUs ? Infinity : -Infinity;
  // An epoch without a file is the newest.
  return own >= 0 && own < other ? Infinity : -Infinity;
}

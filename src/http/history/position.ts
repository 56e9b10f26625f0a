import type { EpochBlock } from "../../journal/mod.ts";

/** A place in the order of a history: after one frame and before the next. */
export interface HistoryPosition {
  /** First four bytes of the frame's epoch; 0 where its file names none. */
  epochWord: number;
  /** Number of the frame; where its file names no epoch, and so numbers may repeat, its index in its block. */
  at: number;
  /** Time at which its block begins, microseconds since 1970. */
  blockUs: number;
}

const PLACE = /^([0-9a-f]{8})-(\d{1,16})-(\d{1,16})$/;

/** A place as the parameter `after` has it. */
export function formatPlace({ epochWord, at, blockUs }: HistoryPosition): string {
  return `${epochWord.toString(16).padStart(8, "0")}-${at}-${Math.max(0, blockUs)}`;
}

/** Reads a place; undefined: it is none. */
export function parsePlace(text: string): HistoryPosition | undefined {
  const [, word = "", at = "", us = ""] = PLACE.exec(text) ?? [];
  if (word === "") return undefined;
  return { epochWord: parseInt(word, 16), at: Number(at), blockUs: Number(us) };
}

/** What a frame of a block has as {@linkcode HistoryPosition.at}. */
export function placeAt({ epochWord }: EpochBlock, { seq, index }: { seq: number; index: number }): number {
  return epochWord === 0 ? index : seq;
}

/**
 * Highest {@linkcode HistoryPosition.at} of a block's frames that are not after a place; -Infinity: all of them are after it.
 *
 * @param order epochs of the journal's files in the order in which they are read
 */
export function passedThrough(
  { block: { baseTimeUs }, epochWord }: EpochBlock,
  { place, order }: { place: HistoryPosition; order: readonly number[] },
): number {
  if (epochWord === place.epochWord) {
    if (epochWord !== 0 || baseTimeUs === place.blockUs) return place.at;
    return baseTimeUs < place.blockUs ? Infinity : -Infinity;
  }
  const [own, other] = [order.indexOf(epochWord), order.indexOf(place.epochWord)];
  // The files of the place's epoch are deleted, or not written yet.
  if (other < 0) return baseTimeUs <= place.blockUs ? Infinity : -Infinity;
  // An epoch that is in no file yet is the newest.
  return own >= 0 && own < other ? Infinity : -Infinity;
}

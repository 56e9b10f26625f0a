import { EPOCH_BYTES } from "../../replication/mod.ts";
import { JOURNAL_EXTENSION } from "../../journal/mod.ts";

/** An object in the store: a journal file with consecutive frames of one epoch of a boat. */
export interface FrameObject {
  /** The boat. */
  id: string;
  /** Hex of 16 bytes. */
  epoch: string;
  /** Numbers of its first and last frame; it has all in between. */
  first: number;
  last: number;
  /** First 16 hex digits of the SHA-256 of its bytes: objects with other content have other keys. */
  hash: string;
}

const FOLDER = "instances";
const EPOCHS_FOLDER = "epochs";
const TIMES_FOLDER = "times";
const BLOCKS_FOLDER = "blocks";
const PRUNED_FOLDER = "pruned";
const CLOCK_FOLDER = "clock";
const SESSIONS_FOLDER = "sessions";
/** Beginning of the keys of nodes. */
export const NODES_PREFIX = "nodes/";
/** Digits of the position of an epoch. */
const POSITION_DIGITS = 6;
/** Digits of a number: keys are ordered by number. */
const SEQ_DIGITS = String(Number.MAX_SAFE_INTEGER).length;
const NAME = new RegExp(`^(\\d{${SEQ_DIGITS}})-(\\d{${SEQ_DIGITS}})-([0-9a-f]{16})\\${JOURNAL_EXTENSION}$`);
const EPOCH = new RegExp(`^[0-9a-f]{${2 * EPOCH_BYTES}}$`);

/** Beginning of the keys of a boat's objects; of one epoch, if it is given. */
export function framesPrefix(id: string, epoch?: string): string {
  return epoch === undefined ? `${FOLDER}/${id}/` : `${FOLDER}/${id}/${epoch}/`;
}

/** Beginning of the keys of a boat's epochs; of all boats, if none is given. */
export function epochsPrefix(id?: string): string {
  return id === undefined ? `${EPOCHS_FOLDER}/` : `${EPOCHS_FOLDER}/${id}/`;
}

/** Beginning of the keys of the ranges of a boat that were deleted intentionally. */
export function prunedPrefix(id: string): string {
  return `${PRUNED_FOLDER}/${id}/`;
}

/** Key of a range that was deleted intentionally; its content is empty. */
export function prunedKey({ id, epoch, first, last }: Omit<FrameObject, "hash">): string {
  return `${prunedPrefix(id)}${epoch}/${digitsOf(first)}-${digitsOf(last)}`;
}

/** Reads a key; undefined if it is not that of such a range. */
export function parsePrunedKey(key: string): { epoch: string; first: number; last: number } | undefined {
  const [folder, , epoch = "", name = "", ...rest] = key.split("/");
  const [, first = NaN, last = NaN] = (/^(\d+)-(\d+)$/.exec(name) ?? []).map(Number);
  const isRange = Number.isSafeInteger(first) && Number.isSafeInteger(last) && first >= 1 && last >= first;
  return folder === PRUNED_FOLDER && EPOCH.test(epoch) && rest.length === 0 && isRange
    ? { epoch, first, last }
    : undefined;
}

/** Beginning of the keys of the sessions of a boat's clients. */
export function sessionsPrefix(id: string): string {
  return `${SESSIONS_FOLDER}/${id}/`;
}

/** Key of the sessions of a boat's clients as one node has them. */
export function sessionsKey(id: string, node: string): string {
  return `${sessionsPrefix(id)}${node}.json`;
}

/** Key of a node; its content is its URL. */
export function nodeKey(name: string): string {
  return NODES_PREFIX + name;
}

/** Key of an empty object that is stored to learn the time of the store. */
export function clockKey(id: string): string {
  return `${CLOCK_FOLDER}/${id}`;
}

/** Key of the locations of the blocks of an object with frames, given by its key. */
export function blocksKey(key: string): string {
  return BLOCKS_FOLDER + key.slice(FOLDER.length, -JOURNAL_EXTENSION.length);
}

/** Key of the times of a boat's objects. */
export function timesKey(id: string): string {
  return `${TIMES_FOLDER}/${id}.json`;
}

/** Key of the epoch at a position, from 1; its content is the epoch, hex. Only one node can create it. */
export function epochKey(id: string, position: number): string {
  return epochsPrefix(id) + String(position).padStart(POSITION_DIGITS, "0");
}

/** The boat of an epoch's key; undefined if it is none. */
export function boatOfEpochKey(key: string): string | undefined {
  const [folder, id, ...rest] = key.split("/");
  return folder === EPOCHS_FOLDER && rest.length === 1 ? id : undefined;
}

/** True for a key of frames; false for a path of the local disk. */
export function isFrameKey(path: string): boolean {
  return path.startsWith(`${FOLDER}/`);
}

/** Key of an object. */
export function frameKey({ id, epoch, first, last, hash }: FrameObject): string {
  return `${framesPrefix(id, epoch)}${digitsOf(first)}-${digitsOf(last)}-${hash}${JOURNAL_EXTENSION}`;
}

function digitsOf(seq: number): string {
  return String(seq).padStart(SEQ_DIGITS, "0");
}

/** Reads a key; undefined if it is not that of frames. */
export function parseFrameKey(key: string): FrameObject | undefined {
  const [folder, id, epoch, name = "", ...rest] = key.split("/");
  if (folder !== FOLDER || id === undefined || epoch === undefined || !EPOCH.test(epoch) || rest.length > 0) {
    return undefined;
  }
  const [, from, to, hash = ""] = NAME.exec(name) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || first < 1 || last < first) return undefined;
  return { id, epoch, first, last, hash };
}

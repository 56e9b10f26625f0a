import { EPOCH_BYTES } from "../../replication/mod.ts";

/** The runs of numbers that one boat has had, as hex of 16 bytes each. Within a run no number is given to two frames. */
export interface EpochHistory {
  /** The one that frames are taken of; undefined before the first handshake. */
  current: string | undefined;
  /** Those before it that the boat has named, newest first. */
  previous: readonly string[];
}

/**
 * What a handshake means for what is held.
 *
 * - `same`: the boat goes on
 * - `new`: it counts from 1 again, or for the first time; what is held counts no more
 * - `clone`: this run was replaced by another one before. Two machines have this boat's identity, or an old image was
 *   restored; to go on with either would mix their frames
 */
export type EpochVerdict = { kind: "same" } | { kind: "new"; reason: string } | { kind: "clone"; reason: string };

/** Former runs that are remembered of a boat. */
export const MAX_PREVIOUS_EPOCHS = 64;

/** What the id of a run ends with that the cloud has named because the boat does not: `peer`. Journal files tell it. */
const PEER_MARK = new TextEncoder().encode("peer");
const PEER_ENDING = PEER_MARK.toHex();

/** Whether the cloud has named this run of numbers. @param id hex */
export function isPeerEpoch(id: string): boolean {
  return id.endsWith(PEER_ENDING);
}

/**
 * Judges a handshake by its run of numbers.
 *
 * @param boat.epoch 16 bytes; a peer's boat tells none
 * @param boat.headSeq the last number that the boat gave out
 * @param boat.last the highest number that was received of it in the current run
 */
export function evaluateEpoch(
  { current, previous }: EpochHistory,
  { epoch, headSeq, last }: { epoch: Uint8Array | undefined; headSeq: number; last: number },
): EpochVerdict {
  if (current === undefined) return { kind: "new", reason: "the boat is here for the first time" };
  const id = epoch?.toHex();
  if (id === undefined) {
    if (!isPeerEpoch(current)) return { kind: "new", reason: "the boat names its run of numbers no more" };
    if (headSeq >= last) return { kind: "same" };
    return { kind: "new", reason: `the boat is at ${headSeq}, and was at ${last} before` };
  }
  if (id === current) return { kind: "same" };
  if (previous.includes(id)) {
    return { kind: "clone", reason: `epoch ${id} was followed by ${current}: two machines may be this boat` };
  }
  return { kind: "new", reason: `the boat counts in epoch ${id}, and in ${current} before` };
}

/**
 * The history when a new run has begun.
 *
 * @param options.epoch what the boat names it
 * @param options.randomBytes names it where the boat does not
 */
export function beginEpoch(
  { current, previous }: EpochHistory,
  { epoch, randomBytes }: { epoch: Uint8Array | undefined; randomBytes: (count: number) => Uint8Array },
): EpochHistory {
  // What the cloud has named nobody will come back with.
  const former = current === undefined || isPeerEpoch(current) ? previous : [current, ...previous];
  const id = epoch ?? new Uint8Array([...randomBytes(EPOCH_BYTES - PEER_MARK.length), ...PEER_MARK]);
  return { current: id.toHex(), previous: former.slice(0, MAX_PREVIOUS_EPOCHS) };
}

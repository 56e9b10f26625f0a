import { EPOCH_BYTES } from "../../replication/mod.ts";

/** The epochs of one boat, each as hex of 16 bytes. Within an epoch no two frames have the same number. */
export interface EpochHistory {
  /** Undefined before the first handshake. */
  current: string | undefined;
  /** Former epochs that the boat has named, newest first. */
  previous: readonly string[];
}

/**
 * How the epoch of a handshake relates to the stored ones.
 *
 * - `same`: the boat continues
 * - `new`: it counts from 1 again, or for the first time
 * - `clone`: another epoch has followed this one already. Two machines have this boat's identity, or an old image was
 *   restored; accepting it would mix their frames
 */
export type EpochVerdict = { kind: "same" } | { kind: "new"; reason: string } | { kind: "clone"; reason: string };

/** Maximum former epochs whose names are kept. */
export const MAX_PREVIOUS_EPOCHS = 64;

/** Suffix of the epochs that the cloud names for boats that name none: `peer`. Journal files contain it. */
const PEER_MARK = new TextEncoder().encode("peer");
const PEER_ENDING = PEER_MARK.toHex();

/** True if the cloud has named this epoch. @param id hex */
export function isPeerEpoch(id: string): boolean {
  return id.endsWith(PEER_ENDING);
}

/**
 * Evaluates the epoch of a handshake.
 *
 * @param boat.epoch 16 bytes; undefined: a peer's boat
 * @param boat.headSeq last number that the boat has assigned
 * @param boat.last highest number received in the current epoch
 */
export function evaluateEpoch(
  { current, previous }: EpochHistory,
  { epoch, headSeq, last }: { epoch: Uint8Array | undefined; headSeq: number; last: number },
): EpochVerdict {
  if (current === undefined) return { kind: "new", reason: "the boat is here for the first time" };
  const id = epoch?.toHex();
  if (id === undefined) {
    if (!isPeerEpoch(current)) return { kind: "new", reason: "the boat no longer names its epoch" };
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
 * The history after a new epoch has begun.
 *
 * @param options.epoch 16 bytes; undefined: the boat names none
 * @param options.randomBytes used to name the epoch of such a boat
 */
export function beginEpoch(
  { current, previous }: EpochHistory,
  { epoch, randomBytes }: { epoch: Uint8Array | undefined; randomBytes: (count: number) => Uint8Array },
): EpochHistory {
  // No boat can come back with an epoch that the cloud has named.
  const former = current === undefined || isPeerEpoch(current) ? previous : [current, ...previous];
  const id = epoch ?? new Uint8Array([...randomBytes(EPOCH_BYTES - PEER_MARK.length), ...PEER_MARK]);
  return { current: id.toHex(), previous: former.slice(0, MAX_PREVIOUS_EPOCHS) };
}

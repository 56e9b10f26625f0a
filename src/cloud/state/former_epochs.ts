import type { FormerEpoch, LostRange, Range } from "../../replication/mod.ts";
import { Received, type ReceivedLimits, type ReceivedRecord } from "./received.ts";
import { isPeerEpoch } from "./received_epochs.ts";

/** Former epochs of one boat of which it is remembered what is here; what comes of older ones is not taken. */
export const MAX_KEPT_FORMER = 16;
/** Ranges that are kept of each: less than of the current one, as there are many. */
export const FORMER_LIMITS = {
  maxHeldRanges: 1024,
  maxVoidRanges: 1024,
  maxLostRanges: 64,
} as const satisfies ReceivedLimits;

/** What is known of a former epoch after a restart. */
export interface FormerState {
  /** Hex of 16 bytes. */
  epoch: string;
  /** Its last number, as far as the boat has told, or a frame has shown. */
  headSeq: number;
  /** Its numbers that are in the cloud, were never used, or are lost. */
  received: ReceivedRecord;
}

/** A former epoch, as far as it is not complete. */
export interface FormerSummary {
  /** Hex of 16 bytes. */
  epoch: string;
  headSeq: number;
  /** What is still to come. */
  holes: Range[];
  /** What the boat cannot send any more, and why. */
  lost: LostRange[];
  /** Why nothing of it is taken; undefined: it is. */
  refused: string | undefined;
}

/** What is here of a former epoch. */
export interface Former {
  readonly epoch: string;
  headSeq: number;
  readonly received: Received;
  /** Why nothing of it is taken from the boat as it is now. */
  refused: string | undefined;
  /** The connection whose word of it counts. */
  trusted: string | undefined;
  /** What the boat has said of it, and what counts once it has shown what it has, or sends a block. */
  said: FormerEpoch | undefined;
}

/** The epochs before the current one, newest first: what is here of them. Pure. */
export class FormerEpochs {
  #all: Former[];

  constructor(states: readonly FormerState[] = []) {
    this.#all = states.slice(0, MAX_KEPT_FORMER).map(formerOf);
  }

  /** What is to be written down. */
  get states(): FormerState[] {
    return this.#all.map(({ epoch, headSeq, received }) => ({ epoch, headSeq, received: received.record() }));
  }

  /** Those of which something is missing, and why. */
  get incomplete(): FormerSummary[] {
    return this.#all.flatMap(({ epoch, headSeq, received, refused }) => {
      const [holes, lost] = [received.holes(headSeq + 1), received.lost];
      const isIncomplete = holes.length + lost.length > 0 || refused !== undefined;
      return isIncomplete ? [{ epoch, headSeq, holes, lost, refused }] : [];
    });
  }

  /** Whether nothing is taken of one of them. */
  get isRefused(): boolean {
    return this.#all.some(({ refused }) => refused !== undefined);
  }

  /** What is here of an epoch; undefined where nothing is known of it. */
  get(epoch: string): Former | undefined {
    return this.#all.find((each) => each.epoch === epoch);
  }

  /** An epoch has ended. One that only the cloud has named nobody comes back with. */
  add(state: FormerState): void {
    if (isPeerEpoch(state.epoch) || this.get(state.epoch)) return;
    this.#all = [formerOf(state), ...this.#all].slice(0, MAX_KEPT_FORMER);
  }

  /** The boat has frames of an epoch that was never here. Undefined where there is no room for one more. */
  learn(state: FormerState): Former | undefined {
    if (this.#all.length >= MAX_KEPT_FORMER) return undefined;
    const former = formerOf(state);
    this.#all.push(former);
    return former;
  }

  /** The boat goes on in this epoch: it is none of the former. */
  remove(epoch: string): void {
    this.#all = this.#all.filter((each) => each.epoch !== epoch);
  }
}

/** Takes a connection's word of a former epoch, and what it says later, too. */
export function acceptWord(former: Former, connection: string): void {
  former.trusted = connection;
  if (!former.said) return;
  const { head, void: never, lost } = former.said;
  former.said = undefined;
  // What it lost at the end of an epoch it may not know of.
  former.headSeq = Math.max(former.headSeq, head);
  former.received.declare({ void: never, lost, end: head + 1 });
}

/** Of what is in more pieces, the oldest are asked for again. */
function formerOf({ epoch, headSeq, received: found }: FormerState): Former {
  const received = { ...found, durable: found.durable.slice(-FORMER_LIMITS.maxHeldRanges) };
  return {
    epoch,
    headSeq,
    received: new Received(received, FORMER_LIMITS),
    refused: undefined,
    trusted: undefined,
    said: undefined,
  };
}

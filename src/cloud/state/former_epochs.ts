import type { FormerEpoch, LostRange, Range } from "../../replication/mod.ts";
import { isPeerEpoch, Received, type ReceivedLimits, type ReceivedRecord } from "./received.ts";

/** Maximum former epochs of one boat that the cloud completes; frames of older ones are refused. */
export const MAX_KEPT_FORMER = 16;
/** Limits of each: lower than those of the current epoch. */
export const FORMER_LIMITS = {
  maxHeldRanges: 1024,
  maxVoidRanges: 1024,
  maxLostRanges: 64,
} as const satisfies ReceivedLimits;

/** The saved state of a former epoch. */
export interface FormerState {
  /** Hex of 16 bytes. */
  epoch: string;
  /** Last known number. */
  headSeq: number;
  /** Received, void and lost numbers. */
  received: ReceivedRecord;
}

/** An incomplete former epoch. */
export interface FormerSummary {
  /** Hex of 16 bytes. */
  epoch: string;
  headSeq: number;
  /** Ranges that the boat may still send. */
  holes: Range[];
  /** Ranges that the boat has declared as lost. */
  lost: LostRange[];
  /** Why the cloud refuses its frames; undefined: it accepts them. */
  refused: string | undefined;
}

/** A former epoch. */
export interface FormerRecord {
  readonly epoch: string;
  headSeq: number;
  readonly received: Received;
  /** Why the cloud refuses its frames; undefined: it accepts them. */
  refused: string | undefined;
  /** Connection whose declarations are accepted. */
  trusted: string | undefined;
  /** The boat's declaration, accepted once the boat proves that it has the stored frames, or sends a block. */
  declared: FormerEpoch | undefined;
}

/** The epochs before the current one, newest first. Pure. */
export class FormerEpochs {
  #all: FormerRecord[];

  constructor(states: readonly FormerState[] = []) {
    this.#all = states.slice(0, MAX_KEPT_FORMER).map(formerOf);
  }

  /** The states to be saved. */
  get states(): FormerState[] {
    return this.#all.map(({ epoch, headSeq, received }) => ({ epoch, headSeq, received: received.record() }));
  }

  /** Those with missing or refused frames. */
  get incomplete(): FormerSummary[] {
    return this.#all.flatMap(({ epoch, headSeq, received, refused }) => {
      const [holes, lost] = [received.holes(headSeq + 1), received.lost];
      const isIncomplete = holes.length + lost.length > 0 || refused !== undefined;
      return isIncomplete ? [{ epoch, headSeq, holes, lost, refused }] : [];
    });
  }

  /** True if the cloud refuses the frames of one of them. */
  get isRefused(): boolean {
    return this.#all.some(({ refused }) => refused !== undefined);
  }

  /** The epoch with this name, hex; undefined if it is unknown. */
  get(epoch: string): FormerRecord | undefined {
    return this.#all.find((each) => each.epoch === epoch);
  }

  /** Adds an epoch that has ended. One that the cloud has named is left out: no boat can come back with it. */
  add(state: FormerState): void {
    if (isPeerEpoch(state.epoch) || this.get(state.epoch)) return;
    this.#all = [formerOf(state), ...this.#all].slice(0, MAX_KEPT_FORMER);
  }

  /** Adds an epoch that the cloud has never seen as the current one. Undefined if there are too many. */
  learn(state: FormerState): FormerRecord | undefined {
    if (this.#all.length >= MAX_KEPT_FORMER) return undefined;
    const former = formerOf(state);
    this.#all.push(former);
    return former;
  }

  /** Removes an epoch that has become the current one. */
  remove(epoch: string): void {
    this.#all = this.#all.filter((each) => each.epoch !== epoch);
  }
}

/** Accepts a connection's pending and later declarations of a former epoch. */
export function acceptDeclaration(former: FormerRecord, connection: string): void {
  former.trusted = connection;
  if (!former.declared) return;
  const { head, void: skipped, lost } = former.declared;
  former.declared = undefined;
  // The boat may not know of frames that it lost at the end of an epoch.
  former.headSeq = Math.max(former.headSeq, head);
  former.received.declare({ void: skipped, lost, end: head + 1 });
}

/** Beyond the limit the oldest ranges are requested again. */
function formerOf({ epoch, headSeq, received: found }: FormerState): FormerRecord {
  const kept = { ...found, durable: found.durable.slice(-FORMER_LIMITS.maxHeldRanges) };
  const received = new Received(kept, FORMER_LIMITS);
  return {
    epoch,
    // Its frames may be newer than what the boat had declared.
    headSeq: Math.max(headSeq, received.last),
    received,
    refused: undefined,
    trusted: undefined,
    declared: undefined,
  };
}

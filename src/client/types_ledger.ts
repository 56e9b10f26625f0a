/** Query for a ledger. */
export interface LedgerQuery {
  /** RFC 3339 text or a date; default 24 hours before the end. */
  from?: string | Date;
  /** Default now. */
  to?: string | Date;
}

/** What became of every frame and message of a time range. */
export interface BoatLedger {
  /** Times of the figures, RFC 3339: the range, widened to where counters are known; null: nothing is known. */
  from: string | null;
  /** See above. */
  to: string | null;
  /** True if every bus is closed. */
  closed: boolean;
  /** The buses. */
  buses: BusLedger[];
}

/** What became of the frames and messages of a bus. */
export interface BusLedger {
  /** Null: all buses together. */
  bus: string | null;
  /** Null: only the boat knows them. */
  frames: LedgerFrames | null;
  /** Messages. */
  messages: LedgerMessages;
  /** Times of which it is not known what came. */
  unknown: LedgerUnknown[];
  /** True if both sums are exact. */
  closed: boolean;
  /** By how much they are not. */
  off: { frames: number; messages: number };
}

/** received = dropped + incomplete + in_messages + waiting. */
export interface LedgerFrames {
  /** Counted by the kernel or the gateway, those that it dropped included. */
  received: number;
  /** Dropped there. */
  dropped: number;
  /** By reason. */
  incomplete: Record<string, number>;
  /** Frames of numbered messages. */
  in_messages: number;
  /** Frames that wait for the rest of their message at the end, less those at the start. */
  waiting: number;
}

/** numbered = recorded + missing. */
export interface LedgerMessages {
  /** Messages that have a number. */
  numbered: number;
  /** Messages in the journal; of a cloud, in its files. */
  recorded: number;
  /** By the cloud; null: nothing is replicated. */
  acknowledged: number | null;
  /** In the cloud's store; null: nothing is replicated. */
  stored: number | null;
  /** By reason. */
  missing: Record<string, number>;
}

/** A time of which it is not known what came. */
export interface LedgerUnknown {
  /** Begin, RFC 3339. */
  from: string;
  /** End, RFC 3339. */
  to: string;
  /** Why it is not known. */
  reason: string;
  /** Messages of this time that are recorded all the same. */
  recorded: number;
  /** Of them, those that the cloud has confirmed. */
  acknowledged: number | null;
  /** Of them, those in the cloud's store. */
  stored: number | null;
  /** Frames that the interface counted meanwhile; null: not known. */
  interface_frames: number | null;
}

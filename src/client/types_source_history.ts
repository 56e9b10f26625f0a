/** Query for the sources of quantities. */
export interface SourceHistoryQuery {
  /** Earliest time: RFC 3339 text or a date. */
  from: string | Date;
  /** Latest time; default now. */
  to?: string | Date;
  /** Keys of quantities, such as `depth`; default all. */
  quantities?: readonly string[];
}

/** A time in which a device gave a quantity, or was preferred for it. */
export interface SourceHistorySpan {
  /** RFC 3339. */
  from: string;
  /** RFC 3339. */
  to: string;
  /** Name of the bus. */
  bus: string;
  /** Source address. */
  src: number;
  /** NAME, 16 hex digits; empty while it was unknown. */
  name: string;
  /** Model, if it was known. */
  model?: string;
}

/** Which device gave each quantity when. */
export interface SourceHistoryReply {
  /** Since when changes are logged; null: nothing is logged yet. */
  since: string | null;
  /** By key. */
  quantities: {
    /** Key, such as `depth`. */
    quantity: string;
    /** When each device gave it; a pause of less than a minute is none. */
    spans: SourceHistorySpan[];
    /** Which of them was preferred: each next one is a switch. */
    preferred: SourceHistorySpan[];
  }[];
}

/** Something that is wrong on a bus. */
export interface NetworkFinding {
  /** For programs: `stuck_value`, `duplicate_name` … */
  kind: string;
  /** How bad it is. */
  severity: "critical" | "warning" | "info";
  /** Name of the bus. */
  bus: string;
  /** Source address of the device; left out: the bus as a whole, or one of the devices in the text. */
  src?: number;
  /** Its NAME, `0x` and 16 hex digits. */
  name?: string;
  /** PGN of the messages that show it. */
  pgn?: number;
  /** When the cause was first seen, RFC 3339. */
  since: string;
  /** When it was last seen. */
  last_seen: string;
  /** 0 to 1. */
  confidence: number;
  /** What is wrong, one sentence for people. */
  text: string;
  /** What to do about it. */
  advice: string;
  /** Up to three frames that show it. */
  frames: { epoch?: string; seq: number }[];
}

/** What is wrong on the buses, and how busy they are. */
export interface NetworkReport {
  /** The worst first. */
  findings: NetworkFinding[];
  /** Load of each bus, percent of 250 kbit/s. */
  buses: { bus: string; load_percent: number; peak_percent: number; peak_at?: string }[];
}

/**
 * Why frames never became a message. Each count is of unfinished messages, but for `malformed` and `unexpected`, which
 * count frames.
 */
export interface AssemblerDrops {
  /** No further fragment within 750 ms. */
  timeout: number;
  /** A later message with the same source, PGN and sequence counter showed up before the last one was whole. */
  replaced: number;
  /** Too many unfinished messages: the oldest made room. */
  overflow: number;
  /** A frame too short to be a fragment, or with a length that no fast packet can have. */
  malformed: number;
  /** A fragment with a number beyond the end of its message. */
  unexpected: number;
  /** ISO transport: the next packet did not come in time. */
  tp_timeout: number;
  /** ISO transport: the sender or receiver gave up, or began anew. */
  tp_aborted: number;
  /** ISO transport: a data packet out of turn, or without an announcement. */
  tp_unexpected: number;
}

/** Counts that start at zero. */
export function newDrops(): AssemblerDrops {
  return {
    timeout: 0,
    replaced: 0,
    overflow: 0,
    malformed: 0,
    unexpected: 0,
    tp_timeout: 0,
    tp_aborted: 0,
    tp_unexpected: 0,
  };
}

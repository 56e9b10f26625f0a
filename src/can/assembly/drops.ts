/**
 * Why frames were not reassembled. Each counter counts incomplete messages, except `malformed` and `unexpected`, which
 * count frames.
 */
export interface AssemblerDrops {
  /** No further fragment within 750 ms. */
  timeout: number;
  /** A later message with the same source, PGN and sequence counter began before the last one was complete. */
  replaced: number;
  /** Too many incomplete messages: the oldest one was given up. */
  overflow: number;
  /** A frame too short to be a fragment, or with an invalid length. */
  malformed: number;
  /** A fragment with an index beyond the end of its message. */
  unexpected: number;
  /** ISO transport: the next packet did not arrive in time. */
  tp_timeout: number;
  /** ISO transport: the sender or receiver aborted the session or restarted it. */
  tp_aborted: number;
  /** ISO transport: a data packet out of order or without a session. */
  tp_unexpected: number;
}

/** The same reasons, each counted in frames. */
export interface FrameDrops extends AssemblerDrops {
  /** ISO transport: frames that control a transfer and carry no data: clear to send, end of message, abort. */
  tp_control: number;
}

/** Creates counters of frames that start at zero. */
export function newFrameDrops(): FrameDrops {
  return { ...newDrops(), tp_control: 0 };
}

/** Creates counters that start at zero. */
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

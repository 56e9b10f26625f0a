/**
 * A frame with its sequence number, read from the ring or the journal. The reader owns the object and reuses it;
 * `data` is memory of the storage: copy what must outlive the next read.
 */
export interface StoredFrame {
  /** Sequence number. */
  seq: number;
  /** Time of reception, microseconds since 1970. */
  timeUs: number;
  /** 29-bit identifier. */
  id: number;
  /** PGN of `id`. */
  pgn: number;
  /** Index of the bus in the server's list of buses. */
  bus: number;
  /** Buffer that holds the payload at `offset`. */
  data: Uint8Array;
  /** Offset of the payload in `data`. */
  offset: number;
  /** Length of the payload, bytes. */
  length: number;
}

/** An empty frame to read into. */
export function newStoredFrame(): StoredFrame {
  return { seq: 0, timeUs: 0, id: 0, pgn: 0, bus: 0, data: new Uint8Array(0), offset: 0, length: 0 };
}

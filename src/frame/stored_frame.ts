/**
 * A numbered frame read back from where it is kept: the ring, or the journal. The reader owns the object and reuses it;
 * `data` is the store's own memory: copy what must outlive the next read.
 */
export interface StoredFrame {
  /** Sequence number. */
  seq: number;
  /** Time of reception, microseconds since 1970. */
  timeUs: number;
  /** 29-bit identifier. */
  id: number;
  /** Read from `id` once. */
  pgn: number;
  /** Index of the bus in the server's list of buses. */
  bus: number;
  /** Buffer that holds the payload at `offset`. */
  data: Uint8Array;
  /** Where in `data` the payload begins. */
  offset: number;
  /** Bytes of the payload. */
  length: number;
}

/** An empty frame to read into. */
export function newStoredFrame(): StoredFrame {
  return { seq: 0, timeUs: 0, id: 0, pgn: 0, bus: 0, data: new Uint8Array(0), offset: 0, length: 0 };
}

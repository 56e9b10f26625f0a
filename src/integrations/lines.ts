import type { ListenAddress } from "../base/mod.ts";

/** Where lines go: to clients that connect, or as datagrams to an address. */
export type LineTarget = { readonly protocol: "tcp" | "udp" } & ListenAddress;

/** Totals since the start. */
export interface LineCounters {
  /** Lines handed to the network, one for each receiver. */
  sent: number;
  /** Lines that a receiver did not get because it was too slow. */
  dropped: number;
  /** Connections refused because there were too many. */
  refused: number;
  /** Lines or parts of them that clients sent, and that were ignored. */
  ignored: number;
}

/** Lines, or records of a binary format, as bytes; made once for all receivers. */
export interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Length of each line or record, bytes. */
  readonly lengths: readonly number[];
}

import { errorText } from "../../base/mod.ts";

/** An open connection to a gateway: reads and writes bytes. */
export interface Link {
  /** Whether each piece consists of complete lines or messages. */
  readonly isDatagram: boolean;
  /** Pieces that were lost because they were not read in time. */
  readonly dropped: number;
  /** Reads the next piece, valid until the next call; undefined when the connection has ended. */
  read(): Promise<Uint8Array | undefined>;
  /**
   * Resolves when the system has accepted all bytes.
   *
   * @throws {Error} the connection is lost, or the bytes cannot be sent
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Closes the connection; a pending read or write ends within a second. Safe to call twice. */
  close(): void;
}

/**
 * Opens a link, until the signal aborts.
 *
 * @throws {Error} why it cannot be opened
 */
export type OpenLink = (signal: AbortSignal) => Promise<Link>;

/** Human-readable reason of an error. */
export function reasonOf(error: unknown): string {
  const message = errorText(error);
  return message.replace(/ \(os error \d+\)/, "");
}

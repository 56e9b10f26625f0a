import { errorText } from "../../base/mod.ts";

/** An open connection to a gateway: bytes there and back. */
export interface Link {
  /** Whether each piece is of whole lines or messages. */
  readonly isDatagram: boolean;
  /** Pieces that were lost because they were not read in time. */
  readonly dropped: number;
  /** The next piece, good until the next call; undefined when the other side, or `close`, has ended the connection. */
  read(): Promise<Uint8Array | undefined>;
  /**
   * Resolves when the system has taken all bytes.
   *
   * @throws {Error} the connection is lost, or the bytes cannot be sent
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the connection; a read or write under way ends within a second. Safe to call twice. */
  close(): void;
}

/**
 * Opens a link; gives up when the signal says so.
 *
 * @throws {Error} why it cannot be opened
 */
export type OpenLink = (signal: AbortSignal) => Promise<Link>;

/** The reason of an error, in words for a person. */
export function reasonOf(error: unknown): string {
  const message = errorText(error);
  return message.replace(/ \(os error \d+\)/, "");
}

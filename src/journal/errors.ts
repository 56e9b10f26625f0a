/**
 * Why bytes cannot be read as a journal.
 *
 * - `file-header`: no magic number, or truncated
 * - `version`, `block-size`, `compression`: the file header has an unknown version or compression, or an invalid block size
 * - `compressed`: the data does not decompress to exactly one block
 * - `size`: the size of a block differs from the one in the file header
 * - `checksum`: the CRC-32C of a block is wrong
 * - `device-table`: the table or one of its entries exceeds its region
 * - `frame-count`: more frames than fit into the block
 * - `frame`: a frame exceeds the frame region, or a varint is not terminated
 * - `time`, `sequence`: a number that JavaScript cannot represent exactly
 */
export type BlockErrorReason =
  | "file-header"
  | "version"
  | "block-size"
  | "compression"
  | "compressed"
  | "size"
  | "checksum"
  | "device-table"
  | "frame-count"
  | "frame"
  | "time"
  | "sequence";

/** Bytes that cannot be read as a journal. Readers throw no other error for the content of a file. */
export class BlockError extends Error {
  /** `BlockError`. */
  override readonly name = "BlockError";
  /** Cause, for programs. */
  readonly reason: BlockErrorReason;

  /** Creates an error. The message is for people, and contains the values that were found. */
  constructor(reason: BlockErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** A message is too large for any block of the configured size. */
export class OversizedMessageError extends Error {
  override readonly name = "OversizedMessageError";
}

/**
 * What is wrong with bytes that should be a journal's.
 *
 * - `file-header`: no magic number, or cut short
 * - `version`, `block-size`, `compression`: the file header names one that is not known, or a size that is not allowed
 * - `compressed`: not to be decompressed to exactly one block
 * - `size`: a block has not the size that the file names
 * - `checksum`: a block's CRC-32C does not fit its bytes
 * - `device-table`: the table or one of its entries leaves its region
 * - `frame-count`: more frames than the block has room for
 * - `frame`: a frame leaves the region of frames, or a varint does not end
 * - `time`, `sequence`: a number above what JavaScript holds exactly
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

/** Bytes that cannot be read as a journal's; nothing else is thrown for whatever a file holds. */
export class BlockError extends Error {
  /** The same for all of them. */
  override readonly name = "BlockError";
  /** What is wrong, for programs. */
  readonly reason: BlockErrorReason;

  /** `message` says it for people, with the values that were found. */
  constructor(reason: BlockErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** A message that fits into no block of this size. */
export class OversizedMessageError extends Error {
  override readonly name = "OversizedMessageError";
}

/**
 * - `away`: no answer, a time-out, or an answer that asks to try later (5xx, 429, disk full): another attempt may succeed
 * - `denied`: the credentials are unknown, wrong, expired, or not allowed to do this
 * - `missing`: the bucket, folder or key does not exist
 * - `damaged`: bytes do not match their length or checksum, on their way to the store or from it, or an
 *   answer is not that of a store; another attempt may succeed, but something on the way is wrong
 * - `unsuitable`: the store lacks something that this project relies on, or refuses the request for another reason
 */
export type StoreErrorKind = "away" | "denied" | "missing" | "damaged" | "unsuitable";

/** A call of an object store failed; the message names the action, the object, the store and the reason. */
export class StoreError extends Error {
  /** `StoreError`. */
  override name = "StoreError";
  /** What a caller can do about it. */
  readonly kind: StoreErrorKind;

  /**
   * Creates an error.
   *
   * @param message what failed, on what, why; without a full stop
   */
  constructor(message: string, { kind, cause }: { kind: StoreErrorKind; cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.kind = kind;
  }
}

/** Whether an error is a {@linkcode StoreError} of a kind. */
export function isStoreError(error: unknown, kind: StoreErrorKind): error is StoreError {
  return error instanceof StoreError && error.kind === kind;
}

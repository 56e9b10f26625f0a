/** A certificate cannot be obtained. The message says why. */
export class AcmeError extends Error {
  /** `AcmeError`. */
  override name = "AcmeError";
}

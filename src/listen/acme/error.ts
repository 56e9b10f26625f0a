/** A certificate that is not to be had. The message tells why. */
export class AcmeError extends Error {
  /** `AcmeError`. */
  override name = "AcmeError";
}

import { errorText, formatAddress, type ListenAddress } from "../base/mod.ts";

/** The server cannot listen on the configured address. */
export class ListenError extends Error {
  /** `ListenError`. */
  override name = "ListenError";
}

/** Wraps the error of a failed listen. */
export function listenError(address: ListenAddress, error: unknown): ListenError {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  const reason = isTaken ? "the port is taken" : errorText(error);
  return new ListenError(`Cannot listen on ${formatAddress(address)}: ${reason}`);
}

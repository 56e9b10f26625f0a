import { errorText, formatAddress, type ListenAddress } from "../base/mod.ts";

/** The server cannot listen where it was told to. */
export class ListenError extends Error {
  /** `ListenError`. */
  override name = "ListenError";
}

/** What kept a server from listening, in words. */
export function listenError(address: ListenAddress, error: unknown): ListenError {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  const reason = isTaken ? "the port is taken" : errorText(error);
  return new ListenError(`Cannot listen on ${formatAddress(address)}: ${reason}`);
}

import type { StallDetector } from "../base/mod.ts";

/** Where a server listens. */
export interface ListenAddress {
  /** Name or address; `0.0.0.0` is all of IPv4, `::` everything. */
  hostname: string;
  /** 0 takes any free port. */
  port: number;
}

/** The server cannot listen where it was told to. */
export class ListenError extends Error {
  /** `ListenError`. */
  override name = "ListenError";
}

/** A server that listens. */
export interface Listener {
  /** Where it really listens. */
  readonly address: ListenAddress;
  /** Takes no more connections and waits for the replies under way; end the streams first. */
  stop: () => Promise<void>;
}

/**
 * Listens for HTTP.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export function listen(
  { hostname, port }: ListenAddress,
  { handler, stall }: { handler: (request: Request) => Promise<Response>; stall: StallDetector },
): Listener {
  try {
    const server = Deno.serve({ hostname, port, onListen: () => {} }, (request) => {
      stall.mark("request");
      return handler(request);
    });
    const { addr } = server;
    return { address: { hostname: addr.hostname, port: addr.port }, stop: () => server.shutdown() };
  } catch (error) {
    const reason = error instanceof Deno.errors.AddrInUse ? "the port is taken" : String(error);
    throw new ListenError(`Cannot listen on ${hostname}:${port}: ${reason}`);
  }
}

import { ALL_ADDRESSES, formatAddress, type ListenAddress, type StallDetector } from "../base/mod.ts";

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
  const serve = (host: string) =>
    Deno.serve({ hostname: host, port, onListen: () => {} }, (request) => {
      stall.mark("request");
      return handler(request);
    });
  try {
    const server = hostname === ALL_ADDRESSES ? serveAll(serve) : serve(hostname);
    const { addr } = server;
    return { address: { hostname: addr.hostname, port: addr.port }, stop: () => server.shutdown() };
  } catch (error) {
    const reason = error instanceof Deno.errors.AddrInUse ? "the port is taken" : String(error);
    throw new ListenError(`Cannot listen on ${formatAddress({ hostname, port })}: ${reason}`);
  }
}

/** Both families; IPv4 alone where the machine has no IPv6. */
function serveAll<T>(serve: (hostname: string) => T): T {
  try {
    return serve(ALL_ADDRESSES);
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) throw error;
    return serve("0.0.0.0");
  }
}

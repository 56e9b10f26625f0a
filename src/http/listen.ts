import { ALL_ADDRESSES, errorText, formatAddress, type ListenAddress, type StallDetector } from "../base/mod.ts";

/** A client that reads nothing may hold up the stop for so long. */
const DRAIN_MS = 2000;

/** The server cannot listen where it was told to. */
export class ListenError extends Error {
  /** `ListenError`. */
  override name = "ListenError";
}

/** Answers a request; `from` is its client. */
export type Handler = (request: Request, from: ListenAddress) => Promise<Response>;

/** A server that listens. */
export interface Listener {
  /** Where it really listens. */
  readonly address: ListenAddress;
  /** Lets the replies under way end, for a short while, and closes all connections; end the streams first. */
  stop: () => Promise<void>;
}

/**
 * Listens for HTTP.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export function listen(
  { hostname, port }: ListenAddress,
  { handler, stall }: { handler: Handler; stall: StallDetector },
): Listener {
  const abort = new AbortController();
  const underWay = new Set<Promise<void>>();
  const serve = (host: string) =>
    Deno.serve(
      { hostname: host, port, signal: abort.signal, onListen: () => {} },
      (request, { completed, remoteAddr }) => {
        const done: Promise<void> = completed.catch(() => {}).finally(() => underWay.delete(done));
        underWay.add(done);
        return stall.run("request", () => handler(request, remoteOf(remoteAddr)));
      },
    );
  try {
    const server = hostname === ALL_ADDRESSES ? serveAll(serve) : serve(hostname);
    const { addr } = server;
    const stop = async () => {
      await drain(underWay);
      abort.abort();
      await server.finished;
    };
    return { address: { hostname: addr.hostname, port: addr.port }, stop };
  } catch (error) {
    throw listenError({ hostname, port }, error);
  }
}

/** What kept a server from listening, in words. */
export function listenError(address: ListenAddress, error: unknown): ListenError {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  const reason = isTaken ? "the port is taken" : errorText(error);
  return new ListenError(`Cannot listen on ${formatAddress(address)}: ${reason}`);
}

/** An IPv4 address that came in over IPv6, as IPv4: that is how people know it. */
export function remoteOf({ hostname, port }: ListenAddress): ListenAddress {
  return { hostname: hostname.replace(/^::ffff:(?=[\d.]+$)/, ""), port };
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

/** Waits until nothing is under way any more, or until the patience is over. */
async function drain(underWay: ReadonlySet<Promise<void>>): Promise<void> {
  const patience = Promise.withResolvers<void>();
  const timer = setTimeout(patience.resolve, DRAIN_MS);
  await Promise.race([Promise.all(underWay), patience.promise]);
  clearTimeout(timer);
}

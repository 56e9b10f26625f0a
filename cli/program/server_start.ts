import { BusError, ListenError } from "@vessel/gateway/boat";
import { ALL_ADDRESSES, formatAddress, type ListenAddress } from "@vessel/gateway/base";

/** Advice about errors of the start, by the end of their messages. */
const ADVICE: readonly (readonly [kind: typeof BusError | typeof ListenError, end: string, advice: string])[] = [
  [
    BusError,
    "no such interface",
    '"ip link" lists the interfaces, -demo needs none, a recording is given as a path: ./FILE',
  ],
  [ListenError, "the port is taken", "-port or -listen names another"],
];

/** The error with advice, if there is any. These two are the most frequent first errors. */
export function startAdvised(error: unknown): unknown {
  const known = ADVICE.find(([kind, end]) => error instanceof kind && error.message.endsWith(end));
  return known && error instanceof Error ? new Error(`${error.message}; ${known[2]}`, { cause: error }) : error;
}

/** URL of an address for a browser; `localhost` replaces the wildcard address. */
export function urlOf({ hostname, port }: ListenAddress, { tls = false }: { tls?: boolean } = {}): string {
  const isAny = hostname === ALL_ADDRESSES || hostname === "0.0.0.0";
  return `${tls ? "https" : "http"}://${formatAddress({ hostname: isAny ? "localhost" : hostname, port })}`;
}

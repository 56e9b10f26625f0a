import { BusError, ListenError } from "@vessel/gateway";

/** What to do about what keeps a server from starting, by the end of its message. */
const ADVICE: readonly (readonly [kind: typeof BusError | typeof ListenError, end: string, advice: string])[] = [
  [BusError, "no such interface", '"ip link" lists those there are, -demo needs none'],
  [ListenError, "the port is taken", "-port or -listen names another"],
];

/** The error with what to do about it, where that is known: both are most people's first. */
export function startAdvised(error: unknown): unknown {
  const known = ADVICE.find(([kind, end]) => error instanceof kind && error.message.endsWith(end));
  return known && error instanceof Error ? new Error(`${error.message}; ${known[2]}`, { cause: error }) : error;
}

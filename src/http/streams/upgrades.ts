import type { Socket } from "node:net";

/** The connection of a request that may be upgraded to a WebSocket. */
export interface Upgrade {
  socket: Socket;
  /** Bytes received after the request. */
  head: Uint8Array;
  /** Must be called when the WebSocket has closed: the connection itself does not report it. */
  closed: () => void;
}

const upgrades = new WeakMap<Request, Upgrade>();

/** Allows a request to be upgraded to a WebSocket. */
export function offerUpgrade(request: Request, upgrade: Upgrade): void {
  upgrades.set(request, upgrade);
}

/** The connection offered for a request, if any. */
export function upgradeOf(request: Request): Upgrade | undefined {
  return upgrades.get(request);
}

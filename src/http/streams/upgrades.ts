import type { Socket } from "node:net";

/** A connection that a request may have for a WebSocket. */
export interface Upgrade {
  socket: Socket;
  /** Bytes that came behind the request. */
  head: Uint8Array;
  /** To be called when the WebSocket has closed: the connection itself does not tell. */
  closed: () => void;
}

const upgrades = new WeakMap<Request, Upgrade>();

/** Lets a request become a WebSocket. */
export function offerUpgrade(request: Request, upgrade: Upgrade): void {
  upgrades.set(request, upgrade);
}

/** The connection of a request that asked for a WebSocket. */
export function upgradeOf(request: Request): Upgrade | undefined {
  return upgrades.get(request);
}

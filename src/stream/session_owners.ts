import type { Session } from "./session_state.ts";
import { type SessionClient, SessionError, type SessionLimits } from "./session_types.ts";

/** How many sessions had to go, or could not be made. */
export interface SessionFigures {
  /** Sessions that were never read and went before their time. */
  replaced: number;
  /** Sessions not made, by the limit that was reached. */
  refused: { owner: number; total: number };
}

/** Who has which sessions, slots not counted: by token, and by network where there is none. */
export class SessionOwners {
  readonly figures: SessionFigures = { replaced: 0, refused: { owner: 0, total: 0 } };
  /** By owner, each with the oldest session first. */
  readonly #owners = new Map<string, Set<Session>>();
  #count = 0;

  /** Sessions of all owners. */
  get count(): number {
    return this.#count;
  }

  /** A session was made, or has this owner from now on. */
  add(session: Session): void {
    const key = keyOf(session.owner, session.network);
    const sessions = this.#owners.get(key) ?? new Set();
    sessions.add(session);
    this.#owners.set(key, sessions);
    this.#count++;
  }

  /** A session is gone, or is about to have another owner. */
  delete(session: Session): void {
    const key = keyOf(session.owner, session.network);
    const sessions = this.#owners.get(key);
    if (!sessions?.delete(session)) return;
    this.#count--;
    if (sessions.size === 0) this.#owners.delete(key);
  }

  /**
   * Which session gives way to one more of this client; undefined: there is room. Where the client has reached its limit,
   * that is the oldest of its own that was never read.
   *
   * @throws {SessionError} `owner-full`: none gives way
   */
  oldestOwn(client: SessionClient, { maxSessionsPerOwner }: SessionLimits): Session | undefined {
    const own = this.#owners.get(keyOf(client.token, client.network));
    if (!own || own.size < maxSessionsPerOwner) return undefined;
    const oldest = oldestUnread(own);
    if (oldest) return oldest;
    this.figures.refused.owner++;
    const who = client.token === undefined ? client.network : `The token of "${client.token}"`;
    const why = `${who} has ${own.size} sessions, and each was read: delete one, or see -max-sessions-per-owner`;
    throw new SessionError("owner-full", why);
  }

  /**
   * Which session gives way to a new one of this client; undefined: there is room. Where all places are taken, it is the
   * oldest never read of the owner that has the most, if that owner then still has no fewer than the client: one that
   * comes by several tokens or networks cannot lock out the others.
   *
   * @throws {SessionError} `owner-full`, `full`: none gives way
   */
  giveWay(client: SessionClient, limits: SessionLimits): Session | undefined {
    const { maxSessions } = limits;
    const own = this.oldestOwn(client, limits);
    if (own || this.#count < maxSessions) return own;
    const ownCount = this.#owners.get(keyOf(client.token, client.network))?.size ?? 0;
    for (const sessions of [...this.#owners.values()].sort((a, b) => b.size - a.size)) {
      if (sessions.size <= ownCount + 1) break;
      const oldest = oldestUnread(sessions);
      if (oldest) return oldest;
    }
    this.figures.refused.total++;
    throw new SessionError("full", `All ${maxSessions} sessions are in use: see -max-sessions`);
  }
}

function keyOf(token: string | undefined, network = ""): string {
  return token === undefined ? `network ${network}` : `token ${token}`;
}

function oldestUnread(sessions: Iterable<Session>): Session | undefined {
  for (const session of sessions) if (!session.wasRead) return session;
  return undefined;
}

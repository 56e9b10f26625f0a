import { type Session, type SessionClient, SessionError, type SessionLimits } from "./session_types.ts";

/** Counts of replaced and refused sessions. */
export interface SessionFigures {
  /** Sessions that were never read and were removed early for a new one. */
  replaced: number;
  /** Sessions not created, by the limit that was reached. */
  refused: { owner: number; total: number };
}

/** Sessions by owner, without slots. The owner is a token, or a network for clients without a token. */
export class SessionOwners {
  readonly figures: SessionFigures = { replaced: 0, refused: { owner: 0, total: 0 } };
  /** By owner; the oldest session comes first. */
  readonly #owners = new Map<string, Set<Session>>();
  #count = 0;

  /** Adds a session under its owner. */
  add(session: Session): void {
    const key = keyOf(session.owner, session.network);
    const sessions = this.#owners.get(key) ?? new Set();
    sessions.add(session);
    this.#owners.set(key, sessions);
    this.#count++;
  }

  /** Removes a session. Call it before the owner changes. */
  delete(session: Session): void {
    const key = keyOf(session.owner, session.network);
    const sessions = this.#owners.get(key);
    if (!sessions?.delete(session)) return;
    this.#count--;
    if (sessions.size === 0) this.#owners.delete(key);
  }

  /**
   * Checks the limit of one client. When it is reached, returns the client's oldest session that was never read, to be
   * replaced; otherwise undefined.
   *
   * @throws {SessionError} `owner-full`: all its sessions have been read
   */
  ownSessionToReplace(client: SessionClient, { maxSessionsPerOwner }: SessionLimits): Session | undefined {
    const own = this.#owners.get(keyOf(client.token, client.network));
    if (!own || own.size < maxSessionsPerOwner) return undefined;
    const oldest = oldestUnread(own);
    if (oldest) return oldest;
    this.figures.refused.owner++;
    const owner = client.token === undefined ? client.network : `The token of "${client.token}"`;
    const why =
      `${owner} has ${own.size} sessions, and all have been read: delete one, or raise -max-sessions-per-owner`;
    throw new SessionError("owner-full", why);
  }

  /**
   * Checks both limits before a new session, and returns the session to replace; undefined: there is capacity. When the
   * total is reached, that is the oldest never-read session of the owner with the most sessions, provided that the owner
   * keeps at least as many as the client gets. So nobody can lock out the others by using several tokens or networks.
   *
   * @throws {SessionError} `owner-full`, `full`: no session can be replaced
   */
  sessionToReplace(client: SessionClient, limits: SessionLimits): Session | undefined {
    const { maxSessions } = limits;
    const own = this.ownSessionToReplace(client, limits);
    if (own || this.#count < maxSessions) return own;
    const ownCount = this.#owners.get(keyOf(client.token, client.network))?.size ?? 0;
    for (const sessions of [...this.#owners.values()].sort((a, b) => b.size - a.size)) {
      if (sessions.size <= ownCount + 1) break;
      const oldest = oldestUnread(sessions);
      if (oldest) return oldest;
    }
    this.figures.refused.total++;
    throw new SessionError("full", `All ${maxSessions} sessions are in use: delete one, or raise -max-sessions`);
  }
}

function keyOf(token: string | undefined, network = ""): string {
  return token === undefined ? `network ${network}` : `token ${token}`;
}

function oldestUnread(sessions: Iterable<Session>): Session | undefined {
  for (const session of sessions) if (!session.wasRead) return session;
  return undefined;
}

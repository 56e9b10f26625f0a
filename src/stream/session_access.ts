import type { Sessions } from "./sessions.ts";
import type { SessionStream } from "./session_stream.ts";
import {
  noSessionMessage,
  type SessionClient,
  SessionError,
  type SessionRequest,
  type SessionStreamOptions,
  type SessionView,
} from "./session_types.ts";

/**
 * The sessions that one client may use: its own, slots, and those without an owner. Sessions of other clients are reported
 * as missing. An admin may use all sessions.
 */
export class ClientSessions {
  readonly #sessions: Sessions;
  readonly #client: SessionClient;

  constructor(sessions: Sessions, client: SessionClient) {
    this.#sessions = sessions;
    this.#client = client;
  }

  /** As {@linkcode Sessions.put}. @throws {SessionError} `missing`: another client owns it; `full`, `owner-full` */
  put(id: string, request: SessionRequest): SessionView {
    this.#check(id, `Cannot use the id "${id}": choose another one`);
    return this.#sessions.put(id, { ...request, client: this.#client });
  }

  /** As {@linkcode Sessions.get}. @throws {SessionError} `missing` */
  get(id: string): SessionView {
    this.#check(id);
    return this.#sessions.get(id);
  }

  /** As {@linkcode Sessions.delete}. @throws {SessionError} `missing` */
  delete(id: string): void {
    this.#check(id);
    this.#sessions.delete(id);
  }

  /** As {@linkcode Sessions.ack}. @throws {SessionError} `missing`, `ahead` */
  async ack(id: string, seq: number): Promise<void> {
    this.#check(id);
    await this.#sessions.ack(id, seq);
  }

  /** As {@linkcode Sessions.checkReadable}. @throws {SessionError} `missing` @throws {FallenBehindError} */
  checkReadable(id: string): void {
    this.#check(id);
    this.#sessions.checkReadable(id);
  }

  /** As {@linkcode Sessions.stream}. @throws {SessionError} `missing` */
  stream(id: string, options: SessionStreamOptions): SessionStream {
    this.#check(id);
    return this.#sessions.stream(id, { ...options, reader: this.#client.token });
  }

  #check(id: string, why: string = noSessionMessage(id)): void {
    const owner = this.#sessions.ownerOf(id);
    const { token, isAdmin } = this.#client;
    if (owner !== undefined && owner !== token && !isAdmin) throw new SessionError("missing", why);
  }
}

import type { SessionStreamOptions } from "./session_options.ts";
import type { Sessions } from "./sessions.ts";
import type { SessionStream } from "./session_stream.ts";
import { noSession, type SessionClient, SessionError, type SessionView, type SessionWish } from "./session_types.ts";

/**
 * Sessions as one client may use them: its own, slots, and those of nobody. Another one's is not there for it; an admin
 * may use them all.
 */
export class ClientSessions {
  readonly #sessions: Sessions;
  readonly #client: SessionClient;

  constructor(sessions: Sessions, client: SessionClient) {
    this.#sessions = sessions;
    this.#client = client;
  }

  /** As {@linkcode Sessions.put}. @throws {SessionError} `missing`: it is another one's; `full`, `owner-full` */
  put(id: string, wish: SessionWish): SessionView {
    this.#check(id, `The id "${id}" cannot be used: choose another one`);
    return this.#sessions.put(id, { ...wish, client: this.#client });
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

  #check(id: string, why: string = noSession(id)): void {
    const owner = this.#sessions.ownerOf(id);
    const { token, isAdmin } = this.#client;
    if (owner !== undefined && owner !== token && !isAdmin) throw new SessionError("missing", why);
  }
}

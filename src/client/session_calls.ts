import { type Api, type OpenReply, pathPart } from "./api.ts";
import { isoDuration } from "./duration.ts";
import type { StreamSettings } from "./live_stream.ts";
import type { Filter } from "../filter/mod.ts";
import type { SessionInfo, SessionState } from "./types.ts";

/** How a session is made and read. */
export interface SessionOptions {
  /**
   * How long the server keeps the session while we are away: `PT5M`, `1h30m`. Left out: the session, or slot, is there
   * already, and stays as it is.
   */
  bufferTimeout?: string;
  /** Frames that it is for; default all. Only with `bufferTimeout`. */
  filter?: Filter;
  /** Adds `decoded` to each frame. */
  decode?: boolean;
  /**
   * `taken` (default): a frame is acknowledged some time after the next one was asked for, never before. `manual`: by
   * {@linkcode Session.ack} alone.
   */
  ack?: "taken" | "manual";
  /** Time between two acknowledgements, milliseconds, above 0; default 5000. */
  ackIntervalMs?: number;
  /** When frames that were not read are kept no longer: `throw` a FallenBehindError (default), or `skip` and tell them. */
  fallenBehind?: "throw" | "skip";
  /** Ends the reading with its reason. */
  signal?: AbortSignal;
}

/** Options with what was left out, and the client's own. */
export type SessionSettings =
  & Omit<SessionOptions, "signal">
  & Required<Pick<SessionOptions, "ack" | "ackIntervalMs" | "fallenBehind">>
  & StreamSettings;

/** Ends a call. */
export interface CallEnd {
  signal?: AbortSignal | undefined;
  /** It goes on when the client as a whole is ended. */
  isLast?: boolean;
  timeoutMs?: number;
}

/** What a server can be asked about one session. */
export class SessionCalls {
  readonly #api: Api;

  constructor(api: Api, id: string) {
    // Tells a server that is used by a public name over plain HTTP that no page asks. A browser sets its own instead.
    this.#api = api.at(`/clients/${pathPart(id)}`, { headers: { "Sec-Fetch-Site": "none" } });
  }

  async put({ bufferTimeout, filter }: SessionSettings, end: CallEnd): Promise<SessionInfo> {
    const body = { buffer_timeout: bufferTimeout && isoDuration(bufferTimeout), ...(filter && { filter }) };
    return await this.#api.json<SessionInfo>("", { ...end, method: "PUT", body });
  }

  async state(end: CallEnd): Promise<SessionState> {
    return await this.#api.json<SessionState>("", end);
  }

  async ack(seq: number, end: CallEnd): Promise<void> {
    await this.#api.done("/ack", { ...end, method: "PUT", body: { seq } });
  }

  async delete(end: CallEnd): Promise<void> {
    await this.#api.done("", { ...end, method: "DELETE" });
  }

  async open({ decode }: SessionSettings, end: CallEnd): Promise<OpenReply> {
    return await this.#api.open("/events", { ...end, query: { decode } });
  }
}

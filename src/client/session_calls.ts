import { type Api, type ApiRequest, isoDuration, type OpenReply, pathPart } from "./api.ts";

import type { StreamSettings } from "./live_stream.ts";
import type { Filter } from "../filter/mod.ts";
import type { SessionInfo, SessionState } from "./types.ts";

/** Options of a session. */
export interface SessionOptions {
  /**
   * How long the server keeps the session of a disconnected client: `PT5M`, `1h30m`. Default: the session or slot must
   * exist and is not changed.
   */
  bufferTimeout?: string;
  /** Filter of the frames; default all. Only with `bufferTimeout`. */
  filter?: Filter;
  /** Adds `decoded` to each frame. */
  decode?: boolean;
  /**
   * `taken` (default): frames are acknowledged automatically, each after the next one was requested. `manual`: only by
   * {@linkcode Session.ack}.
   */
  ack?: "taken" | "manual";
  /** Interval of automatic acknowledgements, milliseconds, above 0; default 5000. */
  ackIntervalMs?: number;
  /**
   * When the server no longer has the next frames: `throw` a FallenBehindError (default), or `skip` them with an event
   * `missed`.
   */
  fallenBehind?: "throw" | "skip";
  /** Aborts the session with the reason of the signal. */
  signal?: AbortSignal;
}

/** Options with defaults, and the settings of the client. */
export type SessionSettings =
  & Omit<SessionOptions, "signal">
  & Required<Pick<SessionOptions, "ack" | "ackIntervalMs" | "fallenBehind">>
  & StreamSettings;

/** Options of a request; see {@linkcode ApiRequest}. */
export type SessionCall = Pick<ApiRequest, "signal" | "isLast" | "timeoutMs">;

/** Requests for one session. */
export class SessionCalls {
  readonly #api: Api;

  constructor(api: Api, id: string) {
    // Tells a server with a public name and plain HTTP that the request is not from a web page. Browsers overwrite it.
    this.#api = api.at(`/clients/${pathPart(id)}`, { headers: { "Sec-Fetch-Site": "none" } });
  }

  async put({ bufferTimeout, filter }: SessionSettings, call: SessionCall): Promise<SessionInfo> {
    const body = { buffer_timeout: bufferTimeout && isoDuration(bufferTimeout), ...(filter && { filter }) };
    return await this.#api.json<SessionInfo>("", { ...call, method: "PUT", body });
  }

  async state(call: SessionCall): Promise<SessionState> {
    return await this.#api.json<SessionState>("", call);
  }

  async ack(seq: number, call: SessionCall): Promise<void> {
    await this.#api.done("/ack", { ...call, method: "PUT", body: { seq } });
  }

  async delete(call: SessionCall): Promise<void> {
    await this.#api.done("", { ...call, method: "DELETE" });
  }

  async open({ decode }: SessionSettings, call: SessionCall): Promise<OpenReply> {
    return await this.#api.open("/events", { ...call, query: { decode } });
  }
}

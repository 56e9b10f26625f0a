import assert from "node:assert/strict";
import { SseClient, type SseClientOptions } from "./sse_client.ts";
import type { Device } from "../../src/frame/mod.ts";

/** What PUT answers. */
export interface SessionReply {
  client_id: string;
  seq: number;
  cursor: number;
  devices: Device[];
  buffer_timeout: string;
  epoch?: string;
}

/** An error as a client sees it. */
export interface ProblemReply {
  type: string;
  title: string;
  status: number;
  detail: string;
  field?: string;
  parameter?: string;
  oldest_seq?: number;
}

/** A client's session on a server. */
export class SessionClient {
  readonly url: string;

  /** @param server address of the API */
  constructor(server: string, { id = "pilot" }: { id?: string } = {}) {
    this.url = `${server}/clients/${id}`;
  }

  /** Sends a body, made JSON unless it is text. */
  request(method: string, end: string, body?: unknown): Promise<Response> {
    const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
    return fetch(this.url + end, { method, ...(text !== undefined && { body: text }) });
  }

  /** Makes the session, or comes back to it. */
  async put(body: unknown = { buffer_timeout: "PT5M" }): Promise<SessionReply> {
    const response = await this.request("PUT", "", body);
    if (response.status !== 200) throw new Error(`PUT: ${response.status} ${await response.text()}`);
    return await response.json();
  }

  /** Acknowledges; gives the status. */
  async ack(seq: unknown): Promise<number> {
    const response = await this.request("PUT", "/ack", { seq });
    const text = await response.text();
    if (response.status === 204) assert.equal(text, "");
    return response.status;
  }

  /** Asks in vain; gives the problem, checked to be one. */
  async problem(method: string, end: string, body?: unknown): Promise<ProblemReply> {
    const response = await this.request(method, end, body);
    const problem: ProblemReply = await response.json();
    assert.equal(response.headers.get("Content-Type"), "application/problem+json");
    assert.equal(response.headers.get("Access-Control-Allow-Origin"), "*");
    assert.equal(problem.status, response.status);
    return problem;
  }

  /** Opens its stream. */
  events(query = "", options?: SseClientOptions): Promise<SseClient> {
    return SseClient.open(`${this.url}/events${query}`, options);
  }

  /** The cursor now. */
  async cursor(): Promise<number> {
    return (await (await this.request("GET", "")).json()).cursor;
  }
}

/** Numbers of frames. */
export function seqs(frames: readonly { seq: number }[]): number[] {
  return frames.map(({ seq }) => seq);
}

/** Whole numbers, both ends included. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

import type { Chunk } from "../../stream/mod.ts";

/** The connection to which a pushed body is written. */
export interface PushSink {
  /** Bytes written and not accepted by the kernel yet. */
  readonly bufferedBytes: number;
  /** Sends a chunk. Returns false when the connection's buffer is full: {@linkcode PushedBody.drained} follows. */
  write(chunk: Chunk): boolean;
  /** Ends the body. */
  end(): void;
}

/** A body that is written directly to the connection, without a `ReadableStream`. */
export interface PushedBody {
  /** The headers are sent. Called at most once. */
  start(sink: PushSink): void;
  /** The connection's buffer is empty again. */
  drained(): void;
  /** The connection has closed, or the request was a HEAD. */
  closed(): void;
}

const bodies = new WeakMap<Response, PushedBody>();

/** A reply with a pushed body. A copy of the `Response` loses the body. */
export function pushedResponse(body: PushedBody, headers: Readonly<Record<string, string>>): Response {
  const response = new Response(null, { headers });
  bodies.set(response, body);
  return response;
}

/** The pushed body of a reply. */
export function pushedBodyOf(response: Response): PushedBody | undefined {
  return bodies.get(response);
}

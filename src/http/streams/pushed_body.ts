import type { Chunk } from "../../stream/mod.ts";

/** The connection of a reply whose body the server pushes. */
export interface PushSink {
  /** Bytes written that the kernel has not taken yet. */
  readonly bufferedBytes: number;
  /** Sends a chunk. Returns false when the connection's buffer is full: {@linkcode PushedBody.drained} follows. */
  write(chunk: Chunk): boolean;
  /** Ends the body. */
  end(): void;
}

/** A body that is pushed: it is written to the connection as it comes, without a `ReadableStream` in between. */
export interface PushedBody {
  /** The headers are sent. Called at most once. */
  start(sink: PushSink): void;
  /** The connection's buffer is empty again. */
  drained(): void;
  /** The connection has closed, or the request wants no body. */
  closed(): void;
}

const bodies = new WeakMap<Response, PushedBody>();

/** A reply with a pushed body. Whoever copies the `Response` loses the body. */
export function pushedResponse(body: PushedBody, headers: Readonly<Record<string, string>>): Response {
  const response = new Response(null, { headers });
  bodies.set(response, body);
  return response;
}

/** The pushed body of a reply. */
export function pushedBodyOf(response: Response): PushedBody | undefined {
  return bodies.get(response);
}

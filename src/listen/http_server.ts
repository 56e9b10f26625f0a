import { Buffer } from "node:buffer";
import { type IncomingMessage, type OutgoingHttpHeaders, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { nextTick } from "node:process";
import { TLSSocket } from "node:tls";
import type { ListenAddress, Logger, StallDetector } from "../base/mod.ts";
import type { Chunk } from "../stream/mod.ts";
import type { Connection } from "./connections.ts";
import { type Loopback, openLoopback } from "./loopback.ts";
import { ApiError, offerUpgrade, problem, type PushedBody, pushedBodyOf, textOf } from "../http/mod.ts";

/** Answers a request; `from` is the client's address. */
export type Handler = (request: Request, from: ListenAddress) => Promise<Response>;

/** Options of {@linkcode HttpServer}. */
export interface HttpServerOptions {
  handler: Handler;
  stall: StallDetector;
  log: Logger;
}

/** Maximum time that a stop waits for replies. */
const DRAIN_MS = 2000;
/** Time to read the reply for a client that is still sending its body. */
const LINGER_MS = 1000;
/** Additional file descriptors of a WebSocket over TLS. */
const LOOPBACK_DESCRIPTORS = 2;
/** Methods for which the runtime creates no `Request`. */
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];
/** Statuses without a body and Content-Length. */
const BODILESS = [204, 304];

/**
 * HTTP/1.1 on connections accepted by a listener, plain or TLS.
 *
 * It uses `node:http` and not `Deno.serve`, which accepts connections itself, shows none before its first request, and
 * exits when file descriptors run out. At 2000 frames/s to 500 event streams both use half a core; over TLS `Deno.serve`
 * needs a second connection for each one, which costs twice the CPU time and three file descriptors.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  /** Its timeouts are off: `Connections` enforces them. */
  readonly #server = new Server({ headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });
  readonly #connections = new Map<Socket, Connection>();
  readonly #pendingReplies = new Set<Promise<void>>();

  constructor(options: HttpServerOptions) {
    this.#options = options;
    // If the server does not listen itself, the runtime closes every connection after one reply.
    Object.defineProperty(this.#server, "listening", { value: true });
    this.#server.on("request", (request: IncomingMessage, reply: ServerResponse) => this.#answer(request, reply));
    this.#server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Uint8Array) => {
      void this.#upgrade(request, { socket, head });
    });
  }

  /** Serves a connection. */
  accept(socket: Socket, connection: Connection): void {
    this.#connections.set(socket, connection);
    socket.once("close", () => this.#connections.delete(socket));
    socket.setNoDelay(true);
    if (!socket.isPaused()) return void this.#server.emit("connection", socket);
    // The runtime's server parses what arrives from now on, and does not look for bytes that were put back.
    const head: Uint8Array | null = socket.read();
    this.#server.emit("connection", socket);
    socket.resume();
    if (head) socket.emit("data", head);
  }

  /** Waits up to {@linkcode DRAIN_MS} for pending replies, then closes all connections. End the streams first. */
  async stop(): Promise<void> {
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, DRAIN_MS);
    await Promise.race([Promise.all(this.#pendingReplies), timeout.promise]);
    clearTimeout(timer);
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #answer(incoming: IncomingMessage, reply: ServerResponse): void {
    incoming.on("error", () => {});
    const connection = this.#connections.get(incoming.socket);
    if (!connection) return void incoming.socket.destroy();
    const activity = activityOf(connection);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pendingReplies.add(promise);
    const disconnected = new AbortController();
    reply.once("close", () => {
      activity.stop();
      if (!reply.writableFinished) disconnected.abort();
      this.#pendingReplies.delete(promise);
      resolve();
    });
    this.#respond(incoming, { connection, signal: disconnected.signal })
      .then((response) => send(response, { incoming, reply, activity }))
      .catch((error: unknown) => {
        this.#options.log.error("reply failed", { error: error instanceof Error ? error.stack ?? error.message : "" });
        incoming.socket.destroy();
      });
  }

  /** Hands the connection to a WebSocket. Other upgrade requests are answered as ordinary requests. */
  async #upgrade(incoming: IncomingMessage, { socket, head }: { socket: Socket; head: Uint8Array }): Promise<void> {
    const connection = this.#connections.get(socket);
    if (!connection) return void socket.destroy();
    const activity = activityOf(connection);
    let loopback: Loopback | undefined;
    try {
      const request = toRequest(incoming, { connection });
      loopback = socket instanceof TLSSocket ? await openLoopback(socket, head) : undefined;
      if (loopback) connection.grow(LOOPBACK_DESCRIPTORS);
      const plain = loopback ? { socket: loopback.inner, head: new Uint8Array() } : { socket, head };
      const closed = () => {
        activity.stop();
        loopback?.close();
        if (!loopback) connection.closed();
      };
      if (request instanceof Request) offerUpgrade(request, { ...plain, closed });
      const response = request instanceof Request ? await this.#handle(request, connection) : request;
      if (response.status === 101) return void (loopback || this.#connections.delete(socket));
      loopback?.detach();
      const reply = new ServerResponse(incoming);
      reply.shouldKeepAlive = false;
      reply.assignSocket(socket);
      reply.once("finish", () => socket.end());
      await send(response, { incoming, reply, activity });
    } catch (error) {
      this.#options.log.debug("upgrade failed", { error: String(error) });
      loopback?.close();
      socket.destroy();
    }
  }

  async #respond(incoming: IncomingMessage, options: RequestOptions): Promise<Response> {
    const request = toRequest(incoming, options);
    return request instanceof Request ? await this.#handle(request, options.connection) : request;
  }

  async #handle(request: Request, connection: Connection): Promise<Response> {
    const { handler, stall } = this.#options;
    const client = connection.clientOf(request.headers.get("X-Forwarded-For"));
    return await stall.run("request", () => handler(request, client));
  }
}

interface RequestOptions {
  connection: Connection;
  /** Aborted when the client disconnects before the reply is complete. */
  signal?: AbortSignal;
}

/**
 * Counts a request as active only while its client reads the reply: a client that does not read gets the same timeout as
 * an idle one. Streams are exempt; they have limits of their own.
 */
interface Activity {
  stop: () => void;
  go: () => void;
}

function activityOf(connection: Connection): Activity {
  let end = connection.begin();
  return { stop: () => end(), go: () => end = connection.begin() };
}

/** Converts a request for the handler, or returns the error reply to an invalid one. */
function toRequest(incoming: IncomingMessage, { connection, signal }: RequestOptions): Request | Response {
  const { method = "GET", rawHeaders, url = "/", socket } = incoming;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const forwarded = connection.isFromProxy ? headers.get("X-Forwarded-Proto") : null;
  const isSecure = forwarded === null ? socket instanceof TLSSocket : forwarded === "https";
  const scheme = isSecure ? "https" : "http";
  const full = /^https?:\/\//i.test(url) ? url : `${scheme}://${incoming.headers.host || "localhost"}${url}`;
  if (!URL.canParse(full)) return problem(new ApiError(400, "The Host header is not valid"));
  if (FORBIDDEN_METHODS.includes(method)) {
    return Object.defineProperty(new Request(full, { headers }), "method", { value: method });
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const body = hasBody && { body: bodyOf(incoming), duplex: "half" };
  return new Request(full, { method, headers, ...(signal && { signal }), ...body });
}

/** The request body, read on demand. Cancelling it leaves the connection open for the reply. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let isReading = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isReading) return void incoming.resume();
      isReading = true;
      incoming.on("data", (bytes: Uint8Array) => {
        controller.enqueue(bytes);
        incoming.pause();
      });
      incoming.once("end", () => controller.close());
      incoming.once("error", (error: unknown) => controller.error(error));
    },
    cancel() {
      incoming.removeAllListeners("data").removeAllListeners("end").removeAllListeners("error");
      incoming.on("error", () => {}).pause();
    },
  }, { highWaterMark: 0 });
}

/** Sends a reply with backpressure. */
async function send(
  response: Response,
  { incoming, reply, activity }: { incoming: IncomingMessage; reply: ServerResponse; activity: Activity },
): Promise<void> {
  const pushed = pushedBodyOf(response);
  if (pushed) return push(pushed, { response, incoming, reply });
  const text = textOf(response);
  const reader = text === undefined ? response.body?.getReader() : undefined;
  if (reader) reply.once("close", () => void reader.cancel().catch(() => {}));
  if (reply.destroyed || incoming.socket.destroyed) return void reader?.cancel().catch(() => {});
  const hasUnreadBody = !incoming.complete;
  if (hasUnreadBody) reply.shouldKeepAlive = false;
  const headers: OutgoingHttpHeaders = Object.fromEntries(response.headers);
  const isStream = `${headers["content-type"]}`.startsWith("text/event-stream");
  const body: Body = reader ? await begin(reader) : { all: text ?? NOTHING };
  const isHead = incoming.method === "HEAD";
  const length = body.all === undefined ? 0 : Buffer.byteLength(body.all);
  // Another node answers HEAD without a body: the length is in its header, or unknown.
  const isKnown = body.all !== undefined && !(isHead && length === 0);
  if (isKnown && !BODILESS.includes(response.status)) headers["content-length"] = length;
  reply.writeHead(response.status, headers);
  if (body.rest) reply.flushHeaders();
  if (isHead) await reader?.cancel();
  else if (body.rest) await copy(body.rest, { reply, activity: isStream ? undefined : activity });
  reply.end(isHead ? undefined : body.all);
  activity.stop();
  if (hasUnreadBody) linger(incoming);
}

/**
 * Sends the head of a reply and lets its body write to the connection. Bypassing `reply` saves a queue, a tick and a
 * `writev` of three parts per chunk: with 500 streams that was half of their CPU time.
 */
function push(
  body: PushedBody,
  { response, incoming, reply }: { response: Response; incoming: IncomingMessage; reply: ServerResponse },
): void {
  const { socket } = incoming;
  if (reply.destroyed || socket.destroyed) return body.closed();
  if (!incoming.complete) reply.shouldKeepAlive = false;
  reply.writeHead(response.status, Object.fromEntries(response.headers));
  if (incoming.method === "HEAD") {
    body.closed();
    return void reply.end();
  }
  const drained = () => body.drained();
  const closed = () => {
    socket.off("drain", drained).off("close", closed);
    body.closed();
  };
  const write = (chunk: Chunk) => {
    if (!socket.writable) return false;
    socket.write(reply.chunkedEncoding ? chunk.coded : chunk.data);
    return !socket.writableNeedDrain;
  };
  const start = () => {
    socket.on("drain", drained);
    body.start({
      get bufferedBytes() {
        return socket.writableLength;
      },
      write,
      end: () => void reply.end(),
    });
  };
  reply.once("close", closed);
  socket.once("close", closed);
  reply.flushHeaders();
  // The reply owns the connection once the replies to earlier requests and its own head are sent.
  if (reply.socket) start();
  else reply.once("socket", () => nextTick(start));
}

type Source = Pick<ReadableStreamDefaultReader<Uint8Array>, "read">;

/** A complete body, or a reader for the rest of it. */
type Body = { all: Uint8Array | string; rest?: undefined } | { rest: Source; all?: undefined };
const NOTHING = new Uint8Array();
/** Microtasks that a read of available data needs, with a margin. */
const TURNS = 8;

/** Determines whether the body is complete already: then it is sent with its length. */
async function begin(reader: Source): Promise<Body> {
  const first = reader.read();
  const chunk = await atOnce(first);
  if (chunk?.done) return { all: NOTHING };
  const second = chunk && reader.read();
  if (second && (await atOnce(second))?.done) return { all: chunk.value };
  const waiting = second ? [first, second] : [first];
  return { rest: { read: () => waiting.shift() ?? reader.read() } };
}

/** The value of a promise that resolves within some microtasks, else undefined. */
async function atOnce<T>(promise: Promise<T>): Promise<T | undefined> {
  let given: T | undefined;
  promise.then((value) => given = value, () => {});
  for (let turns = 0; turns < TURNS && given === undefined; turns++) await undefined;
  return given;
}

async function copy(
  reader: Source,
  { reply, activity }: { reply: ServerResponse; activity: Activity | undefined },
): Promise<void> {
  for (;;) {
    const { value, done } = await reader.read();
    if (done || reply.destroyed) return;
    if (reply.write(value)) continue;
    activity?.stop();
    await drained(reply);
    activity?.go();
  }
}

/** Resolves when the connection accepts data again or has closed. */
function drained(reply: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      reply.off("drain", done).off("close", done);
      resolve();
    };
    reply.on("drain", done).on("close", done);
  });
}

/** Delays closing for a client that is still sending: an immediate close would discard the reply. */
function linger(incoming: IncomingMessage): void {
  const { socket } = incoming;
  incoming.on("error", () => {}).resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

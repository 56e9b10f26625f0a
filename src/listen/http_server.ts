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

/** Answers a request; `from` is its client. */
export type Handler = (request: Request, from: ListenAddress) => Promise<Response>;

/** What answers HTTP on connections that others have accepted. */
export interface HttpServerOptions {
  handler: Handler;
  stall: StallDetector;
  log: Logger;
}

/** A client that reads nothing may hold up the stop for so long. */
const DRAIN_MS = 2000;
/** A client that still sends a body after its reply may read the reply for so long. */
const LINGER_MS = 1000;
/** Descriptors of a WebSocket over TLS beside its own. */
const LOOPBACK_DESCRIPTORS = 2;
/** Methods that the runtime makes no `Request` of. */
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];
/** Replies that have no body, and no length of one. */
const BODILESS = [204, 304];

/**
 * HTTP/1.1 on connections that others have accepted, plain or TLS.
 *
 * `node:http` and not `Deno.serve`: that one accepts by itself, shows no connection before its first request, and ends the
 * process where descriptors run out. Measured at 2000 frames/s to 500 event streams both take half a core; over TLS
 * `Deno.serve` needs another connection behind each one, which costs twice the CPU and three descriptors.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  /** Its own timeouts are off: `Connections` has them. */
  readonly #server = new Server({ headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });
  readonly #connections = new Map<Socket, Connection>();
  readonly #underWay = new Set<Promise<void>>();

  /** Answers nothing yet. */
  constructor(options: HttpServerOptions) {
    this.#options = options;
    // Of a server that does not listen itself the runtime ends every connection after one reply.
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
    this.#server.emit("connection", socket);
  }

  /** Lets the replies under way end, for a short while, and closes all connections; end the streams first. */
  async stop(): Promise<void> {
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, DRAIN_MS);
    await Promise.race([Promise.all(this.#underWay), patience.promise]);
    clearTimeout(timer);
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #answer(incoming: IncomingMessage, reply: ServerResponse): void {
    incoming.on("error", () => {});
    const pace = paceOf(this.#connections.get(incoming.socket));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay.add(promise);
    const gone = new AbortController();
    reply.once("close", () => {
      pace.stop();
      if (!reply.writableFinished) gone.abort();
      this.#underWay.delete(promise);
      resolve();
    });
    this.#respond(incoming, gone.signal).then((response) => send(response, { incoming, reply, pace })).catch(
      (error: unknown) => {
        this.#options.log.error("reply failed", { error: error instanceof Error ? error.stack ?? error.message : "" });
        incoming.socket.destroy();
      },
    );
  }

  /** A WebSocket gets the connection; every other request to upgrade is answered as if it were none. */
  async #upgrade(incoming: IncomingMessage, { socket, head }: { socket: Socket; head: Uint8Array }): Promise<void> {
    const connection = this.#connections.get(socket);
    const pace = paceOf(connection);
    let loopback: Loopback | undefined;
    try {
      const request = toRequest(incoming);
      loopback = socket instanceof TLSSocket ? await openLoopback(socket, head) : undefined;
      if (loopback) connection?.grow(LOOPBACK_DESCRIPTORS);
      const plain = loopback ? { socket: loopback.inner, head: new Uint8Array() } : { socket, head };
      const closed = () => {
        pace.stop();
        loopback?.close();
        if (!loopback) connection?.closed();
      };
      if (request instanceof Request) offerUpgrade(request, { ...plain, closed });
      const response = request instanceof Request ? await this.#handle(request, incoming) : request;
      if (response.status === 101) return void (loopback || this.#connections.delete(socket));
      loopback?.detach();
      const reply = new ServerResponse(incoming);
      reply.shouldKeepAlive = false;
      reply.assignSocket(socket);
      reply.once("finish", () => socket.end());
      await send(response, { incoming, reply, pace });
    } catch (error) {
      this.#options.log.debug("upgrade failed", { error: String(error) });
      loopback?.close();
      socket.destroy();
    }
  }

  /** @param signal aborted when the client goes before it has the reply */
  async #respond(incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
    const request = toRequest(incoming, signal);
    return request instanceof Request ? await this.#handle(request, incoming) : request;
  }

  async #handle(request: Request, { socket }: IncomingMessage): Promise<Response> {
    const { handler, stall } = this.#options;
    return await stall.run("request", () => handler(request, remoteOf(peerOf(socket))));
  }
}

/**
 * Whether a request is under way. It is not while the client takes nothing of its reply: whoever does not read must not
 * hold a connection for longer than whoever does not ask. Streams may; they have limits of their own.
 */
interface Pace {
  stop: () => void;
  go: () => void;
}

function paceOf(connection: Connection | undefined): Pace {
  let end = connection?.begin();
  return { stop: () => end?.(), go: () => end = connection?.begin() };
}

/** Where the other side of a connection is. */
export function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): ListenAddress {
  return { hostname: remoteAddress, port: remotePort };
}

/** An IPv4 address that came in over IPv6, as IPv4: that is how people know it. */
export function remoteOf({ hostname, port }: ListenAddress): ListenAddress {
  return { hostname: hostname.replace(/^::ffff:(?=[\d.]+$)/, ""), port };
}

/** The request as the handler gets it, or the reply to one that it cannot get. */
function toRequest(incoming: IncomingMessage, signal?: AbortSignal): Request | Response {
  const { method = "GET", rawHeaders, url = "/" } = incoming;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const full = /^https?:\/\//i.test(url) ? url : `http://${incoming.headers.host || "localhost"}${url}`;
  if (!URL.canParse(full)) return problem(new ApiError(400, "The Host header is not valid"));
  if (FORBIDDEN_METHODS.includes(method)) {
    return Object.defineProperty(new Request(full, { headers }), "method", { value: method });
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const body = hasBody && { body: bodyOf(incoming), duplex: "half" };
  return new Request(full, { method, headers, ...(signal && { signal }), ...body });
}

/** Reads no byte before it is asked to; cancelling it leaves the connection open for the reply. */
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

/** Sends a reply at the client's pace. */
async function send(
  response: Response,
  { incoming, reply, pace }: { incoming: IncomingMessage; reply: ServerResponse; pace: Pace },
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
  if (body.all !== undefined && !BODILESS.includes(response.status)) {
    headers["content-length"] = Buffer.byteLength(body.all);
  }
  reply.writeHead(response.status, headers);
  if (body.rest) reply.flushHeaders();
  const isHead = incoming.method === "HEAD";
  if (isHead) await reader?.cancel();
  else if (body.rest) await copy(body.rest, { reply, pace: isStream ? undefined : pace });
  reply.end(isHead ? undefined : body.all);
  pace.stop();
  if (hasUnreadBody) linger(incoming);
}

/**
 * Sends the head of a reply and lets its body write to the connection. Writing beside `reply` spares each chunk a queue, a
 * tick and a `writev` of three parts: with 500 streams that was half of the time that they took.
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
  // The connection is the reply's own once those to earlier requests on it are sent, and its head is.
  if (reply.socket) start();
  else reply.once("socket", () => nextTick(start));
}

/** What a body is read from. */
type Source = Pick<ReadableStreamDefaultReader<Uint8Array>, "read">;

/** A body of which all is known, or what is to come of it. */
type Body = { all: Uint8Array | string; rest?: undefined } | { rest: Source; all?: undefined };
const NOTHING = new Uint8Array();
/** Microtasks that a read of what is there takes, and some more. */
const TURNS = 8;

/** Finds out whether a body is all there already: then it is sent with its length. */
async function begin(reader: Source): Promise<Body> {
  const first = reader.read();
  const chunk = await atOnce(first);
  if (chunk?.done) return { all: NOTHING };
  const second = chunk && reader.read();
  if (second && (await atOnce(second))?.done) return { all: chunk.value };
  const waiting = second ? [first, second] : [first];
  return { rest: { read: () => waiting.shift() ?? reader.read() } };
}

/** What a promise gives, if it does so without anything else that has to come first. */
async function atOnce<T>(promise: Promise<T>): Promise<T | undefined> {
  let given: T | undefined;
  promise.then((value) => given = value, () => {});
  for (let turns = 0; turns < TURNS && given === undefined; turns++) await undefined;
  return given;
}

async function copy(
  reader: Source,
  { reply, pace }: { reply: ServerResponse; pace: Pace | undefined },
): Promise<void> {
  for (;;) {
    const { value, done } = await reader.read();
    if (done || reply.destroyed) return;
    if (reply.write(value)) continue;
    pace?.stop();
    await drained(reply);
    pace?.go();
  }
}

/** Resolves when there is room again, or nobody to write to. */
function drained(reply: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      reply.off("drain", done).off("close", done);
      resolve();
    };
    reply.on("drain", done).on("close", done);
  });
}

/** Lets a client that is still sending read the reply: closing at once would take it back. */
function linger(incoming: IncomingMessage): void {
  const { socket } = incoming;
  incoming.on("error", () => {}).resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

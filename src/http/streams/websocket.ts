import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import type { Batch, StreamClient, StreamMemory } from "../../stream/mod.ts";
import { ClientQueue, type Portion } from "./client_queue.ts";
import { ApiError } from "../reply.ts";
import { UnsentMessages } from "./unsent_messages.ts";
import { upgradeOf } from "./upgrades.ts";

/** Maximum size of a client's message; a longer one closes the connection. */
export const MAX_INBOUND_BYTES: number = 64 * 1024;
/** Protocol version (RFC 6455 §4.1). */
const WEBSOCKET_VERSION = "13";
/** Close code "message too big" (RFC 6455 §7.4.1). */
export const CLOSE_TOO_BIG = 1009;
/** Close code "policy violation": the client sends messages and does not read the replies. */
export const CLOSE_POLICY = 1008;
/** Close code "going away": the server stops. */
export const CLOSE_GOING_AWAY = 1001;
/** Ping interval, seconds; a client that does not answer a ping is disconnected. */
const PING_INTERVAL_S = 30;

/** Minimum number of messages in the socket's own queue, each of which has 1 KiB of overhead. */
export const MIN_WINDOW = 64;
/** Maximum number, while the client reads and memory is available: bursts are sent at once. */
const MAX_WINDOW = 8192;
/** Unsent messages at which a client that gets error replies is disconnected. */
export const MAX_UNREAD = 256;
/** Maximum frames still sent to a client when the server stops. */
const LAST_FRAMES = 1024;

/** Options of {@linkcode upgradeToStream}. */
export interface WebSocketOptions {
  /** Maximum bytes queued for a slow client. */
  bufferBytes: number;
  /** Memory budget of all streams. */
  memory: StreamMemory;
  /** Sends the client's messages on the bus; returns the reason of a refusal. */
  send: (data: unknown) => string | undefined;
  /** Called once when the socket is open. */
  opened: (client: StreamClient) => void;
  /** Called when the server disconnects the client. The connection may remain open until `closed`. */
  refused: () => void;
  /** Called once when it has closed. */
  closed: () => void;
}

/**
 * Checks that a request is a WebSocket handshake (RFC 6455 §4.2.1).
 *
 * @throws {ApiError} 426 if it is not; 400 if its key is invalid
 */
export function checkUpgrade(headers: Headers): void {
  const lists = (name: string, token: string) =>
    (headers.get(name) ?? "").toLowerCase().split(",").some((part) => part.trim() === token);
  const asked = lists("Upgrade", "websocket") && lists("Connection", "upgrade") &&
    headers.get("Sec-WebSocket-Version") === WEBSOCKET_VERSION;
  if (!asked) {
    throw new ApiError(426, "This path accepts only WebSocket connections", {
      headers: { "Upgrade": "websocket", "Sec-WebSocket-Version": WEBSOCKET_VERSION },
    });
  }
  if (!/^[a-z0-9+/]{22}==$/i.test(headers.get("Sec-WebSocket-Key") ?? "")) {
    throw new ApiError(400, "The header Sec-WebSocket-Key must be 16 bytes in base64");
  }
}

/** Upgrades a request. `closed` must be called when the WebSocket has closed. */
export function acceptSocket(
  request: Request,
): { socket: WebSocket; response: Response; closed: (() => void) | undefined } {
  const { closed, ...way } = upgradeOf(request) ?? {};
  return { ...Deno.upgradeWebSocket(request, { idleTimeout: PING_INTERVAL_S, ...way }), closed };
}

/** Upgrades a request. Both sides then use envelopes `{type, data}`. */
export function upgradeToStream(request: Request, options: WebSocketOptions): Response {
  const { socket, response, closed } = acceptSocket(request);
  const client = new SocketStream(socket, options);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => options.opened(client);
  socket.onmessage = ({ data }) => client.receive(data);
  socket.onclose = socket.onerror = () => {
    client.releaseMemory();
    options.closed();
    closed?.();
  };
  return response;
}

/** A client on a WebSocket. Frames that it does not read in time are dropped, counted and reported to it. */
class SocketStream implements StreamClient {
  readonly kind = "websocket";
  readonly #socket: WebSocket;
  readonly #refused: () => void;
  readonly #sendFor: (data: unknown) => string | undefined;
  readonly #queue: ClientQueue;
  readonly #bufferBytes: number;
  readonly #memory: StreamMemory;
  #unsent = new UnsentMessages();
  #window = MIN_WINDOW;
  /** Messages sent up to the last housekeeping. */
  #sentBefore = 0;

  constructor(socket: WebSocket, { bufferBytes, memory, refused, send }: WebSocketOptions) {
    this.#socket = socket;
    this.#bufferBytes = bufferBytes;
    this.#memory = memory;
    this.#refused = refused;
    this.#sendFor = send;
    this.#queue = new ClientQueue({ kind: this.kind, bufferBytes, memory });
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  get waitingBytes(): number {
    return this.#queue.bytes + (this.#isOpen ? this.#socket.bufferedAmount : 0);
  }

  /** 0, because unsent messages are counted in the memory budget directly. */
  readonly transportBytes = 0;

  get needsDrain(): boolean {
    return !this.#queue.isEmpty;
  }

  deliver(batch: Batch): number {
    const dropped = this.#queue.push(batch);
    this.drain();
    return dropped;
  }

  lost(dropped: SkippedFrames): void {
    this.#queue.lost(dropped);
  }

  device(event: DeviceEvent): void {
    this.#queue.device(event);
    this.drain();
  }

  /** A WebSocket has no events of sources. */
  source(): void {}

  drain(): boolean {
    if (!this.#isOpen || this.#queue.isEmpty) return false;
    const taken = this.#updateUnsent();
    let sent = 0;
    for (; this.#unsent.count < this.#window && this.#unsent.bytes < this.#bufferBytes; sent++) {
      const portion = this.#queue.take(1);
      if (portion === undefined) return sent > 0;
      this.#sendText(textOf(portion));
    }
    if (taken > 0) this.#window = this.#memory.isHalfFull ? MIN_WINDOW : Math.min(MAX_WINDOW, 2 * this.#window);
    return sent > 0;
  }

  shed(): number {
    return this.#queue.shed();
  }

  housekeeping(): void {
    this.#updateUnsent();
    if (this.#unsent.count > 0 && this.#unsent.sent === this.#sentBefore) this.#window = MIN_WINDOW;
    this.#sentBefore = this.#unsent.sent;
    this.drain();
  }

  end(): void {
    for (let left = LAST_FRAMES; left > 0 && !this.#queue.isEmpty; left--) this.#sendNext();
    this.#queue.shed();
    while (!this.#queue.isEmpty) this.#sendNext();
    this.#socket.close(CLOSE_GOING_AWAY, "the server stops");
  }

  /** Releases all memory after the connection has closed. */
  releaseMemory(): void {
    this.#queue.clear();
    this.#memory.add(-this.#unsent.memoryBytes);
    this.#unsent = new UnsentMessages();
  }

  /** Handles a message of the client. */
  receive(data: unknown): void {
    if (byteLength(data) > MAX_INBOUND_BYTES) return this.#close(CLOSE_TOO_BIG, "message too big");
    if (typeof data !== "string") return this.#refuse("messages must be JSON text");
    const envelope = readEnvelope(data);
    if (envelope === undefined) return this.#refuse("messages must be JSON objects with a type");
    const { type } = envelope;
    const reason = type === "send" ? this.#sendFor(envelope.data) : `unknown message type ${JSON.stringify(type)}`;
    if (reason !== undefined) this.#refuse(reason);
  }

  /** Replies with an error. */
  #refuse(reason: string): void {
    this.#updateUnsent();
    if (this.#unsent.count >= MAX_UNREAD) return this.#close(CLOSE_POLICY, "answers are not read");
    this.#sendText(JSON.stringify({ type: "error", data: reason }));
  }

  #close(code: number, reason: string): void {
    this.#refused();
    this.#socket.close(code, reason);
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  #sendNext(): void {
    const portion = this.#queue.take(1);
    if (portion !== undefined) this.#sendText(textOf(portion));
  }

  #sendText(text: string): void {
    if (!this.#isOpen) return;
    this.#memory.add(this.#unsent.add(text.length));
    this.#socket.send(text);
  }

  /** Returns the number of messages sent since the last call. */
  #updateUnsent(): number {
    const before = this.#unsent.memoryBytes;
    const sent = this.#unsent.update(this.#socket.bufferedAmount);
    this.#memory.add(this.#unsent.memoryBytes - before);
    return sent;
  }
}

function textOf(portion: Portion): string {
  if (portion.kind === "frames") return portion.batch.envelopes[portion.from] ?? "";
  return `{"type":"${portion.type}","data":${portion.text}}`;
}

/** Bytes of a message; Infinity for one that is too long, or of another kind. */
export function byteLength(data: unknown): number {
  if (data instanceof ArrayBuffer) return data.byteLength;
  if (typeof data !== "string") return Infinity;
  return data.length > MAX_INBOUND_BYTES ? Infinity : new TextEncoder().encode(data).length;
}

function readEnvelope(text: string): { type: string; data: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isEnvelope = typeof value === "object" && value !== null && "type" in value;
    if (!isEnvelope || typeof value.type !== "string") return undefined;
    return { type: value.type, data: "data" in value ? value.data : undefined };
  } catch {
    return undefined;
  }
}

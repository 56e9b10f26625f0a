import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import type { Batch, StreamClient, StreamMemory } from "../../stream/mod.ts";
import { ClientQueue, type Portion } from "./client_queue.ts";
import { ApiError } from "../reply.ts";
import { UnsentMessages } from "./unsent_messages.ts";
import { upgradeOf } from "./upgrades.ts";

/** A message longer than this closes the connection. */
export const MAX_INBOUND_BYTES: number = 64 * 1024;
/** The one version of the protocol (RFC 6455 §4.1). */
const WEBSOCKET_VERSION = "13";
/** Close code "message too big" (RFC 6455 §7.4.1). */
const CLOSE_TOO_BIG = 1009;
/** Close code "policy violation": the client asks and does not read the answers. */
const CLOSE_DEAF = 1008;
/** Close code "going away": the server stops. */
const CLOSE_GOING_AWAY = 1001;
/** Interval of the server's pings; a client that does not answer one is closed. */
const PING_INTERVAL_S = 30;

/** Messages that the socket holds before more waits in our own queue: each costs it a kilobyte besides its bytes … */
export const MIN_WINDOW = 64;
/** … and while the client reads and there is memory, so that bursts go out at once. */
const MAX_WINDOW = 8192;
/** Messages that it holds, answers included, before a client that does not read its answers is closed. */
export const MAX_UNREAD = 256;
/** Frames of a client that are still sent when the server stops. */
const LAST_FRAMES = 1024;

/** How a WebSocket behaves. */
export interface WebSocketOptions {
  /** Most bytes that wait for a client that reads too slowly. */
  bufferBytes: number;
  /** The budget of all streams. */
  memory: StreamMemory;
  /** Sends what the client wants sent; gives the reason when it may not be. */
  send: (data: unknown) => string | undefined;
  /** Called once when the socket is open. */
  opened: (client: StreamClient) => void;
  /** Called when the server wants no more of the client. Its connection is there until `closed`, however long that is. */
  refused: () => void;
  /** Called once when it has closed. */
  closed: () => void;
}

/**
 * Checks that a request asks for a WebSocket as RFC 6455 §4.2.1 wants it.
 *
 * @throws {ApiError} 426 when it asks for something else, 400 when its key is none
 */
export function checkUpgrade(headers: Headers): void {
  const lists = (name: string, token: string) =>
    (headers.get(name) ?? "").toLowerCase().split(",").some((part) => part.trim() === token);
  const asked = lists("Upgrade", "websocket") && lists("Connection", "upgrade") &&
    headers.get("Sec-WebSocket-Version") === WEBSOCKET_VERSION;
  if (!asked) {
    throw new ApiError(426, "This path speaks WebSocket only", {
      headers: { "Upgrade": "websocket", "Sec-WebSocket-Version": WEBSOCKET_VERSION },
    });
  }
  if (!/^[a-z0-9+/]{22}==$/i.test(headers.get("Sec-WebSocket-Key") ?? "")) {
    throw new ApiError(400, "The header Sec-WebSocket-Key must be 16 bytes in base64");
  }
}

/** Upgrades a request; the client then speaks in envelopes `{type, data}`. */
export function upgradeToStream(request: Request, options: WebSocketOptions): Response {
  const { closed, ...way } = upgradeOf(request) ?? {};
  const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: PING_INTERVAL_S, ...way });
  const client = new SocketStream(socket, options);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => options.opened(client);
  socket.onmessage = ({ data }) => client.receive(data);
  socket.onclose = socket.onerror = () => {
    client.forget();
    options.closed();
    closed?.();
  };
  return response;
}

/** A client on a WebSocket. What it cannot take in time is dropped, counted and told. */
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
  /** Messages sent as of the last housekeeping. */
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

  /** They are counted when they come and go. */
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

  /** Gives the queue back: the connection has gone. */
  forget(): void {
    this.#queue.clear();
    this.#memory.add(-this.#unsent.memoryBytes);
    this.#unsent = new UnsentMessages();
  }

  /** Takes a message of the client. */
  receive(data: unknown): void {
    if (byteLength(data) > MAX_INBOUND_BYTES) return this.#close(CLOSE_TOO_BIG, "message too big");
    if (typeof data !== "string") return this.#refuse("messages must be JSON text");
    const envelope = readEnvelope(data);
    if (envelope === undefined) return this.#refuse("messages must be JSON objects with a type");
    const { type } = envelope;
    const reason = type === "send" ? this.#sendFor(envelope.data) : `unknown message type ${JSON.stringify(type)}`;
    if (reason !== undefined) this.#refuse(reason);
  }

  /** Answers a message that cannot be served. */
  #refuse(reason: string): void {
    this.#updateUnsent();
    if (this.#unsent.count >= MAX_UNREAD) return this.#close(CLOSE_DEAF, "answers are not read");
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

  /** Gives how many messages the socket has sent since the last look. */
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

function byteLength(data: unknown): number {
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

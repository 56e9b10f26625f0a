import type { DroppedFrames } from "../broker/mod.ts";
import type { DeviceEvent } from "../frame/mod.ts";
import { Backlog } from "./backlog.ts";
import type { Batch } from "./batch.ts";
import { ApiError } from "./reply.ts";
import type { StreamClient } from "./stream_hub.ts";
import { upgradeOf } from "./upgrades.ts";

/** A message longer than this closes the connection. */
const MAX_INBOUND_BYTES = 64 * 1024;
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

/** How a WebSocket behaves. */
export interface WebSocketOptions {
  /** Most bytes that wait for a client that reads too slowly. */
  bufferBytes: number;
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
    options.closed();
    closed?.();
  };
  return response;
}

/** A client on a WebSocket. What it cannot take in time is dropped, counted and told. */
class SocketStream implements StreamClient {
  readonly kind = "websocket";
  readonly #socket: WebSocket;
  readonly #bufferBytes: number;
  readonly #refused: () => void;
  readonly #sendFor: (data: unknown) => string | undefined;
  readonly #backlog = new Backlog();

  constructor(socket: WebSocket, { bufferBytes, refused, send }: WebSocketOptions) {
    this.#socket = socket;
    this.#bufferBytes = bufferBytes;
    this.#refused = refused;
    this.#sendFor = send;
  }

  get waitingBytes(): number {
    return this.#socket.readyState === WebSocket.OPEN ? this.#socket.bufferedAmount : 0;
  }

  deliver(batch: Batch): number {
    if (!this.#hasRoom()) return this.#backlog.missed(batch);
    this.#tellBacklog();
    for (const envelope of batch.envelopes) this.#socket.send(envelope);
    return 0;
  }

  lost(dropped: DroppedFrames): void {
    this.#backlog.dropped(dropped);
  }

  device(event: DeviceEvent): void {
    this.#backlog.device(event);
    this.housekeeping();
  }

  housekeeping(): void {
    if (this.#hasRoom()) this.#tellBacklog();
  }

  end(): void {
    this.#tellBacklog();
    this.#socket.close(CLOSE_GOING_AWAY, "the server stops");
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

  /** Answers a message that cannot be served. Answers have as much room again as frames have, and no more. */
  #refuse(reason: string): void {
    if (this.#socket.bufferedAmount < 2 * this.#bufferBytes) return this.#send("error", reason);
    this.#close(CLOSE_DEAF, "answers are not read");
  }

  #close(code: number, reason: string): void {
    this.#refused();
    this.#socket.close(code, reason);
  }

  #hasRoom(): boolean {
    return this.#socket.readyState === WebSocket.OPEN && this.#socket.bufferedAmount < this.#bufferBytes;
  }

  #tellBacklog(): void {
    for (const { type, data } of this.#backlog.take()) this.#send(type, data);
  }

  #send(type: string, data: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type, data }));
  }
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

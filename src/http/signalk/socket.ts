import type { Clock } from "../../base/mod.ts";
import type { StreamMemory } from "../../stream/mod.ts";
import { UnsentMessages } from "../streams/unsent_messages.ts";
import {
  acceptSocket,
  byteLength,
  CLOSE_GOING_AWAY,
  CLOSE_POLICY,
  CLOSE_TOO_BIG,
  MAX_INBOUND_BYTES,
} from "../streams/websocket.ts";

/** A slow client that reads nothing for this time is disconnected, milliseconds. */
export const STALLED_MS = 30_000;

/** Options of {@linkcode openDeltaSocket}. */
export interface DeltaSocketOptions {
  /** Address of the client. */
  address: string;
  /** Maximum bytes that wait for the client; beyond, it gets nothing until it has read them. */
  bufferBytes: number;
  /** Memory budget of all streams. */
  memory: StreamMemory;
  clock: Clock;
  /** Called once when the socket is open. */
  opened: (client: DeltaSocket) => void;
  /** Called with each message of the client. */
  received: (client: DeltaSocket, text: string) => void;
  /** Called once when it has closed. */
  closed: (client: DeltaSocket) => void;
}

/** Upgrades a request to a WebSocket for deltas. */
export function openDeltaSocket(request: Request, options: DeltaSocketOptions): Response {
  const { socket, response, closed } = acceptSocket(request);
  const client = new DeltaSocket(socket, options);
  socket.onopen = () => options.opened(client);
  socket.onmessage = ({ data }) => client.receive(data);
  socket.onclose = socket.onerror = () => {
    client.releaseMemory();
    options.closed(client);
    closed?.();
  };
  return response;
}

/** A client of the stream. When too much waits for it, it gets nothing until it has read, then the newest values. */
export class DeltaSocket {
  readonly address: string;
  readonly #socket: WebSocket;
  readonly #options: DeltaSocketOptions;
  #unsent = new UnsentMessages();
  /** Set while it is behind. */
  #behind: { dropped: number; sent: number; sinceMs: number } | undefined;

  constructor(socket: WebSocket, options: DeltaSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.address = options.address;
  }

  /** Whether it missed values. */
  get isBehind(): boolean {
    return this.#behind !== undefined;
  }

  /** Whether it has read what was sent. */
  get hasCaughtUp(): boolean {
    this.#update();
    return this.#unsent.count === 0 && !this.#options.memory.isFull;
  }

  /** Whether it is behind and has read nothing for {@linkcode STALLED_MS}. */
  isStalled(nowMs: number): boolean {
    const behind = this.#behind;
    if (!behind) return false;
    this.#update();
    // It has read everything, and memory is short because of others.
    if (this.#unsent.count === 0) return false;
    if (behind.sent !== this.#unsent.sent) Object.assign(behind, { sent: this.#unsent.sent, sinceMs: nowMs });
    return nowMs - behind.sinceMs > STALLED_MS;
  }

  /** Sends deltas, all or none; false: too much is waiting. */
  offer(texts: readonly string[]): boolean {
    if (this.#behind) return false;
    const { bufferBytes, memory, clock } = this.#options;
    if (this.#unsent.bytes > bufferBytes / 2) this.#update();
    if (this.#unsent.bytes > bufferBytes || memory.isFull) {
      this.#behind = { dropped: 0, sent: this.#unsent.sent, sinceMs: clock.monoMs() };
      return false;
    }
    for (const text of texts) this.send(text);
    return true;
  }

  /** Counts values that it did not get; returns their number. */
  drop(values: number): number {
    if (this.#behind) this.#behind.dropped += values;
    return values;
  }

  /** It is no longer behind; returns the number of values that it missed. */
  recover(): number {
    const dropped = this.#behind?.dropped ?? 0;
    this.#behind = undefined;
    return dropped;
  }

  /** Sends a text whatever is waiting. */
  send(text: string): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#options.memory.add(this.#unsent.add(text.length));
    this.#socket.send(text);
  }

  /** Handles a message of the client. */
  receive(data: unknown): void {
    if (byteLength(data) > MAX_INBOUND_BYTES) this.#close(CLOSE_TOO_BIG, "message too big");
    else if (typeof data === "string") this.#options.received(this, data);
  }

  /** Whether replies wait that the client does not read. */
  get isFull(): boolean {
    this.#update();
    return this.#unsent.bytes > this.#options.bufferBytes;
  }

  /** Disconnects a client that breaks the rules. */
  refuse(reason: string): void {
    this.#close(CLOSE_POLICY, reason);
  }

  /** Disconnects it because the server stops. */
  end(): void {
    this.#close(CLOSE_GOING_AWAY, "the server stops");
  }

  /** Releases all memory after the connection has closed. */
  releaseMemory(): void {
    this.#options.memory.add(-this.#unsent.memoryBytes);
    this.#unsent = new UnsentMessages();
  }

  #close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  #update(): void {
    const before = this.#unsent.memoryBytes;
    this.#unsent.update(this.#socket.readyState === WebSocket.OPEN ? this.#socket.bufferedAmount : 0);
    this.#options.memory.add(this.#unsent.memoryBytes - before);
  }
}

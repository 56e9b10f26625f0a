import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { errorText, type ListenAddress } from "../base/mod.ts";
import type { Chunk, LineCounters, LineTarget } from "./lines.ts";

/** Time between two attempts to open the socket, milliseconds. */
const RETRY_MS = 5000;

/** A socket that sends datagrams to one address, broadcast included. */
export class UdpPort {
  readonly target: LineTarget;
  readonly #counters: LineCounters;
  readonly #bufferBytes: number;
  readonly #datagramBytes: number;
  #socket: Socket | undefined;
  #isBound = false;
  #retryMs = -Infinity;
  /** The first one is being sent. */
  #queue: { bytes: Uint8Array; lines: number }[] = [];
  #waitingBytes = 0;
  problem: string | undefined;

  constructor(
    target: LineTarget,
    { counters, bufferBytes, datagramBytes }: { counters: LineCounters; bufferBytes: number; datagramBytes: number },
  ) {
    this.target = target;
    this.#counters = counters;
    this.#bufferBytes = bufferBytes;
    this.#datagramBytes = datagramBytes;
  }

  get address(): ListenAddress | undefined {
    return this.#isBound ? this.target : undefined;
  }

  open(nowMs: number): void {
    if (this.#socket || nowMs < this.#retryMs) return;
    this.#retryMs = nowMs + RETRY_MS;
    const socket = createSocket(isIPv6(this.target.hostname) ? "udp6" : "udp4");
    this.#socket = socket;
    socket.on("error", (error) => {
      if (this.#socket !== socket) return;
      this.problem = errorText(error);
      this.close();
    });
    socket.bind(0, () => {
      if (this.#socket !== socket) return;
      socket.setBroadcast(true);
      this.#isBound = true;
      this.problem = undefined;
      this.#sendNext();
    });
    socket.unref();
  }

  send({ bytes, lengths }: Chunk): void {
    let [from, to, lines] = [0, 0, 0];
    for (const length of lengths) {
      if (lines > 0 && to + length - from > this.#datagramBytes) {
        this.#sendLines(bytes.subarray(from, to), lines);
        [from, lines] = [to, 0];
      }
      to += length;
      lines++;
    }
    this.#sendLines(bytes.subarray(from, to), lines);
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isBound = false;
    this.#counters.dropped += this.#queue.reduce((sum, { lines }) => sum + lines, 0);
    this.#queue = [];
    this.#waitingBytes = 0;
    socket?.close();
  }

  #sendLines(bytes: Uint8Array, lines: number): void {
    if (lines === 0) return;
    if (!this.#socket || this.#waitingBytes + bytes.length > this.#bufferBytes) {
      this.#counters.dropped += lines;
      return;
    }
    this.#waitingBytes += bytes.length;
    this.#queue.push({ bytes, lines });
    if (this.#queue.length === 1) this.#sendNext();
  }

  /** Sends one datagram after the other: those handed over together may leave in another order. */
  #sendNext(): void {
    const [first] = this.#queue;
    const socket = this.#socket;
    if (!first || !socket || !this.#isBound) return;
    const { bytes, lines } = first;
    const { hostname, port } = this.target;
    socket.send(bytes, port, hostname, (error) => {
      if (this.#socket !== socket) return;
      this.#waitingBytes -= bytes.length;
      this.problem = error ? errorText(error) : undefined;
      if (error) this.#counters.dropped += lines;
      else this.#counters.sent += lines;
      this.#queue.shift();
      this.#sendNext();
    });
  }
}

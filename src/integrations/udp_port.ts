import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { errorText, type ListenAddress } from "../base/mod.ts";
import type { Chunk, LineCounters, LineTarget } from "./lines.ts";

/** A socket that sends datagrams to one address, broadcast included. */
export class UdpPort {
  readonly target: LineTarget;
  readonly #counters: LineCounters;
  readonly #bufferBytes: number;
  readonly #datagramBytes: number;
  #socket: Socket | undefined;
  #isBound = false;
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
    return this.#socket && this.target;
  }

  open(_nowMs: number): void {
    if (this.#socket) return;
    const socket = createSocket(isIPv6(this.target.hostname) ? "udp6" : "udp4");
    this.#socket = socket;
    socket.on("error", (error) => this.problem = errorText(error));
    socket.bind(0, () => {
      socket.setBroadcast(true);
      this.#isBound = true;
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
    this.#socket?.close();
    this.#socket = undefined;
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
    if (!first || !this.#socket || !this.#isBound) return;
    const { bytes, lines } = first;
    const { hostname, port } = this.target;
    this.#socket.send(bytes, port, hostname, (error) => {
      this.#waitingBytes -= bytes.length;
      this.problem = error ? errorText(error) : undefined;
      if (error) this.#counters.dropped += lines;
      else this.#counters.sent += lines;
      this.#queue.shift();
      this.#sendNext();
    });
  }
}

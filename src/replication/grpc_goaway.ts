import { Duplex } from "node:stream";
import type { Buffer } from "node:buffer";

/** Bytes with which a client begins: `PRI * HTTP/2.0` and what follows. */
const PREFACE_BYTES = 24;
/** Length u24, type u8, flags u8, stream u32. */
const FRAME_HEADER_BYTES = 9;
const GOAWAY = 7;

/** Takes the GOAWAY frames out of one direction of an HTTP/2 connection. Pure. */
export class GoawayFilter {
  /** Bytes that pass without being looked at: the preface, or what is left of a frame. */
  #passing: number;
  #dropping = 0;
  /** A header that has not come whole. */
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  #headerBytes = 0;

  /** @param options.hasPreface whether it comes from a client */
  constructor({ hasPreface }: { hasPreface: boolean }) {
    this.#passing = hasPreface ? PREFACE_BYTES : 0;
  }

  /** What of these bytes is to be passed on; views of them but for headers that came in pieces. */
  push(bytes: Uint8Array): Uint8Array[] {
    const passed: Uint8Array[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#passing > 0) {
        const count = Math.min(this.#passing, bytes.length - at);
        passed.push(bytes.subarray(at, at + count));
        this.#passing -= count;
        at += count;
      } else if (this.#dropping > 0) {
        const count = Math.min(this.#dropping, bytes.length - at);
        this.#dropping -= count;
        at += count;
      } else {
        this.#header[this.#headerBytes++] = bytes[at++] ?? 0;
        if (this.#headerBytes === FRAME_HEADER_BYTES) this.#begin(passed);
      }
    }
    return passed;
  }

  #begin(passed: Uint8Array[]): void {
    const [high = 0, middle = 0, low = 0, type] = this.#header;
    const length = (high << 16) | (middle << 8) | low;
    this.#headerBytes = 0;
    if (type === GOAWAY) {
      this.#dropping = length;
      return;
    }
    passed.push(this.#header.slice());
    this.#passing = length;
  }
}

/**
 * A client's connection on which no GOAWAY goes either way. The runtime's HTTP/2 ends the whole process when one comes on
 * a connection that has had streams (denoland/deno#36788), here or at a boat; that the other side has gone, the end of
 * the connection says as well.
 */
export function withoutGoaway(socket: Duplex): Duplex {
  const [incoming, outgoing] = [new GoawayFilter({ hasPreface: true }), new GoawayFilter({ hasPreface: false })];
  const duplex = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      const pieces = outgoing.push(chunk);
      const last = pieces.pop();
      if (last === undefined) return done();
      socket.cork();
      for (const piece of pieces) socket.write(piece);
      socket.write(last, done);
      socket.uncork();
    },
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (bytes: Uint8Array) => {
    let hasRoom = true;
    for (const piece of incoming.push(bytes)) hasRoom = duplex.push(piece);
    if (!hasRoom) socket.pause();
  });
  socket.on("end", () => duplex.push(null));
  socket.on("error", (error) => duplex.destroy(error));
  socket.on("close", () => duplex.destroy());
  return duplex;
}

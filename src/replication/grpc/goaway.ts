import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { ChannelCredentials } from "@grpc/grpc-js";

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
  #found = 0;

  /** @param options.hasPreface whether it comes from a client */
  constructor({ hasPreface }: { hasPreface: boolean }) {
    this.#passing = hasPreface ? PREFACE_BYTES : 0;
  }

  /** Frames that were taken out. */
  get found(): number {
    return this.#found;
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
      this.#found++;
      return;
    }
    passed.push(this.#header.slice());
    this.#passing = length;
  }
}

/** Which end of a connection a socket is, and what is to be done when the other one wants to end it. */
export interface GoawayOptions {
  side: "client" | "server";
  /** The other side has sent a GOAWAY. */
  onGoaway?: () => void;
}

/**
 * A connection on which no GOAWAY goes either way. The runtime's HTTP/2 ends the whole process when one comes on a
 * connection that has had streams (denoland/deno#36788), here or at the other side; that this has gone, the end of the
 * connection says as well.
 */
export function withoutGoaway(socket: Duplex, { side, onGoaway }: GoawayOptions): Duplex {
  const incoming = new GoawayFilter({ hasPreface: side === "server" });
  const outgoing = new GoawayFilter({ hasPreface: side === "client" });
  const duplex = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      const pieces = outgoing.push(chunk);
      const last = pieces.pop();
      if (last === undefined) return done();
      socket.cork();
      for (const piece of pieces) socket.write(piece);
      socket.write(last, (error) => done(error && lostConnection(error)));
      socket.uncork();
    },
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (bytes: Uint8Array) => {
    const before = incoming.found;
    let hasRoom = true;
    for (const piece of incoming.push(bytes)) hasRoom = duplex.push(piece);
    if (!hasRoom) socket.pause();
    if (incoming.found > before) onGoaway?.();
  });
  socket.on("end", () => duplex.push(null));
  socket.on("error", (error) => duplex.destroy(lostConnection(error)));
  socket.on("close", () => duplex.destroy());
  return duplex;
}

/** What the system says when a connection has gone, while writing or otherwise. */
const LOST_CODES = new Set(["EPIPE", "ECONNABORTED", "ENOTCONN", "ENETDOWN", "ENETUNREACH", "EHOSTUNREACH"]);

/** The same error as the one of a connection that was reset: of others the library says that the program is at fault. */
function lostConnection(error: Error): Error {
  const code: unknown = Reflect.get(error, "code");
  if (typeof code !== "string" || !LOST_CODES.has(code)) return error;
  return Object.assign(new Error(error.message, { cause: error }), { code: "ECONNRESET" });
}

/** What a server has said before its GOAWAY may take so long to be read, milliseconds. */
const GRACE_MS = 100;

/**
 * The same credentials, whose connections get no GOAWAY: `onGoaway` is told instead, and the connection ends soon after.
 */
export function withoutGoaways(credentials: ChannelCredentials, onGoaway: () => void): ChannelCredentials {
  const createConnector = credentials._createSecureConnector.bind(credentials);
  const guard = (socket: Socket) => {
    const guarded = withoutGoaway(socket, {
      side: "client",
      onGoaway: () => {
        onGoaway();
        const timer = setTimeout(() => guarded.destroy(), GRACE_MS);
        guarded.once("close", () => clearTimeout(timer));
      },
    });
    // The library decides whether a connection keeps the process alive.
    return Object.assign(guarded, { ref: () => socket.ref(), unref: () => socket.unref() });
  };
  return Object.assign(credentials, {
    _createSecureConnector: (...args: Parameters<typeof createConnector>) => {
      const connector = createConnector(...args);
      const connect = connector.connect.bind(connector);
      return Object.assign(connector, {
        connect: async (plain: Socket) => {
          const { socket, ...rest } = await connect(plain);
          return { ...rest, socket: guard(socket) };
        },
      });
    },
  });
}

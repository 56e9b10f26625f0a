import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { ChannelCredentials } from "@grpc/grpc-js";
import { property } from "./grpc.ts";

/** Length of the client preface, `PRI * HTTP/2.0` … */
const PREFACE_BYTES = 24;
/** Length u24, type u8, flags u8, stream u32. */
const FRAME_HEADER_BYTES = 9;
const GOAWAY = 7;

/** Removes the GOAWAY frames from one direction of an HTTP/2 connection. Pure. */
export class GoawayFilter {
  /** Bytes passed on without inspection: the rest of the preface or of a frame. */
  #passBytes: number;
  #dropBytes = 0;
  /** An incomplete frame header. */
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  #headerBytes = 0;
  #found = 0;

  /** @param options.hasPreface true for the direction from the client */
  constructor({ hasPreface }: { hasPreface: boolean }) {
    this.#passBytes = hasPreface ? PREFACE_BYTES : 0;
  }

  /** Number of removed frames. */
  get found(): number {
    return this.#found;
  }

  /** Returns the parts to pass on: views of `bytes`, and copies of frame headers. */
  push(bytes: Uint8Array): Uint8Array[] {
    const passed: Uint8Array[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#passBytes > 0) {
        const count = Math.min(this.#passBytes, bytes.length - at);
        passed.push(bytes.subarray(at, at + count));
        this.#passBytes -= count;
        at += count;
      } else if (this.#dropBytes > 0) {
        const count = Math.min(this.#dropBytes, bytes.length - at);
        this.#dropBytes -= count;
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
      this.#dropBytes = length;
      this.#found++;
      return;
    }
    passed.push(this.#header.slice());
    this.#passBytes = length;
  }
}

/** Options of {@linkcode withoutGoaway}. */
export interface GoawayOptions {
  side: "client" | "server";
  /** Called when the peer has sent a GOAWAY. */
  onGoaway?: () => void;
}

/**
 * Wraps a connection and removes GOAWAY frames in both directions. The runtime's HTTP/2 ends the whole process when a
 * GOAWAY arrives on a connection that has had streams (denoland/deno#36788), here or at the peer. The end of the
 * connection tells the peer the same.
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
      socket.write(last, (error) => done(error && asConnectionReset(error)));
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
  socket.on("error", (error) => duplex.destroy(asConnectionReset(error)));
  socket.on("close", () => duplex.destroy());
  return duplex;
}

/** Error codes of a lost connection. */
const CONNECTION_LOST_CODES = new Set(["EPIPE", "ECONNABORTED", "ENOTCONN", "ENETDOWN", "ENETUNREACH", "EHOSTUNREACH"]);

/** The error with code ECONNRESET: the library reports other codes as faults of the program. */
function asConnectionReset(error: Error): Error {
  const code = property(error, "code");
  if (typeof code !== "string" || !CONNECTION_LOST_CODES.has(code)) return error;
  return Object.assign(new Error(error.message, { cause: error }), { code: "ECONNRESET" });
}

/** Time to read what the server sent before its GOAWAY, milliseconds. */
const GRACE_MS = 100;

/**
 * Credentials whose connections hide GOAWAY frames: `onGoaway` is called instead, and the connection closes soon after.
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
    // The library decides with these whether a connection keeps the process alive.
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

import type { Buffer } from "node:buffer";
import {
  backfillStatusCodec,
  backfillUpstreamCodec,
  type Codec,
  liveStatusCodec,
  liveUpstreamCodec,
} from "../wire/codec.ts";
import type { BackfillStatus, BackfillUpstream, LiveStatus, LiveUpstream } from "../wire/messages.ts";
import { property, RpcError, toBuffer } from "./grpc.ts";
import { EventEmitter } from "node:events";
import type { Http2Session } from "node:http2";

/**
 * Receive window for a connection, bytes. The default of 64 KiB limits a link to 64 KiB per round trip: at 150 ms, to a
 * third of 10 Mbit/s. A stalled reader costs this much memory.
 */
export const RECEIVE_WINDOW_BYTES = 1024 * 1024;

const widened = new WeakSet<object>();

/**
 * Enlarges the receive window of the connection of an incoming call. The library has an option for clients only and
 * does not expose the connection, so this searches for it inside the call. If not found, the connection is slower but
 * correct.
 */
export function widenWindow(call: object): void {
  const session = sessionOf(call);
  if (!isSession(session) || widened.has(session)) return;
  widened.add(session);
  session.settings({ initialWindowSize: RECEIVE_WINDOW_BYTES });
  session.setLocalWindowSize(RECEIVE_WINDOW_BYTES);
}

/** Calls `done` when the HTTP/2 stream of a call closes; immediately if it is closed already or not found. */
export function onClose(call: object, done: () => void): void {
  const stream = streamOf(call);
  if (stream instanceof EventEmitter && property(stream, "destroyed") !== true) stream.once("close", done);
  else done();
}

/** Time for the peer to read the last answer, milliseconds. */
const GRACE_MS = 500;
const closing = new WeakSet<object>();

/** Resets a refused call and closes its connection after {@linkcode GRACE_MS}, so that the peer can read the answer. */
export function closeSoon(call: object): void {
  callMethod(streamOf(call), "close");
  const session = sessionOf(call);
  if (!(session instanceof EventEmitter) || closing.has(session)) return;
  closing.add(session);
  const timer = setTimeout(() => callMethod(session, "destroy"), GRACE_MS);
  session.once("close", () => clearTimeout(timer));
}

function callMethod(value: unknown, method: "close" | "destroy"): void {
  const work = property(value, method);
  if (typeof work === "function") work.call(value);
}

/** A property of the socket of an incoming call. */
export function socketProperty(call: object, name: string): unknown {
  return property(property(sessionOf(call), "socket"), name);
}

function sessionOf(call: object): unknown {
  return property(streamOf(call), "session");
}

/** The HTTP/2 stream of a call, also of one that is wrapped by interceptors. */
function streamOf(call: object): unknown {
  let base: unknown = property(call, "call") ?? call;
  for (let next = property(base, "nextCall"); next !== undefined; next = property(base, "nextCall")) base = next;
  return property(base, "stream");
}

function isSession(value: unknown): value is Pick<Http2Session, "settings" | "setLocalWindowSize"> & object {
  return typeof property(value, "settings") === "function" &&
    typeof property(value, "setLocalWindowSize") === "function";
}

/** Codecs of both directions of a stream. */
export interface StreamCodecs<In, Out> {
  incoming: Codec<In>;
  outgoing: Codec<Out>;
}

/** The live stream on the boat's side. */
export const LIVE: StreamCodecs<LiveStatus, LiveUpstream> = {
  incoming: liveStatusCodec,
  outgoing: liveUpstreamCodec,
};
/** The backfill stream on the boat's side. */
export const BACKFILL: StreamCodecs<BackfillStatus, BackfillUpstream> = {
  incoming: backfillStatusCodec,
  outgoing: backfillUpstreamCodec,
};

/** The same stream on the other side. */
export function otherSide<In, Out>({ incoming, outgoing }: StreamCodecs<In, Out>): StreamCodecs<Out, In> {
  return { incoming: outgoing, outgoing: incoming };
}

/** gRPC status code of success. */
const OK = 0;

/** The parts of the library's calls, of client or server, that a stream needs. */
export interface ByteCall {
  readonly writableNeedDrain: boolean;
  read(): Buffer | null;
  write(bytes: Buffer): boolean;
  end(): unknown;
  on(event: string, listener: (value: unknown) => void): unknown;
}

/**
 * One end of a bidirectional stream of messages. Incoming messages are read by iterating once; leaving the loop does
 * not end the stream. At most 16 messages wait unread; then the peer cannot send.
 */
export class MessageStream<In, Out> implements AsyncIterable<In> {
  readonly #call: ByteCall;
  readonly #codecs: StreamCodecs<In, Out>;
  readonly #abort = new AbortController();
  #failure: RpcError | undefined;
  #ended = false;
  #wake: PromiseWithResolvers<void> | undefined;

  /** Takes over a call of the library. `toError` converts its errors. */
  constructor(
    call: ByteCall,
    { toError, ...codecs }: StreamCodecs<In, Out> & { toError: (error: unknown) => RpcError },
  ) {
    this.#call = call;
    this.#codecs = codecs;
    const wake = () => this.#wakeUp();
    call.on("readable", wake);
    call.on("drain", wake);
    call.on("end", () => this.#endReading());
    call.on("error", (error) => this.fail(toError(error)));
    // Also emitted after a regular end, when nobody reads or sends any more.
    call.on("cancelled", () => this.fail(new RpcError("CANCELLED", "the other side has gone")));
    call.on("close", () => this.fail(new RpcError("CANCELLED", "the stream is over")));
    call.on("status", (status) => {
      if (property(status, "code") === OK) this.#endReading();
      this.fail(new RpcError("CANCELLED", "the other side has ended the stream"));
    });
  }

  /** Aborted when the stream can no longer send. The reason is the {@linkcode RpcError}. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Ends the stream locally: pending reads and sends fail with the error. Only the first call counts. */
  fail(error: RpcError): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#abort.abort(error);
    this.#wakeUp();
  }

  /**
   * Sends a message. Resolves when the next one can be sent; await it to limit memory.
   *
   * @throws {WireError} the message cannot be encoded; the stream stays open
   * @throws {RpcError} the stream is over
   */
  async send(message: Out): Promise<void> {
    const bytes = this.#codecs.outgoing.encode(message);
    if (this.#failure) throw this.#failure;
    if (this.#call.write(toBuffer(bytes))) return;
    while (this.#call.writableNeedDrain) {
      await this.#next();
      if (this.#failure) throw this.#failure;
    }
  }

  /** Ends the outgoing direction; incoming messages can still be read. */
  end(): void {
    if (!this.#failure) this.#call.end();
  }

  /**
   * Incoming messages until the peer ends the stream regularly.
   *
   * @throws {WireError} invalid message
   * @throws {RpcError} the stream has failed
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<In, void, undefined> {
    for (;;) {
      const bytes = this.#call.read();
      if (bytes) yield this.#codecs.incoming.decode(bytes);
      else if (this.#ended) return;
      else if (this.#failure) throw this.#failure;
      else await this.#next();
    }
  }

  /** An end after a failure does not count as regular: messages may be missing. */
  #endReading(): void {
    if (!this.#failure) this.#ended = true;
    this.#wakeUp();
  }

  #next(): Promise<void> {
    return (this.#wake ??= Promise.withResolvers()).promise;
  }

  #wakeUp(): void {
    this.#wake?.resolve();
    this.#wake = undefined;
  }
}

/** The live stream on the boat. */
export type BoatLiveStream = MessageStream<LiveStatus, LiveUpstream>;
/** The backfill stream on the boat. */
export type BoatBackfillStream = MessageStream<BackfillStatus, BackfillUpstream>;
/** The live stream on the cloud. */
export type CloudLiveStream = MessageStream<LiveUpstream, LiveStatus>;
/** The backfill stream on the cloud. */
export type CloudBackfillStream = MessageStream<BackfillUpstream, BackfillStatus>;

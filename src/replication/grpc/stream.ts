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

import type { Buffer } from "node:buffer";
import type { Codec } from "../wire/codec.ts";
import { RpcError, toBuffer } from "./grpc.ts";

/** How messages of both directions become bytes and back. */
export interface StreamCodecs<In, Out> {
  incoming: Codec<In>;
  outgoing: Codec<Out>;
}

/** Code of the status of a call that has ended well. */
const OK = 0;

/** What is used of a call of the library, a client's or a server's. */
export interface ByteCall {
  readonly writableNeedDrain: boolean;
  read(): Buffer | null;
  write(bytes: Buffer): boolean;
  end(): unknown;
  on(event: string, listener: (value: unknown) => void): unknown;
}

/**
 * One of the two ends of a stream of messages in both directions. What comes is read by iterating once; leaving the loop
 * does not end the stream. Not more than 16 messages wait unread: beyond that the sender has to wait.
 */
export class MessageStream<In, Out> implements AsyncIterable<In> {
  readonly #call: ByteCall;
  readonly #codecs: StreamCodecs<In, Out>;
  readonly #abort = new AbortController();
  #failure: RpcError | undefined;
  #ended = false;
  #wake: PromiseWithResolvers<void> | undefined;

  /** Takes over a call of the library. `toError` says what its errors are to us. */
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
    // Also heard after a regular end; then nobody is there to be told.
    call.on("cancelled", () => this.fail(new RpcError("CANCELLED", "the other side has gone")));
    call.on("close", () => this.fail(new RpcError("CANCELLED", "the stream is over")));
    call.on("status", (status) => {
      if (isGood(status)) this.#endReading();
      this.fail(new RpcError("CANCELLED", "the other side has ended the stream"));
    });
  }

  /** Aborted when nothing can be sent any more. Its reason is the {@linkcode RpcError}. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Ends the stream here: who reads or sends gets the error. Only the first call counts. */
  fail(error: RpcError): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#abort.abort(error);
    this.#wakeUp();
  }

  /**
   * Sends a message. Resolves when there is room for the next one: who does not wait fills the memory.
   *
   * @throws {WireError} the message cannot be written; the stream goes on
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

  /** Tells the other side that nothing more will come; what it sends can still be read. */
  end(): void {
    if (!this.#failure) this.#call.end();
  }

  /**
   * The messages that come, until the other side has ended regularly.
   *
   * @throws {WireError} what came is no message
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

  /** An end after a failure is none: nobody knows what is missing. */
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

function isGood(status: unknown): boolean {
  return (Object(status) as { code?: unknown }).code === OK;
}

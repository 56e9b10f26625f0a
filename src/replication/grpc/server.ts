import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { type PeerCertificate, TLSSocket } from "node:tls";
import type {
  ConnectionInjector,
  Metadata,
  Server,
  ServerDuplexStream,
  ServerInterceptingCallInterface,
  ServerInterceptor,
  ServerUnaryCall,
} from "@grpc/grpc-js";
import {
  backfillStatusCodec,
  backfillUpstreamCodec,
  handshakeRequestCodec,
  handshakeResponseCodec,
  liveStatusCodec,
  liveUpstreamCodec,
} from "../wire/codec.ts";
import { WireError } from "../wire/wire.ts";
import {
  type Grpc,
  INSTANCE_HEADER,
  type Keepalive,
  loadGrpc,
  methodsOf,
  RpcError,
  SERVICE_NAMES,
  type ServiceName,
  sharedOptions,
  toBuffer,
  toRpcError,
} from "./grpc.ts";
import type { Caller, ClientCertificate, Credentials } from "./identity.ts";
import { withoutGoaway } from "./goaway.ts";
import { MessageStream, type StreamCodecs } from "./stream.ts";
import { closeSoon, noteOf, onClose, widenWindow } from "./window.ts";
import type {
  BackfillStatus,
  BackfillUpstream,
  HandshakeRequest,
  HandshakeResponse,
  LiveStatus,
  LiveUpstream,
} from "../wire/messages.ts";

/**
 * What the cloud does when it is called. Who calls is known before it hears of a call. An {@linkcode RpcError} that it
 * throws is what the boat gets to know; a message that cannot be read is `INVALID_ARGUMENT`, everything else `INTERNAL`.
 */
export interface ReplicationService {
  handshake(request: HandshakeRequest, caller: Caller): Promise<HandshakeResponse>;
  /** The stream ends when this resolves. */
  live(stream: MessageStream<LiveUpstream, LiveStatus>, caller: Caller): Promise<void>;
  /** The stream ends when this resolves. */
  backfill(stream: MessageStream<BackfillUpstream, BackfillStatus>, caller: Caller): Promise<void>;
}

/** What a server is made of. */
export interface ReplicationServerOptions {
  service: ReplicationService;
  /**
   * Says which instance calls, or throws an {@linkcode RpcError}; asked before each call, also before a stream's first
   * message. {@linkcode identify} is the simplest one.
   */
  identify: (credentials: Credentials) => string;
  /** Told what a call has thrown that was no {@linkcode RpcError} and no {@linkcode WireError}. */
  onFault: (error: unknown) => void;
  /** Left out: {@linkcode SERVER_KEEPALIVE}. */
  keepalive?: Keepalive;
}

/** Called when a call begins; returns what is to be called when it is over. */
export type BeginCall = () => () => void;

/** A boat that has gone without a word is noticed within 40 s; while it lives, its own traffic says so. */
export const SERVER_KEEPALIVE: Keepalive = { timeMs: 30_000, timeoutMs: 10_000 };
/** A boat needs three calls at a time. */
export const MAX_CALLS_PER_CONNECTION = 16;

const LIVE = { incoming: liveUpstreamCodec, outgoing: liveStatusCodec };
const BACKFILL = { incoming: backfillUpstreamCodec, outgoing: backfillStatusCodec };

/** Answers the three calls on connections that others have accepted, under our service's name and the peer's. */
export class ReplicationServer {
  readonly #options: ReplicationServerOptions;
  readonly #grpc: Grpc;
  readonly #server: Server;
  readonly #injector: ConnectionInjector;
  readonly #streams = new Set<{ fail: (error: RpcError) => void }>();
  readonly #running = new Set<Promise<void>>();
  /** HTTP/2 streams of calls; each is gone when the other side has its status. */
  readonly #open = new Set<Promise<void>>();
  #isStopping = false;

  private constructor(grpc: Grpc, options: ReplicationServerOptions) {
    this.#options = options;
    this.#grpc = grpc;
    this.#server = new grpc.Server({
      ...sharedOptions(options.keepalive ?? SERVER_KEEPALIVE),
      "grpc.max_concurrent_streams": MAX_CALLS_PER_CONNECTION,
      interceptors: [this.#admit()],
    });
    for (const name of SERVICE_NAMES) this.#addService(name);
    this.#injector = this.#server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
  }

  /** Makes one, after loading what it needs. */
  static async create(options: ReplicationServerOptions): Promise<ReplicationServer> {
    return new ReplicationServer(await loadGrpc(), options);
  }

  /** Calls that are being answered. */
  get openCalls(): number {
    return this.#running.size;
  }

  /**
   * Serves a connection: a `TLSSocket` that has agreed on `h2`, or a plain one. `begin` is called for each call that is
   * let in, and what it returns when the call is over.
   *
   * The TLS server must ask for a certificate and name its authorities; whether it has refused connections without one
   * or left that to us makes no difference.
   */
  accept(socket: Duplex, begin: BeginCall = () => () => {}): void {
    if (this.#isStopping) {
      socket.destroy();
      return;
    }
    this.#injector.injectConnection(served(socket, begin));
  }

  /**
   * Ends all streams with `UNAVAILABLE`, waits for what is being answered, and until the other sides have read how their
   * calls ended, at most `graceMs`, and closes connections.
   */
  async stop({ graceMs }: { graceMs: number }): Promise<void> {
    this.#isStopping = true;
    for (const stream of this.#streams) stream.fail(stopping());
    const grace = Promise.withResolvers<void>();
    const timer = setTimeout(grace.resolve, graceMs);
    await Promise.race([Promise.allSettled(this.#running), grace.promise]);
    // A connection that is closed earlier takes statuses with it that have not left.
    await Promise.race([Promise.all(this.#open), grace.promise]);
    this.#injector.drain(0);
    this.#server.tryShutdown(() => grace.resolve());
    await grace.promise;
    clearTimeout(timer);
    this.#server.forceShutdown();
  }

  /** Evaluates a call at its headers: of one that is refused no message is read, and its connection is closed. */
  #admit(): ServerInterceptor {
    return (_method, call) =>
      new this.#grpc.ServerInterceptingCall(call, {
        start: (next) =>
          next({
            onReceiveMetadata: (metadata, nextMetadata) => {
              this.#track(call);
              try {
                this.#checkCertificate(call, metadata);
              } catch (error) {
                call.sendStatus(this.#statusOf(error));
                closeSoon(call);
                return;
              }
              const begin = noteOf(call, "begin");
              if (typeof begin === "function") onClose(call, begin());
              nextMetadata(metadata);
            },
          }),
      });
  }

  #track(call: ServerInterceptingCallInterface): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open.add(promise);
    onClose(call, () => {
      this.#open.delete(promise);
      resolve();
    });
  }

  #checkCertificate(call: ServerInterceptingCallInterface, metadata: Metadata): void {
    // Without TLS the id may come in the first message alone.
    if (noteOf(call, "isSecure") !== true) return;
    const [header] = metadata.get(INSTANCE_HEADER);
    const claimedId = header === undefined ? undefined : String(header);
    const certificate = certificateOf(noteOf(call, "peerCertificate"));
    this.#options.identify({ certificate, claimedId, address: call.getPeer() });
  }

  #addService(name: ServiceName): void {
    const { service } = this.#options;
    this.#server.addService(methodsOf(name), {
      handshake: (call: ServerUnaryCall<Buffer, Buffer>, reply: (error: object | null, bytes?: Buffer) => void) => {
        this.#run(async () => {
          const request = handshakeRequestCodec.decode(call.request);
          const response = await service.handshake(request, this.#callerOf(call, { name, claim: request.instanceId }));
          return handshakeResponseCodec.encode(response);
        }, { succeed: (bytes) => reply(null, toBuffer(bytes)), fail: (status) => reply(status) });
      },
      live: (call: ServerDuplexStream<Buffer, Buffer>) => {
        this.#stream(call, { name, codecs: LIVE, answer: (...args) => service.live(...args) });
      },
      backfill: (call: ServerDuplexStream<Buffer, Buffer>) => {
        this.#stream(call, { name, codecs: BACKFILL, answer: (...args) => service.backfill(...args) });
      },
    });
  }

  #stream<In, Out>(call: ServerDuplexStream<Buffer, Buffer>, { name, codecs, answer }: {
    name: ServiceName;
    codecs: StreamCodecs<In, Out>;
    answer: (stream: MessageStream<In, Out>, caller: Caller) => Promise<void>;
  }): void {
    const stream = new MessageStream(call, { ...codecs, toError: (error) => toRpcError(this.#grpc, error) });
    this.#streams.add(stream);
    this.#run(async () => {
      await answer(stream, this.#callerOf(call, { name }));
    }, {
      succeed: () => call.end(),
      // The library makes the status of a call's error, and ends the call.
      fail: (status) => call.emit("error", status),
    }, () => this.#streams.delete(stream));
  }

  /** Answers a call; whatever comes of it, the other side gets a status. */
  #run<T>(work: () => Promise<T>, { succeed, fail }: Reply<T>, done: () => void = () => {}): void {
    const answered = (this.#isStopping ? Promise.reject(stopping()) : work())
      .then(succeed)
      .catch((error: unknown) => fail(this.#statusOf(error)))
      .finally(() => {
        done();
        this.#running.delete(answered);
      });
    this.#running.add(answered);
  }

  #statusOf(error: unknown): Status {
    const { status } = this.#grpc;
    if (error instanceof RpcError) return { code: status[error.code], details: error.message };
    if (error instanceof WireError) return { code: status.INVALID_ARGUMENT, details: error.message };
    this.#options.onFault(error);
    return { code: status.INTERNAL, details: "the server has made a mistake" };
  }

  /** Who calls. Every call comes by here first. */
  #callerOf(call: ServerCall, { name, claim }: { name: ServiceName; claim?: string }): Caller {
    widenWindow(call);
    const certificate = certificateOf(noteOf(call, "peerCertificate"));
    const [header] = call.metadata.get(INSTANCE_HEADER);
    const claimedId = claim ?? (header === undefined ? undefined : String(header));
    const address = call.getPeer();
    return {
      instanceId: this.#options.identify({ certificate, claimedId, address }),
      certificate,
      address,
      service: name,
    };
  }
}

/** The connection as the library gets it, with what it and we ask of it later. */
function served(socket: Duplex, begin: BeginCall): Duplex {
  const { remoteAddress, remotePort, localAddress, localPort } = Object(socket);
  // Only what the TLS server has verified is a certificate.
  const isVerified = socket instanceof TLSSocket && socket.authorized;
  const peerCertificate = isVerified ? socket.getPeerCertificate(true) : undefined;
  return Object.assign(withoutGoaway(socket, { side: "server" }), {
    remoteAddress,
    remotePort,
    localAddress,
    localPort,
    peerCertificate,
    isSecure: socket instanceof TLSSocket,
    begin,
  });
}

type ServerCall = Pick<ServerUnaryCall<Buffer, Buffer>, "getPeer" | "metadata">;

/** What the library wants to know of a call that has failed. */
interface Status {
  code: number;
  details: string;
}

interface Reply<T> {
  succeed: (value: T) => void;
  fail: (status: Status) => void;
}

function stopping(): RpcError {
  return new RpcError("UNAVAILABLE", "the server is stopping");
}

function certificateOf(peer: unknown): ClientCertificate | undefined {
  if (!isCertificate(peer)) return undefined;
  const commonName: unknown = peer.subject?.CN;
  return {
    commonName: typeof commonName === "string" && commonName !== "" ? commonName : undefined,
    serialNumber: peer.serialNumber,
    fingerprint: peer.fingerprint256,
    peer,
  };
}

/** A connection without one has an object with nothing in it. */
function isCertificate(peer: unknown): peer is PeerCertificate {
  return typeof peer === "object" && peer !== null && "raw" in peer;
}

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
import type { ListenAddress } from "../../base/mod.ts";
import { handshakeRequestCodec, handshakeResponseCodec } from "../wire/codec.ts";
import { WireError } from "../wire/wire.ts";
import {
  type Grpc,
  INSTANCE_HEADER,
  type Keepalive,
  loadGrpc,
  methodsOf,
  property,
  RpcError,
  SERVICE_NAMES,
  type ServiceName,
  sharedOptions,
  toBuffer,
  toRpcError,
} from "./grpc.ts";
import type { Caller, ClientCertificate, Credentials } from "./identity.ts";
import { withoutGoaway } from "./goaway.ts";
import {
  BACKFILL,
  closeSoon,
  type CloudBackfillStream,
  type CloudLiveStream,
  LIVE,
  MessageStream,
  onClose,
  otherSide,
  socketProperty,
  type StreamCodecs,
  widenWindow,
} from "./stream.ts";
import type { HandshakeRequest, HandshakeResponse } from "../wire/messages.ts";

/**
 * The cloud's implementation of the calls. Callers are identified before a call reaches it. A boat receives a thrown
 * {@linkcode RpcError} as it is, an invalid message as `INVALID_ARGUMENT` and any other error as `INTERNAL`.
 */
export interface ReplicationService {
  handshake(request: HandshakeRequest, caller: Caller): Promise<HandshakeResponse>;
  /** The stream ends when this resolves. */
  live(stream: CloudLiveStream, caller: Caller): Promise<void>;
  /** The stream ends when this resolves. */
  backfill(stream: CloudBackfillStream, caller: Caller): Promise<void>;
}

/** Options of {@linkcode ReplicationServer.create}. */
export interface ReplicationServerOptions {
  service: ReplicationService;
  /**
   * Returns the id of the calling instance, or throws an {@linkcode RpcError}. Called before each call, and before the
   * first message of a stream. The simplest one is {@linkcode identify}.
   */
  identify: (credentials: Credentials) => string;
  /** Called with errors of a call other than {@linkcode RpcError} and {@linkcode WireError}. */
  onFault: (error: unknown) => void;
  /** Default {@linkcode SERVER_KEEPALIVE}. */
  keepalive?: Keepalive;
}

/** Called at the begin of a call; the returned function is called at its end. */
export type BeginCall = () => () => void;

/** What a listener knows of a connection. */
export interface AcceptedConnection {
  /** Called for each admitted call. */
  begin?: BeginCall;
  /** Default the peer of the socket. */
  client?: ListenAddress;
}

/** A boat that vanished is noticed within 40 s. */
export const SERVER_KEEPALIVE: Keepalive = { timeMs: 30_000, timeoutMs: 10_000 };
/** A boat needs three calls at a time. */
export const MAX_CALLS_PER_CONNECTION = 16;

/** Serves the three calls under both service names, on connections that a listener has accepted. */
export class ReplicationServer {
  readonly #options: ReplicationServerOptions;
  readonly #grpc: Grpc;
  readonly #server: Server;
  readonly #injector: ConnectionInjector;
  readonly #streams = new Set<{ fail: (error: RpcError) => void }>();
  readonly #running = new Set<Promise<void>>();
  /** HTTP/2 streams of calls; each resolves when the peer has received the status. */
  readonly #open = new Set<Promise<void>>();
  #connections = 0;
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

  /** Loads the gRPC library and creates a server. */
  static async create(options: ReplicationServerOptions): Promise<ReplicationServer> {
    return new ReplicationServer(await loadGrpc(), options);
  }

  /** Number of calls in progress. */
  get openCalls(): number {
    return this.#running.size;
  }

  /**
   * Serves a connection: a `TLSSocket` with ALPN `h2`, or a plain socket.
   *
   * The TLS server must request a client certificate of its authorities; it may admit connections without one.
   */
  accept(socket: Duplex, connection: AcceptedConnection = {}): void {
    if (this.#isStopping) {
      socket.destroy();
      return;
    }
    const id = String(++this.#connections);
    this.#injector.injectConnection(wrapConnection(socket, { ...connection, id }));
  }

  /**
   * Ends all streams with `UNAVAILABLE`, waits at most `graceMs` for calls in progress and until the boats have
   * received their statuses, then closes all connections.
   */
  async stop({ graceMs }: { graceMs: number }): Promise<void> {
    this.#isStopping = true;
    for (const stream of this.#streams) stream.fail(stopping());
    const grace = Promise.withResolvers<void>();
    const timer = setTimeout(grace.resolve, graceMs);
    await Promise.race([Promise.allSettled(this.#running), grace.promise]);
    // Closing a connection earlier would drop unsent statuses.
    await Promise.race([Promise.all(this.#open), grace.promise]);
    this.#injector.drain(0);
    this.#server.tryShutdown(() => grace.resolve());
    await grace.promise;
    clearTimeout(timer);
    this.#server.forceShutdown();
  }

  /** Checks a call at its headers. No message of a refused call is read, and its connection is closed. */
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
              const begin = socketProperty(call, "begin");
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
    // Without TLS, the id may be in the first message only.
    if (socketProperty(call, "isSecure") !== true) return;
    const [header] = metadata.get(INSTANCE_HEADER);
    const claimedId = header === undefined ? undefined : String(header);
    this.#options.identify({ ...certificatesOf(call), claimedId, address: call.getPeer() });
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
        this.#stream(call, { name, codecs: otherSide(LIVE), answer: (...args) => service.live(...args) });
      },
      backfill: (call: ServerDuplexStream<Buffer, Buffer>) => {
        this.#stream(call, { name, codecs: otherSide(BACKFILL), answer: (...args) => service.backfill(...args) });
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
      // The library converts the error to the status and ends the call.
      fail: (status) => call.emit("error", status),
    }, () => this.#streams.delete(stream));
  }

  /** Runs a call and answers with a status in any case. */
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
    return { code: status.INTERNAL, details: "internal error of the server" };
  }

  /** Identifies the caller. Every call starts here. */
  #callerOf(call: ServerCall, { name, claim }: { name: ServiceName; claim?: string }): Caller {
    widenWindow(call);
    const certificates = certificatesOf(call);
    const [header] = call.metadata.get(INSTANCE_HEADER);
    const claimedId = claim ?? (header === undefined ? undefined : String(header));
    const address = call.getPeer();
    return {
      instanceId: this.#options.identify({ ...certificates, claimedId, address }),
      ...certificates,
      connection: String(socketProperty(call, "connectionId")),
      address,
      service: name,
    };
  }
}

/** The connection for the library, with the properties that the library and this file read from it. */
function wrapConnection(socket: Duplex, { client, begin, id }: AcceptedConnection & { id: string }): Duplex {
  const { remoteAddress, remotePort, localAddress, localPort } = Object(socket);
  const presented = socket instanceof TLSSocket ? socket.getPeerCertificate(true) : undefined;
  return Object.assign(withoutGoaway(socket, { side: "server" }), {
    remoteAddress: client?.hostname ?? remoteAddress,
    remotePort: client?.port ?? remotePort,
    localAddress,
    localPort,
    presented,
    isVerified: socket instanceof TLSSocket && socket.authorized,
    isSecure: socket instanceof TLSSocket,
    connectionId: id,
    begin,
  });
}

type ServerCall = Pick<ServerUnaryCall<Buffer, Buffer>, "getPeer" | "metadata">;

/** Status of a failed call, as the library expects it. */
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

/** The certificates of a connection. One that is not verified does not count, but errors say what is wrong with it. */
function certificatesOf(call: object): Pick<Credentials, "certificate" | "presented"> {
  const peer = socketProperty(call, "presented");
  if (!isCertificate(peer)) return { certificate: undefined };
  const isVerified = socketProperty(call, "isVerified") === true;
  return { certificate: isVerified ? certificateOf(peer) : undefined, presented: peer };
}

function certificateOf(peer: PeerCertificate): ClientCertificate {
  const commonName: unknown = peer.subject?.CN;
  return {
    commonName: typeof commonName === "string" && commonName !== "" ? commonName : undefined,
    serialNumber: peer.serialNumber,
    fingerprint: peer.fingerprint256,
    peer,
  };
}

/** Without a certificate, `getPeerCertificate` returns an empty object. */
function isCertificate(peer: unknown): peer is PeerCertificate {
  return property(peer, "raw") !== undefined;
}

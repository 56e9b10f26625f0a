import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { ChannelCredentials, Client, ClientOptions, Metadata } from "@grpc/grpc-js";
import { ALL_ADDRESSES, errorText, formatAddress, type ListenAddress, parseAddress } from "../../base/mod.ts";
import { handshakeRequestCodec, handshakeResponseCodec } from "../wire/codec.ts";
import {
  type ByteMethod,
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
import { withoutGoaways } from "./goaway.ts";
import { isOwnMachine } from "./identity.ts";
import {
  BACKFILL,
  type BoatBackfillStream,
  type BoatLiveStream,
  LIVE,
  MessageStream,
  type StreamCodecs,
} from "./stream.ts";
import type { HandshakeRequest, HandshakeResponse } from "../wire/messages.ts";

/** How a connection is secured. */
export type ClientSecurity =
  | {
    kind: "tls";
    /** Trusted authorities for the cloud's certificate, PEM; default: the runtime's. */
    ca?: string;
    /** The boat's certificate, whose common name is the instance id, PEM. */
    cert: string;
    /** Private key of `cert`, PEM. */
    key: string;
  }
  /** Plain text; to this machine only. */
  | { kind: "insecure" };

/** Options of {@linkcode ReplicationClient.create}. */
export interface ReplicationClientOptions {
  /** `host:port` of the cloud. */
  target: string;
  instanceId: string;
  security: ClientSecurity;
  /** Default {@linkcode CLIENT_KEEPALIVE}. */
  keepalive?: Keepalive;
}

/** A certificate, key or authority cannot be used. The message says which, and why. */
export class ClientSecurityError extends Error {
  override readonly name = "ClientSecurityError";
}

/** Result of a handshake. */
export interface Handshake {
  response: HandshakeResponse;
  /** Service name that the cloud supports. */
  service: ServiceName;
}

/** gRPC servers close connections with more than one ping per five minutes. Missing statuses are noticed earlier. */
export const CLIENT_KEEPALIVE: Keepalive = { timeMs: 330_000, timeoutMs: 20_000 };

/** TLS permits no address as server name. The certificate is checked against the address by `credentialsOf`. */
const NAME_FOR_ADDRESS: ClientOptions = { "grpc.ssl_target_name_override": "address.invalid" };

/**
 * One connection of a boat to the cloud. It opens with the first call and never reopens: for another connection or new
 * certificates, create another client.
 */
export class ReplicationClient {
  readonly #grpc: Grpc;
  readonly #client: Client;
  readonly #instanceId: string;
  #service: ServiceName | undefined;
  /** True after the server announced the end of the connection. */
  #isEnding = false;

  private constructor(grpc: Grpc, options: ReplicationClientOptions & { address: ListenAddress }) {
    const { address, instanceId, security, keepalive = CLIENT_KEEPALIVE } = options;
    this.#grpc = grpc;
    this.#instanceId = instanceId;
    this.#client = new grpc.Client(
      `dns:${formatAddress(address)}`,
      withoutGoaways(credentialsOf(grpc, { hostname: address.hostname, security }), () => this.#isEnding = true),
      {
        ...sharedOptions(keepalive),
        ...isIP(address.hostname) ? NAME_FOR_ADDRESS : {},
        "grpc.enable_retries": 0,
        // No proxy from the environment and no configuration from DNS.
        "grpc.enable_http_proxy": 0,
        "grpc.service_config_disable_resolution": 1,
        // Own connection: it closes with the client, and new certificates get a new one.
        "grpc.use_local_subchannel_pool": 1,
      },
    );
  }

  /**
   * Loads the gRPC library and creates a client, which is not connected yet.
   *
   * @throws {RangeError} the target is not `host:port`, or is another machine although the connection is insecure
   * @throws {ClientSecurityError} see {@linkcode checkSecurity}
   */
  static async create(options: ReplicationClientOptions): Promise<ReplicationClient> {
    const { security, target } = options;
    const address = addressOf(target);
    checkSecurity(security);
    if (security.kind === "insecure" && !isOwnMachine(target)) {
      throw new RangeError(`"${target}" is another machine: replication to it needs certificates`);
    }
    return new ReplicationClient(await loadGrpc(), { ...options, address });
  }

  /**
   * Calls `Handshake` under our service name, or under the other one if ours is unknown. Later calls use the same name.
   *
   * @throws {RpcError} no connection, no answer within `timeoutMs`, or refused
   * @throws {WireError} the request cannot be encoded, or the response is invalid
   */
  async handshake(request: HandshakeRequest, options: { timeoutMs: number; signal?: AbortSignal }): Promise<Handshake> {
    const bytes = toBuffer(handshakeRequestCodec.encode(request));
    const deadline = Date.now() + options.timeoutMs;
    for (const service of this.#service ? [this.#service] : SERVICE_NAMES) {
      try {
        const answer = await this.#unary(methodsOf(service).handshake, { bytes, deadline, signal: options.signal });
        this.#service = service;
        return { response: handshakeResponseCodec.decode(answer), service };
      } catch (error) {
        if (!(error instanceof RpcError && error.code === "UNIMPLEMENTED")) throw error;
      }
    }
    throw new RpcError("UNIMPLEMENTED", "the server does not support replication");
  }

  /** Opens the live stream, after a handshake. Aborting `signal` cancels it. */
  live(signal?: AbortSignal): BoatLiveStream {
    return this.#stream("live", { codecs: LIVE, signal });
  }

  /** Opens the backfill stream, after a handshake. Aborting `signal` cancels it. */
  backfill(signal?: AbortSignal): BoatBackfillStream {
    return this.#stream("backfill", { codecs: BACKFILL, signal });
  }

  /** Closes the connection and all its streams. */
  close(): void {
    this.#client.close();
  }

  #unary(method: ByteMethod, { bytes, deadline, signal }: {
    bytes: Buffer;
    deadline: number;
    signal: AbortSignal | undefined;
  }): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        bytes,
        this.#metadata(),
        { deadline },
        (error, answer) => error || !answer ? reject(this.#errorOf(error)) : resolve(answer),
      );
      cancelOn(signal, call);
    });
  }

  #stream<In, Out>(name: "live" | "backfill", { codecs, signal }: {
    codecs: StreamCodecs<In, Out>;
    signal: AbortSignal | undefined;
  }): MessageStream<In, Out> {
    const method = methodsOf(this.#service ?? SERVICE_NAMES[0])[name];
    const call = this.#client.makeBidiStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      this.#metadata(),
    );
    cancelOn(signal, call);
    return new MessageStream(call, { ...codecs, toError: (error) => this.#errorOf(error) });
  }

  /** Distinguishes a connection that the server closes from a network failure. */
  #errorOf(error: unknown): RpcError {
    const found = toRpcError(this.#grpc, error);
    const isOver = this.#isEnding && found.code === "UNAVAILABLE";
    return isOver ? new RpcError(found.code, "the other side is closing the connection") : found;
  }

  #metadata(): Metadata {
    const metadata = new this.#grpc.Metadata();
    metadata.set(INSTANCE_HEADER, this.#instanceId);
    return metadata;
  }
}

/** Cancels a call when the signal aborts; removes the listener when the call ends. */
function cancelOn(signal: AbortSignal | undefined, call: Cancellable): void {
  if (!signal) return;
  const cancel = () => call.cancel();
  call.on("status", () => signal.removeEventListener("abort", cancel));
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel);
}

interface Cancellable {
  cancel(): void;
  on(event: "status", listener: () => void): unknown;
}

function addressOf(target: string): ListenAddress {
  const address = parseAddress(target);
  if (address.hostname === ALL_ADDRESSES) throw new RangeError(`"${target}" names no host to replicate to`);
  return address;
}

/**
 * Checks certificates and key: the library reports no error for invalid ones and retries forever.
 *
 * @throws {ClientSecurityError} one of them cannot be read, or the key does not match the certificate
 */
export function checkSecurity(security: ClientSecurity): void {
  if (security.kind === "insecure") return;
  const { ca, cert, key } = security;
  const certificate = orRefuse("certificate", () => new X509Certificate(cert));
  const privateKey = orRefuse("key", () => createPrivateKey(key));
  if (ca !== undefined) orRefuse("authority's certificate", () => new X509Certificate(ca));
  if (certificate.checkPrivateKey(privateKey)) return;
  throw new ClientSecurityError("the replication key does not match the certificate");
}

function orRefuse<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new ClientSecurityError(`the replication ${what} cannot be read: ${errorText(error)}`);
  }
}

function credentialsOf(grpc: Grpc, { hostname, security }: {
  hostname: string;
  security: ClientSecurity;
}): ChannelCredentials {
  if (security.kind === "insecure") return grpc.credentials.createInsecure();
  return grpc.credentials.createSsl(bytesOf(security.ca), bytesOf(security.key), bytesOf(security.cert), {
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => checkServerIdentity(hostname, certificate),
  });
}

function bytesOf(pem: string | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}

import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { ChannelCredentials, Client, ClientOptions, Metadata } from "@grpc/grpc-js";
import { ALL_ADDRESSES, errorText, formatAddress, type ListenAddress, parseAddress } from "../../base/mod.ts";
import {
  backfillStatusCodec,
  backfillUpstreamCodec,
  handshakeRequestCodec,
  handshakeResponseCodec,
  liveStatusCodec,
  liveUpstreamCodec,
} from "../wire/codec.ts";
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
import { MessageStream, type StreamCodecs } from "./stream.ts";
import type {
  BackfillStatus,
  BackfillUpstream,
  HandshakeRequest,
  HandshakeResponse,
  LiveStatus,
  LiveUpstream,
} from "../wire/messages.ts";

/** How a connection is secured. */
export type ClientSecurity =
  | {
    kind: "tls";
    /** Authorities that the cloud's certificate may come from, PEM; left out: those that everybody knows. */
    ca?: string;
    /** Our certificate, whose common name is the instance id, and its key, PEM. */
    cert: string;
    key: string;
  }
  /** Nothing at all; to this machine only. */
  | { kind: "insecure" };

/** What a client is made of. */
export interface ReplicationClientOptions {
  /** `host:port` of the cloud. */
  target: string;
  instanceId: string;
  security: ClientSecurity;
  /** Left out: {@linkcode CLIENT_KEEPALIVE}. */
  keepalive?: Keepalive;
}

/** A certificate, a key or authorities that cannot be used. The message says which, and why. */
export class ClientSecurityError extends Error {
  override readonly name = "ClientSecurityError";
}

/** What a handshake came to. */
export interface Handshake {
  response: HandshakeResponse;
  /** The name under which the cloud knows the service; a peer's has no features. */
  service: ServiceName;
}

/** Peers' servers close connections that ask more often than every five minutes. Statuses tell sooner. */
export const CLIENT_KEEPALIVE: Keepalive = { timeMs: 330_000, timeoutMs: 20_000 };

/** TLS has no room for an address in the place of the server's name; the certificate is checked for the address. */
const NAME_FOR_ADDRESS: ClientOptions = { "grpc.ssl_target_name_override": "address.invalid" };

const LIVE = { incoming: liveStatusCodec, outgoing: liveUpstreamCodec };
const BACKFILL = { incoming: backfillStatusCodec, outgoing: backfillUpstreamCodec };

/**
 * One connection of a boat to the cloud. It is made with the first call and not made again: who needs another one, or has
 * new certificates, makes another client.
 */
export class ReplicationClient {
  readonly #grpc: Grpc;
  readonly #client: Client;
  readonly #instanceId: string;
  #service: ServiceName | undefined;
  /** The other side has said that the connection will end. */
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
        // Neither a proxy that the environment names nor settings out of the DNS: the target is the target.
        "grpc.enable_http_proxy": 0,
        "grpc.service_config_disable_resolution": 1,
        // Closing the client closes the connection, and new certificates make a new one.
        "grpc.use_local_subchannel_pool": 1,
      },
    );
  }

  /**
   * Makes one, after loading what it needs. Connects to nothing yet.
   *
   * @throws {RangeError} the target is not `host:port`, or another machine and the connection insecure
   * @throws {ClientSecurityError} certificates or key cannot be read, or do not belong together
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
   * Introduces the boat, under our service's name; where that is not known, under the peer's. What comes later uses the
   * name that was known.
   *
   * @throws {RpcError} no connection, no answer in `timeoutMs`, or refused
   * @throws {WireError} the request cannot be written, or the response cannot be read
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
    throw new RpcError("UNIMPLEMENTED", "the server knows no replication");
  }

  /** Opens the stream of live frames; aborting `signal` cancels it. To be called after a handshake. */
  live(signal?: AbortSignal): MessageStream<LiveStatus, LiveUpstream> {
    return this.#stream("live", { codecs: LIVE, signal });
  }

  /** Opens the stream of blocks; aborting `signal` cancels it. To be called after a handshake. */
  backfill(signal?: AbortSignal): MessageStream<BackfillStatus, BackfillUpstream> {
    return this.#stream("backfill", { codecs: BACKFILL, signal });
  }

  /** Ends the connection and everything on it. */
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

  /** A connection that the other side has ended is no fault of the network. */
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

/** Cancels a call when the signal says so, and forgets the signal when the call is over. */
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
 * Looks whether certificates and key can be used: the library would say nothing, and fail to connect for ever.
 *
 * @throws {ClientSecurityError} one of them cannot be read, or they do not belong together
 */
export function checkSecurity(security: ClientSecurity): void {
  if (security.kind === "insecure") return;
  const { ca, cert, key } = security;
  const certificate = orRefuse("certificate", () => new X509Certificate(cert));
  const privateKey = orRefuse("key", () => createPrivateKey(key));
  if (ca !== undefined) orRefuse("authority's certificate", () => new X509Certificate(ca));
  if (certificate.checkPrivateKey(privateKey)) return;
  throw new ClientSecurityError("the replication key is not the one of the certificate");
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

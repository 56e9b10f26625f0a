import { silentLogger, StallDetector } from "../../src/base/mod.ts";
import { type CertificatePair, makeAuthority, Signer } from "../../src/pki/certificates_make.ts";
import { ClientAuthorities, RevocationFile } from "../../src/pki/mod.ts";
import { type Identifier, identifier } from "../../src/cloud/mod.ts";
import {
  type ConnectionLimits,
  Connections,
  type Handler,
  type HelloPeek,
  type Listener,
  listenGrpc,
  listenSingle,
  listenTls,
  TlsFiles,
} from "../../src/listen/mod.ts";
import {
  type Caller,
  ReplicationClient,
  ReplicationServer,
  type ReplicationService,
} from "../../src/replication/mod.ts";
import { service } from "../replication/fixture.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { openssl } from "../cloud/openssl.ts";

export const DAY_MS = 86_400_000;

/** An authority in memory and in two files. */
export class PortAuthority {
  readonly #path: string;
  readonly #pair: CertificatePair;
  readonly #signer: Signer;

  private constructor(path: string, { pair, signer }: { pair: CertificatePair; signer: Signer }) {
    this.#path = path;
    this.#pair = pair;
    this.#signer = signer;
  }

  static async make(folder: string, name: string): Promise<PortAuthority> {
    const pair = await makeAuthority(name, { nowMs: Date.now() - 1000 * DAY_MS, days: 3650 });
    const path = `${folder}/${name}`;
    await Deno.writeTextFile(`${path}.pem`, pair.cert);
    await Deno.writeTextFile(`${path}.key`, pair.key);
    return new PortAuthority(path, { pair, signer: await Signer.open(pair) });
  }

  /** Its certificate, PEM. */
  get pem(): string {
    return this.#pair.cert;
  }

  /** A boat's, begun so many days ago. */
  boat(instanceId: string, { days = 90, ageDays = 0 } = {}): Promise<CertificatePair> {
    return this.#signer.issue({ kind: "boat", instanceId }, { nowMs: Date.now() - ageDays * DAY_MS, days });
  }

  /** A server's, for this machine. */
  server(): Promise<CertificatePair> {
    const subject = { kind: "server", hosts: ["localhost"], ips: ["127.0.0.1"] } as const;
    return this.#signer.issue(subject, { nowMs: Date.now(), days: 90 });
  }

  /** One with several names, which ours never has. */
  async named(subject: string): Promise<Pick<CertificatePair, "cert" | "key">> {
    const [key, request, cert] = ["odd.key", "odd.csr", "odd.pem"].map((file) => `${this.#path}-${file}`) as [
      string,
      string,
      string,
    ];
    const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key];
    const made = [
      await openssl("req", "-new", ...newKey, "-out", request, "-subj", subject),
      await openssl(
        ...["x509", "-req", "-in", request, "-out", cert, "-days", "90"],
        ...["-CA", `${this.#path}.pem`, "-CAkey", `${this.#path}.key`, "-CAcreateserial"],
      ),
    ];
    const failed = made.find(({ ok }) => !ok);
    if (failed) throw new Error(failed.text);
    return { cert: await Deno.readTextFile(cert), key: await Deno.readTextFile(key) };
  }
}

/** How a port is opened. */
export interface PortOptions {
  /** One port for all, or one for gRPC and one for HTTPS. */
  mode: "single" | "dual";
  answers?: Partial<ReplicationService>;
  handler?: Handler;
  limits?: Partial<ConnectionLimits>;
  helloPeek?: HelloPeek;
}

/** What the ports are made of. */
export interface PortParts {
  /** Signs the cloud's own certificate. */
  readonly cloud: PortAuthority;
  /** Signs those of boats. */
  readonly boats: PortAuthority;
  readonly tls: TlsFiles;
  readonly authorities: ClientAuthorities;
  readonly revoked: RevocationFile;
  readonly identity: Identifier;
  readonly server: ReplicationServer;
  readonly grpc: Listener;
  readonly web: Listener;
}

/** A cloud's ports, with files of certificates that a test may replace. */
export class CloudPort implements AsyncDisposable {
  /** Stands an hour after the machine's: certificates that are made meanwhile have begun. */
  readonly clock = new FakeClock();
  readonly callers: Caller[] = [];
  readonly #stack = new AsyncDisposableStack();
  readonly #folder: string;
  readonly #mode: PortOptions["mode"];
  #parts!: PortParts;

  private constructor(folder: string, mode: PortOptions["mode"]) {
    this.#folder = folder;
    this.#mode = mode;
    this.clock.jump(Date.now() - this.clock.wallUs() / 1000 + 3_600_000);
  }

  static async open(
    folder: string,
    { mode, answers = {}, handler, limits = {}, ...rest }: PortOptions,
  ): Promise<CloudPort> {
    const port = new CloudPort(folder, mode);
    const { clock } = port;
    const log = silentLogger;
    const cloud = await PortAuthority.make(folder, "cloud-ca");
    const boats = await PortAuthority.make(folder, "boat-ca");
    await port.putServer(await cloud.server());
    await port.putAuthorities(boats.pem);
    await port.putRevoked("");
    const { certPath, keyPath, clientCaPath, revokedPath } = port.paths;
    const tls = await TlsFiles.open({ certPath, keyPath, clock, log });
    const authorities = await ClientAuthorities.open({ path: clientCaPath, clock, log });
    const revoked = await RevocationFile.open({ path: revokedPath, authorities: () => authorities.pem, log });
    const identity = identifier({ authorities, revoked, clock });
    const server = await ReplicationServer.create({
      service: port.#telling(service(answers)),
      identify: identity.identify,
      onFault: (error) => console.error(error),
    });
    const connections = new Connections(limits);
    const accept: Parameters<typeof listenGrpc>[1]["accept"] = (socket, connection) =>
      server.accept(socket, connection);
    const stall = new StallDetector(log);
    const answer = handler ?? (() => Promise.resolve(new Response("hello\n")));
    const at = { hostname: "127.0.0.1", port: 0 };
    const options = { tls, clientCa: authorities, accept, connections, log, ...rest };
    const grpc = mode === "single"
      ? await listenSingle(at, { ...options, handler: answer, stall })
      : await listenGrpc(at, options);
    const web = mode === "single" ? grpc : await listenTls(at, { tls, handler: answer, stall, connections, log });
    port.#parts = { cloud, boats, tls, authorities, revoked, identity, server, grpc, web };
    port.#stack.defer(() => {
      for (const each of [tls, authorities, revoked, stall]) each.stop();
    });
    port.#stack.defer(async () => {
      await server.stop({ graceMs: 5000 });
      await Promise.all([grpc.stop(), web !== grpc && web.stop()]);
    });
    return port;
  }

  /** What it is made of. */
  get parts(): PortParts {
    return this.#parts;
  }

  get paths() {
    const at = (file: string) => `${this.#folder}/${file}`;
    return {
      certPath: at("served.pem"),
      keyPath: at("served.key"),
      clientCaPath: at("clients.pem"),
      revokedPath: at("revoked.txt"),
      cloudCaPath: at("cloud-ca.pem"),
    };
  }

  get grpcPort(): number {
    return this.#parts.grpc.address.port;
  }

  get webPort(): number {
    return this.#parts.web.address.port;
  }

  async putServer({ cert, key }: Pick<CertificatePair, "cert" | "key">): Promise<void> {
    await Deno.writeTextFile(this.paths.certPath, cert);
    await Deno.writeTextFile(this.paths.keyPath, key);
  }

  async putAuthorities(pem: string): Promise<void> {
    await Deno.writeTextFile(this.paths.clientCaPath, pem);
  }

  async putRevoked(text: string): Promise<void> {
    await Deno.writeTextFile(this.paths.revokedPath, text);
  }

  /** A boat's way to the gRPC port. */
  async client(
    { cert, key }: Pick<CertificatePair, "cert" | "key">,
    instanceId = "boat-001",
  ): Promise<ReplicationClient> {
    const security = { kind: "tls", cert, key, ca: this.#parts.cloud.pem } as const;
    const client = await ReplicationClient.create({ target: `127.0.0.1:${this.grpcPort}`, instanceId, security });
    this.#stack.defer(() => client.close());
    return client;
  }

  #telling({ handshake, live, backfill }: ReplicationService): ReplicationService {
    const tell = (caller: Caller) => this.callers.push(caller);
    return {
      handshake: (request, caller) => (tell(caller), handshake(request, caller)),
      live: (stream, caller) => (tell(caller), live(stream, caller)),
      backfill: (stream, caller) => (tell(caller), backfill(stream, caller)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

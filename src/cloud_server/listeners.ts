import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import {
  AcmeCertificate,
  type AcmeChallenge,
  type Connection,
  type Connections,
  type Handler,
  listen,
  type Listener,
  listenGrpc,
  listenGrpcInsecure,
  listenSingle,
  RefusalLog,
  TlsFiles,
  type TlsPaths,
} from "../listen/mod.ts";
import {
  CERTIFICATE_WARN_MS,
  CertificateEndLog,
  type CertificateEnds,
  type Clock,
  errorText,
  type ListenAddress,
  type Logger,
  type StallDetector,
} from "../base/mod.ts";
import { ClientAuthorities, RevocationFile } from "../pki/mod.ts";
import { type CloudService, type Identifier, identifier } from "../cloud/mod.ts";
import type { CertificateReading, ComponentHealth } from "../http/mod.ts";
import { type Credentials, identify, ReplicationServer } from "../replication/mod.ts";

/** Whose certificates boats must have. */
export interface BoatTrust {
  /** File of authorities, PEM. */
  clientCaPath: string;
  /** File of revoked certificates; left out: none is revoked. */
  revokedPath?: string;
}

/** Options of obtaining a certificate by ACME. */
export interface AcmeSettings {
  /** Name of this server on the internet. */
  domain: string;
  /** Contact address for the authority. Giving it accepts the authority's terms of service. */
  email: string;
  /** ACME directory, https; left out: Let's Encrypt. */
  directoryUrl?: string;
  /** File with the certificate that a private authority's server is verified by, PEM. */
  caPath?: string;
  /** Challenge that proves control of the domain; left out: http-01, and tls-alpn-01 if that fails. */
  challenge?: AcmeChallenge;
  /** The domain's port 80, for http-01 and to redirect clients to HTTPS. */
  httpListen: ListenAddress;
}

/** Where a cloud listens, and what secures it. */
export type CloudPorts =
  /** Boats by gRPC over TLS at one port, clients by HTTP at another. */
  | { kind: "dual"; grpc: ListenAddress; http: ListenAddress; tls: TlsPaths; trust: BoatTrust }
  /** Both over TLS at one port, with a certificate from files or from an ACME authority. */
  | { kind: "single"; address: ListenAddress; tls: TlsPaths | AcmeSettings; trust: BoatTrust }
  /** Boats without certificates, from this machine alone. */
  | { kind: "insecure"; grpc: ListenAddress; http: ListenAddress };

/** Dependencies of the listeners. */
export interface PortListenerParts {
  dataDirectory: string;
  service: CloudService;
  /** Shared by all ports. */
  connections: Connections;
  /** Makes the handler of HTTP requests, which reports the state of the listeners. */
  handler: (state: PortListenerState) => Handler;
  stall: StallDetector;
  clock: Clock;
  log: Logger;
}

/** State of the listeners. */
export interface PortListenerState {
  health: () => Record<string, ComponentHealth>;
  certificates: () => CertificateReading[];
}

/** The open listeners of a cloud. */
export interface CloudListeners {
  readonly addresses: { readonly grpc: ListenAddress; readonly http: ListenAddress };
  /** Checks all files of certificates now. */
  check: () => void;
  /** Ends boats' calls; requests are still answered. */
  close: () => Promise<void>;
  /** Stops listening. */
  end: () => Promise<void>;
}

/** In the data directory: account and certificates. */
const ACME_DIRECTORY = ".acme";
/** Time for calls in progress to end when the server stops. */
const GRACE_MS = 2000;

/**
 * Opens the ports.
 *
 * @throws {ListenError} a port cannot be opened
 * @throws {TlsError} certificate and key cannot be used
 * @throws {AuthoritiesError} the authorities of boats cannot be used
 * @throws {RevocationError} the list of revoked certificates cannot be used
 */
export async function openListeners(ports: CloudPorts, parts: PortListenerParts): Promise<CloudListeners> {
  return ports.kind === "insecure" ? await openInsecure(ports, parts) : await openSecure(ports, parts);
}

async function openInsecure(
  { grpc, http }: Extract<CloudPorts, { kind: "insecure" }>,
  parts: PortListenerParts,
): Promise<CloudListeners> {
  const { connections, log } = parts;
  const server = await serverOf((credentials) => identify(credentials, "insecure"), parts);
  const accept = (socket: Duplex, connection: Connection) => server.accept(socket, connection);
  const opened = new Opened();
  try {
    const boats = opened.add(await listenGrpcInsecure(grpc, { accept, connections, log }));
    const clients = opened.add(
      await listen(http, { ...parts, handler: parts.handler({ health: () => ({}), certificates: () => [] }) }),
    );
    log.warn("boats accepted without certificates", { address: boats.address.hostname });
    return listenersOf(server, { grpc: boats, http: clients, opened, check: () => {} });
  } catch (error) {
    await opened.stop();
    await server.stop({ graceMs: 0 });
    throw error;
  }
}

async function openSecure(
  ports: Exclude<CloudPorts, { kind: "insecure" }>,
  parts: PortListenerParts,
): Promise<CloudListeners> {
  const { clock, log, service } = parts;
  const opened = new Opened();
  try {
    const trust = await openTrust(ports.trust, { clock, log, opened });
    const { authorities, boats } = trust;
    const tls = opened.add(await openCertificate(ports, parts));
    const server = await serverOf(logRefusals(boats.identify, log), parts);
    opened.add({ stop: () => server.stop({ graceMs: 0 }) });
    opened.add({ stop: boats.follow(() => service.recheck(boats.isAllowed)) });
    const accept = (socket: Duplex, connection: Connection) => {
      if (!(socket instanceof TLSSocket && socket.authorized)) connection.closeIfCrowded();
      server.accept(socket, connection);
    };
    const handler = parts.handler({
      health: () => ({ tls: tls.health(), ...trust.health() }),
      certificates: () => [{ certificate: "tls", endMs: tls.endMs }, ...trust.certificates()],
    });
    const secure = { ...parts, tls, clientCa: authorities, accept, handler };
    const check = () => {
      void tls.check();
      trust.check();
    };
    if (ports.kind === "single") {
      const helloPeek = tls instanceof AcmeCertificate ? tls.helloPeek : undefined;
      const single = opened.add(await listenSingle(ports.address, { ...secure, helloPeek }));
      return listenersOf(server, { grpc: single, http: single, opened, check });
    }
    const grpc = opened.add(await listenGrpc(ports.grpc, secure));
    const http = opened.add(await listen(ports.http, { ...parts, handler }));
    return listenersOf(server, { grpc, http, opened, check });
  } catch (error) {
    await opened.stop();
    throw error;
  }
}

/** The certificate that the server presents. */
async function openCertificate(
  { tls, ...ports }: Exclude<CloudPorts, { kind: "insecure" }>,
  { dataDirectory, ...parts }: PortListenerParts,
): Promise<TlsFiles | AcmeCertificate> {
  if ("certPath" in tls) return await TlsFiles.open({ ...tls, ...parts });
  const ca = tls.caPath === undefined ? undefined : await Deno.readTextFile(tls.caPath);
  const httpsPort = "address" in ports ? ports.address.port : undefined;
  return await AcmeCertificate.open({
    ...tls,
    ...parts,
    directory: `${dataDirectory}/${ACME_DIRECTORY}`,
    ca,
    httpsPort,
  });
}

async function serverOf(
  identify: (credentials: Credentials) => string,
  { service, log }: PortListenerParts,
): Promise<ReplicationServer> {
  const onFault = (error: unknown) => log.error("boat call failed", { error: errorText(error) });
  return await ReplicationServer.create({ service, identify, onFault });
}

/** `identify` that also logs each refusal, once for each address and reason. */
function logRefusals(
  identify: (credentials: Credentials) => string,
  log: Logger,
): (credentials: Credentials) => string {
  const refusals = new RefusalLog("a boat is refused", log);
  return (credentials) => {
    try {
      return identify(credentials);
    } catch (error) {
      refusals.add({ address: credentials.address.replace(/:\d+$/, ""), reason: errorText(error) });
      throw error;
    }
  };
}

function listenersOf(
  server: ReplicationServer,
  { grpc, http, opened, check }: { grpc: Listener; http: Listener; opened: Opened; check: () => void },
): CloudListeners {
  return {
    addresses: { grpc: grpc.address, http: http.address },
    check,
    close: () => server.stop({ graceMs: GRACE_MS }),
    end: () => opened.stop(),
  };
}

/** Parts that were opened; stops them in reverse order. */
class Opened {
  readonly #parts: { stop: () => void | Promise<void> }[] = [];

  add<T extends { stop: () => void | Promise<void> }>(part: T): T {
    this.#parts.push(part);
    return part;
  }

  async stop(): Promise<void> {
    for (let part = this.#parts.pop(); part; part = this.#parts.pop()) await part.stop();
  }
}

interface Trust {
  authorities: ClientAuthorities;
  boats: Identifier;
  health: () => Record<string, ComponentHealth>;
  certificates: () => CertificateReading[];
  check: () => void;
}

/** Degraded while the file cannot be used: a boat revoked since then is still accepted. */
function revocationHealth({ fault }: RevocationFile): ComponentHealth {
  return fault === undefined ? { status: "ok" } : { status: "degraded", message: `${fault}; the old list stays` };
}

/** Health is public, so it names no boat; the log and the metrics do. */
function boatCertificatesHealth(ends: CertificateEnds, nowMs: number): Record<string, ComponentHealth> {
  let count = 0;
  for (const endMs of ends.values()) if (endMs - nowMs <= CERTIFICATE_WARN_MS) count++;
  if (count === 0) return {};
  const message = `boats whose certificate ends within 30 days or has ended: ${count}`;
  return { boat_certificates: { status: "degraded", message } };
}

/** Opens the authorities and the revocation list. */
async function openTrust(
  { clientCaPath, revokedPath }: BoatTrust,
  { clock, log, opened }: Pick<PortListenerParts, "clock" | "log"> & { opened: Opened },
): Promise<Trust> {
  const authorities = opened.add(await ClientAuthorities.open({ path: clientCaPath, clock, log }));
  const revoked = revokedPath === undefined
    ? undefined
    : opened.add(await RevocationFile.open({ path: revokedPath, authorities: () => authorities.pem, log }));
  const check = () => void Promise.all([authorities.look(), revoked?.check()]);
  const boats = identifier({ authorities, revoked, clock });
  const reported = new CertificateEndLog((message, fields) => log.warn(message, fields));
  const nowMs = () => clock.wallUs() / 1000;
  opened.add({
    stop: boats.follow(() => {
      for (const [id, endMs] of boats.ends) reported.check(`boat ${id}`, { endMs, nowMs: nowMs() });
    }),
  });
  const health = () => ({
    client_ca: authorities.health(),
    ...(revoked && { revoked: revocationHealth(revoked) }),
    ...boatCertificatesHealth(boats.ends, nowMs()),
  });
  const certificates = () => [
    { certificate: "client_ca", endMs: authorities.endMs },
    ...Array.from(boats.ends, ([instance, endMs]) => ({ certificate: "boat", instance, endMs })),
  ];
  return { authorities, boats, health, certificates, check };
}

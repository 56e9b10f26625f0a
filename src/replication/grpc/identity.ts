import type { PeerCertificate } from "node:tls";
import { RpcError, type ServiceName } from "./grpc.ts";
import { isInstanceId } from "../../pki/mod.ts";

/** Unchecked information about a caller. */
export interface Credentials {
  /** Client certificate, verified by the TLS server. */
  certificate: ClientCertificate | undefined;
  /** Client certificate as it was presented, also one that the TLS server rejects. */
  presented?: PeerCertificate | undefined;
  /** Id from a header or a handshake. Not an identity by itself. */
  claimedId: string | undefined;
  /** Address of the client, as far as known. */
  address: string;
}

/** The client certificate of a boat. */
export interface ClientCertificate {
  /** Undefined if it has none, or several. */
  commonName: string | undefined;
  /** Upper-case hex digits. */
  serialNumber: string;
  /** SHA-256 of the certificate, upper-case hex digits in pairs with colons between them. */
  fingerprint: string;
  /** The certificate as `node:tls` returns it, with its issuers as `issuerCertificate`. */
  peer: PeerCertificate;
}

/** An identified caller. */
export interface Caller {
  instanceId: string;
  /** Undefined only where calls without a certificate are permitted. */
  certificate: ClientCertificate | undefined;
  /** The certificate as it was presented, also one that the TLS server rejects. */
  presented?: PeerCertificate | undefined;
  /** Identifies the connection among all of the server. Its address does not: proxies may name one client twice. */
  connection: string;
  /** Address of the client, as far as known. */
  address: string;
  /** Service name of the call: boats with other software use another name. */
  service: ServiceName;
}

/** `insecure` also permits calls without a certificate, from this machine only. */
export type IdentityPolicy = "certificate" | "insecure";

/**
 * Identifies the calling instance by its certificate. A claimed id counts only where no certificate is needed.
 *
 * @throws {RpcError} `UNAUTHENTICATED`: no certificate; `PERMISSION_DENIED`: the certificate of another instance;
 * `INVALID_ARGUMENT`: not a valid instance id
 */
export function identify({ certificate, claimedId, address }: Credentials, policy: IdentityPolicy): string {
  const mayClaim = certificate === undefined && policy === "insecure" && isOwnMachine(address);
  const instanceId = mayClaim ? claimedId : certificate?.commonName;
  if (instanceId === undefined) throw new RpcError("UNAUTHENTICATED", "no verified client certificate");
  if (claimedId !== undefined && claimedId !== instanceId) {
    throw new RpcError("PERMISSION_DENIED", `the certificate is for "${instanceId}", not for "${claimedId}"`);
  }
  if (!isInstanceId(instanceId)) throw new RpcError("INVALID_ARGUMENT", `"${instanceId}" is not an instance id`);
  return instanceId;
}

/** True for loopback addresses and `localhost`, with or without a port. */
export function isOwnMachine(address: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|localhost|\[?(?:::ffff:127\.\d+\.\d+\.\d+|::1)\]?)(?::\d+)?$/.test(address);
}

import type { PeerCertificate } from "node:tls";
import { RpcError, type ServiceName } from "./grpc.ts";
import { isInstanceId } from "../../pki/mod.ts";

/** What is known of who calls, before anything of it is believed. */
export interface Credentials {
  /** Certificate that the connection has shown and that the TLS server has verified. */
  certificate: ClientCertificate | undefined;
  /** Id that a header or a handshake names. Identifies nobody. */
  claimedId: string | undefined;
  /** Address of the other side, as far as it is known. */
  address: string;
}

/** A boat's certificate, as far as it matters. */
export interface ClientCertificate {
  /** Nothing when it has none, or several. */
  commonName: string | undefined;
  /** Upper-case hex digits. */
  serialNumber: string;
  /** SHA-256 of the certificate, upper-case hex digits in pairs with colons between them. */
  fingerprint: string;
  /** What `node:tls` tells of it, with those who have signed it as `issuerCertificate`. */
  peer: PeerCertificate;
}

/** Who calls. */
export interface Caller {
  instanceId: string;
  /** Nothing only where calls without a certificate are allowed. */
  certificate: ClientCertificate | undefined;
  /** Address of the other side, as far as it is known. */
  address: string;
  /** Name under which the service was called: tells a peer's boat. */
  service: ServiceName;
}

/** What a certificate must be for: all calls; or also calls without one, from this machine alone. */
export type IdentityPolicy = "certificate" | "insecure";

/**
 * Finds out which instance calls. A certificate always has the word; what a header says counts only without one.
 *
 * @throws {RpcError} `UNAUTHENTICATED`: nobody is known to call; `PERMISSION_DENIED`: the certificate is another's;
 * `INVALID_ARGUMENT`: not an instance's id
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

/** Whether an address, with or without a port, is one that other machines cannot have. */
export function isOwnMachine(address: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|localhost|\[?(?:::ffff:127\.\d+\.\d+\.\d+|::1)\]?)(?::\d+)?$/.test(address);
}

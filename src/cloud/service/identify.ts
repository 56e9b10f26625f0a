import { TLSSocket } from "node:tls";
import type { CertificateEnds } from "../../base/mod.ts";
import { type Caller, type Credentials, RpcError } from "../../replication/mod.ts";
import { type PeerCertificate, PeerIdentities, type PeerIdentitiesOptions } from "../../pki/mod.ts";

/** Identifies the callers of each call by the certificate of their connection. */
export interface Identifier {
  /**
   * Registers a connection; must be called before its first call. The gRPC library hides certificates that TLS rejects, but
   * the boat's error message must say what is wrong with its certificate.
   */
  register: (socket: object) => void;
  /**
   * The instance id of a caller; for `ReplicationServer`.
   *
   * @throws {RpcError} `UNAUTHENTICATED`: no valid certificate; `PERMISSION_DENIED`: it is for another instance
   */
  identify: (credentials: Credentials) => string;
  /** False once a caller's certificate has expired, is revoked, or its authority was removed. */
  isAllowed: (caller: Caller) => boolean;
  /** Expiry of the newest certificate of each boat, by instance id. */
  ends: CertificateEnds;
  /** Calls `onChange` when callers may have to be refused. Returns a function that stops the calls. */
  follow: (onChange: () => void) => () => void;
}

/** Creates an {@linkcode Identifier}. */
export function identifier(options: Omit<PeerIdentitiesOptions, "kind">): Identifier {
  const peers = new Map<string, PeerCertificate>();
  const identities = new PeerIdentities({ ...options, kind: "boat" });
  const peerOf = (address: string, certificate: Credentials["certificate"]) => peers.get(address) ?? certificate?.peer;
  return {
    ends: identities.ends,
    register: (socket) => {
      if (!(socket instanceof TLSSocket)) return;
      const key = `${socket.remoteAddress}:${socket.remotePort}`;
      const peer = socket.getPeerCertificate(true);
      peers.set(key, peer);
      socket.once("close", () => {
        if (peers.get(key) === peer) peers.delete(key);
      });
    },
    identify: ({ certificate, claimedId, address }) => {
      const identity = identities.of(peerOf(address, certificate), claimedId);
      if (identity.ok) return identity.name;
      const code = identity.reason === "name-mismatch" ? "PERMISSION_DENIED" : "UNAUTHENTICATED";
      throw new RpcError(code, identity.message);
    },
    isAllowed: ({ certificate, address, instanceId }) => {
      const identity = identities.of(peerOf(address, certificate));
      return identity.ok && identity.name === instanceId;
    },
    follow: (onChange) => identities.follow(onChange),
  };
}

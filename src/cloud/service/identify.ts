import type { CertificateEnds } from "../../base/mod.ts";
import { type Caller, type Credentials, RpcError } from "../../replication/mod.ts";
import { PeerIdentities, type PeerIdentitiesOptions } from "../../pki/mod.ts";

/** Identifies the callers of each call by the certificate of their connection. */
export interface Identifier {
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
  const identities = new PeerIdentities({ ...options, kind: "boat" });
  return {
    ends: identities.ends,
    // As presented: TLS hides why it rejects a certificate, and the boat's error message must say it.
    identify: ({ presented, claimedId }) => {
      const identity = identities.of(presented, claimedId);
      if (identity.ok) return identity.name;
      const code = identity.reason === "name-mismatch" ? "PERMISSION_DENIED" : "UNAUTHENTICATED";
      throw new RpcError(code, identity.message);
    },
    isAllowed: ({ presented, instanceId }) => {
      const identity = identities.of(presented);
      return identity.ok && identity.name === instanceId;
    },
    follow: (onChange) => identities.follow(onChange),
  };
}

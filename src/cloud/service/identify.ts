import { TLSSocket } from "node:tls";
import type { CertificateEnds, Clock } from "../../base/mod.ts";
import { type Caller, type Credentials, RpcError } from "../../replication/mod.ts";
import {
  type ClientAuthorities,
  type Identity,
  type IdentityCheck,
  type PeerCertificate,
  peerChain,
  type RevocationFile,
} from "../../pki/mod.ts";

/** Options of {@linkcode identifier}. */
export interface IdentifierOptions {
  authorities: Pick<ClientAuthorities, "check" | "follow">;
  /** Left out: no certificate is revoked. */
  revoked?: Pick<RevocationFile, "has" | "follow"> | undefined;
  clock: Clock;
}

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

/** Callers are checked again at this interval, because certificates expire without an event. */
const RECHECK_EVERY_MS = 10_000;
/** A refused certificate is not checked again for this time. */
const REFUSAL_HOLDS_MS = 1000;

/** Result of checking a certificate. */
interface Checked {
  identity: Identity;
  check: IdentityCheck;
  /** Monotonic. */
  atMs: number;
}

/** Creates an {@linkcode Identifier}. */
export function identifier({ authorities, revoked, clock }: IdentifierOptions): Identifier {
  const peers = new Map<string, PeerCertificate>();
  const ends = new Map<string, number>();
  const checked = new WeakMap<PeerCertificate, Checked>();
  const isRevoked = (serial: string) => revoked?.has(serial) ?? false;

  const decide = (peer: PeerCertificate | undefined, claimed?: string): Identity =>
    authorities.check.decide(peerChain(peer), { nowMs: clock.wallUs() / 1000, claimed, isRevoked });

  const isCurrent = ({ identity, atMs }: Checked): boolean =>
    identity.ok
      ? clock.wallUs() / 1000 <= identity.expiresMs && !identity.serials.some(isRevoked)
      : clock.monoMs() - atMs < REFUSAL_HOLDS_MS;

  /** Cached, because verifying signatures takes a millisecond. */
  const identityOf = (peer: PeerCertificate | undefined): Identity => {
    const { check } = authorities;
    const known = peer && checked.get(peer);
    if (known?.check === check && isCurrent(known)) return known.identity;
    const identity = decide(peer);
    if (identity.ok) ends.set(identity.name, identity.expiresMs);
    if (peer) checked.set(peer, { identity, check, atMs: clock.monoMs() });
    return identity;
  };

  const peerOf = (address: string, certificate: Credentials["certificate"]) => peers.get(address) ?? certificate?.peer;
  return {
    ends,
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
      const peer = peerOf(address, certificate);
      const known = identityOf(peer);
      const identity = known.ok && claimedId !== undefined && claimedId !== known.name
        ? decide(peer, claimedId)
        : known;
      if (identity.ok) return identity.name;
      const code = identity.reason === "name-mismatch" ? "PERMISSION_DENIED" : "UNAUTHENTICATED";
      throw new RpcError(code, identity.message);
    },
    isAllowed: ({ certificate, address, instanceId }) => {
      const identity = identityOf(peerOf(address, certificate));
      return identity.ok && identity.name === instanceId;
    },
    follow: (onChange) => {
      const timer = setInterval(onChange, RECHECK_EVERY_MS);
      const leave = [authorities.follow(onChange), revoked?.follow(onChange)];
      return () => {
        clearInterval(timer);
        for (const each of leave) each?.();
      };
    },
  };
}

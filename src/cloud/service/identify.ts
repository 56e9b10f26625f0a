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

/** What callers are judged by. */
export interface IdentifierOptions {
  authorities: Pick<ClientAuthorities, "check" | "follow">;
  /** Left out: nobody is revoked. */
  revoked?: Pick<RevocationFile, "has" | "follow"> | undefined;
  clock: Clock;
}

/** Says who calls, on each call, by the certificate of the connection alone. */
export interface Identifier {
  /**
   * A connection has come; tell it before anybody calls on it. The library of gRPC hides certificates that TLS does not
   * like, and a boat is to be told what is wrong with its own.
   */
  meet: (socket: object) => void;
  /**
   * Who calls; for `ReplicationServer`.
   *
   * @throws {RpcError} `UNAUTHENTICATED`: no certificate, or none that is believed; `PERMISSION_DENIED`: it is another's
   */
  identify: (credentials: Credentials) => string;
  /** Whether a caller would be let in now: no longer when its certificate has expired, is revoked, or lost its authority. */
  isLetIn: (caller: Caller) => boolean;
  /** When the certificates end that boats have shown last, by instance id. */
  ends: CertificateEnds;
  /** Calls `onChange` when somebody may not be let in any more. Answers how to call it no more. */
  follow: (onChange: () => void) => () => void;
}

/** Certificates expire without anybody saying so: who is let in is asked again this often. */
const RECHECK_EVERY_MS = 10_000;
/** Who is refused may call as often as it likes, and is judged only so often. */
const REFUSAL_HOLDS_MS = 1000;

/** Who a connection's certificate is for, as judged by certain authorities. */
interface Judged {
  identity: Identity;
  check: IdentityCheck;
  /** Monotonic. */
  atMs: number;
}

/** Makes one. */
export function identifier({ authorities, revoked, clock }: IdentifierOptions): Identifier {
  const met = new Map<string, PeerCertificate>();
  const ends = new Map<string, number>();
  const judged = new WeakMap<PeerCertificate, Judged>();
  const isRevoked = (serial: string) => revoked?.has(serial) ?? false;

  const decide = (peer: PeerCertificate | undefined, claimed?: string): Identity =>
    authorities.check.decide(peerChain(peer), { nowMs: clock.wallUs() / 1000, claimed, isRevoked });

  const holds = ({ identity, atMs }: Judged): boolean =>
    identity.ok
      ? clock.wallUs() / 1000 <= identity.expiresMs && !identity.serials.some(isRevoked)
      : clock.monoMs() - atMs < REFUSAL_HOLDS_MS;

  /** Signatures take a millisecond, and hold for as long as the authorities are the same. */
  const whoIs = (peer: PeerCertificate | undefined): Identity => {
    const { check } = authorities;
    const known = peer && judged.get(peer);
    if (known?.check === check && holds(known)) return known.identity;
    const identity = decide(peer);
    if (identity.ok) ends.set(identity.instanceId, identity.expiresMs);
    if (peer) judged.set(peer, { identity, check, atMs: clock.monoMs() });
    return identity;
  };

  const peerOf = (address: string, certificate: Credentials["certificate"]) => met.get(address) ?? certificate?.peer;
  return {
    ends,
    meet: (socket) => {
      if (!(socket instanceof TLSSocket)) return;
      const key = `${socket.remoteAddress}:${socket.remotePort}`;
      const peer = socket.getPeerCertificate(true);
      met.set(key, peer);
      socket.once("close", () => {
        if (met.get(key) === peer) met.delete(key);
      });
    },
    identify: ({ certificate, claimedId, address }) => {
      const peer = peerOf(address, certificate);
      const known = whoIs(peer);
      const identity = known.ok && claimedId !== undefined && claimedId !== known.instanceId
        ? decide(peer, claimedId)
        : known;
      if (identity.ok) return identity.instanceId;
      const code = identity.reason === "name-mismatch" ? "PERMISSION_DENIED" : "UNAUTHENTICATED";
      throw new RpcError(code, identity.message);
    },
    isLetIn: ({ certificate, address, instanceId }) => {
      const identity = whoIs(peerOf(address, certificate));
      return identity.ok && identity.instanceId === instanceId;
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

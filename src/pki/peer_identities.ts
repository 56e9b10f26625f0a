import type { CertificateEnds, Clock } from "../base/mod.ts";
import type { ClientAuthorities } from "./client_authorities.ts";
import { type Identity, type IdentityCheck, type PeerCertificate, peerChain, type PeerKind } from "./identity.ts";
import type { RevocationFile } from "./revocation_file.ts";

/** Options of {@linkcode PeerIdentities}. */
export interface PeerIdentitiesOptions {
  /** Kind of the peers; others are refused. */
  kind: PeerKind;
  authorities: Pick<ClientAuthorities, "check" | "follow">;
  /** Left out: no certificate is revoked. */
  revoked?: Pick<RevocationFile, "has" | "follow"> | undefined;
  clock: Clock;
}

/** Peers are checked again at this interval, because certificates expire without an event. */
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

/** Identifies the peers of TLS connections by the current authorities and revoked certificates. */
export class PeerIdentities {
  readonly #options: PeerIdentitiesOptions;
  readonly #checked = new WeakMap<PeerCertificate, Checked>();
  readonly #ends = new Map<string, number>();

  constructor(options: PeerIdentitiesOptions) {
    this.#options = options;
  }

  /** Expiry of the newest certificate of each peer, by name. */
  get ends(): CertificateEnds {
    return this.#ends;
  }

  /**
   * Identity of a peer. Cached, because verifying signatures takes a millisecond.
   *
   * @param claimed its claimed name; undefined: none
   */
  of(peer: PeerCertificate | undefined, claimed?: string): Identity {
    const known = this.#identityOf(peer);
    return known.ok && claimed !== undefined && claimed !== known.name ? this.#decide(peer, claimed) : known;
  }

  /**
   * Calls `onChange` when peers may have to be refused, at the latest 10 s after a certificate has expired. Returns a
   * function that stops the calls.
   */
  follow(onChange: () => void): () => void {
    const { authorities, revoked } = this.#options;
    const timer = setInterval(onChange, RECHECK_EVERY_MS);
    const leave = [authorities.follow(onChange), revoked?.follow(onChange)];
    return () => {
      clearInterval(timer);
      for (const each of leave) each?.();
    };
  }

  #identityOf(peer: PeerCertificate | undefined): Identity {
    const { authorities: { check }, clock } = this.#options;
    const known = peer && this.#checked.get(peer);
    if (known?.check === check && this.#isCurrent(known)) return known.identity;
    const identity = this.#decide(peer);
    if (identity.ok) this.#ends.set(identity.name, identity.expiresMs);
    if (peer) this.#checked.set(peer, { identity, check, atMs: clock.monoMs() });
    return identity;
  }

  #isCurrent({ identity, atMs }: Checked): boolean {
    const { clock } = this.#options;
    return identity.ok
      ? clock.wallUs() / 1000 <= identity.expiresMs && !identity.serials.some(this.#isRevoked)
      : clock.monoMs() - atMs < REFUSAL_HOLDS_MS;
  }

  #decide(peer: PeerCertificate | undefined, claimed?: string): Identity {
    const { kind, authorities, clock } = this.#options;
    const nowMs = clock.wallUs() / 1000;
    return authorities.check.decide(peerChain(peer), { kind, nowMs, claimed, isRevoked: this.#isRevoked });
  }

  readonly #isRevoked = (serial: string): boolean => this.#options.revoked?.has(serial) ?? false;
}

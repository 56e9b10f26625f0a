import { MAX_DEVICE_ADDRESS, NULL_ADDRESS } from "../../frame/mod.ts";

/** Quiet time after a claim before anything else may be sent (ISO 11783-5 §4.5.2), milliseconds. */
export const CLAIM_QUIET_MS = 250;

/** State of the address claim. */
export type ClaimState =
  /** Switched off: neither receives nor sends. */
  | { readonly type: "off" }
  /** Receives claims before it chooses an address; sends nothing. */
  | { readonly type: "listening" }
  /** Has sent a claim and waits for objections. */
  | { readonly type: "claiming"; readonly address: number; readonly untilMs: number }
  | { readonly type: "claimed"; readonly address: number }
  /** Found no free address. Sends only "cannot claim", and takes the first address that becomes free. */
  | { readonly type: "without-address" };

/** The claiming device. */
export interface Claimant {
  readonly name: bigint;
  /** Addresses to try, in this order, cyclically. */
  readonly candidates: readonly number[];
}

/** State of the claim and the known addresses of the bus. */
export interface Claim {
  readonly state: ClaimState;
  /** Addresses in use with the NAME of their device; undefined: not identified. */
  readonly holders: ReadonlyMap<number, bigint | undefined>;
}

/** Events of the claim procedure. */
export type ClaimEvent =
  /** Receiving begins. */
  | { readonly type: "listen" }
  | { readonly type: "power-on"; readonly nowMs: number }
  /** Time has passed. */
  | { readonly type: "time"; readonly nowMs: number }
  /** The last claim was sent now: the quiet time begins. */
  | { readonly type: "sent"; readonly nowMs: number }
  /** The bus was down: the last claim must be repeated. */
  | { readonly type: "again"; readonly nowMs: number }
  /** A device claimed an address, or sent "cannot claim" from the null address. */
  | { readonly type: "heard"; readonly nowMs: number; readonly address: number; readonly name: bigint }
  /** A frame came from an address without a known device. */
  | { readonly type: "spoke"; readonly address: number }
  /** An address has been silent for long. */
  | { readonly type: "gone"; readonly nowMs: number; readonly address: number }
  /** Commanded address (PGN 65240). */
  | { readonly type: "commanded"; readonly nowMs: number; readonly address: number }
  /** A device requests address claims. */
  | { readonly type: "asked" };

/** The claim after an event, and the address to announce on the bus, if any (254: "cannot claim"). */
export interface ClaimStep {
  readonly claim: Claim;
  readonly announce?: number;
}

/** The claim of a device that is switched off. */
export const NEW_CLAIM: Claim = { state: { type: "off" }, holders: new Map() };

/**
 * The address claim procedure of ISO 11783-5: claim, wait, defend against higher NAMEs, yield to lower ones. Pure.
 */
export function stepClaim(claimant: Claimant, { claim, event }: { claim: Claim; event: ClaimEvent }): ClaimStep {
  const { state } = claim;
  if (state.type === "off" && event.type !== "listen" && event.type !== "power-on") return { claim };
  switch (event.type) {
    case "listen":
      return { claim: state.type === "off" ? { ...claim, state: { type: "listening" } } : claim };
    case "power-on":
      return state.type === "off" || state.type === "listening" ? takeNext(claimant, { claim, event }) : { claim };
    case "time":
      if (state.type !== "claiming" || event.nowMs < state.untilMs) return { claim };
      return { claim: { ...claim, state: { type: "claimed", address: state.address } } };
    case "sent":
      return state.type === "claiming" ? { claim: claiming(claim, { address: state.address, event }) } : { claim };
    case "again": {
      const address = addressOf(state);
      return address === undefined ? ask(claim) : take(claim, { address, event });
    }
    case "heard":
      return onOtherClaim(claimant, { claim, event });
    case "spoke":
      if (claim.holders.has(event.address) || addressOf(state) === event.address) return { claim };
      return { claim: { ...claim, holders: new Map(claim.holders).set(event.address, undefined) } };
    case "gone": {
      const holders = new Map(claim.holders);
      holders.delete(event.address);
      return seek(claimant, { claim: { ...claim, holders }, event });
    }
    case "commanded":
      return applyCommand(claimant, { claim, event });
    case "asked":
      return ask(claim);
  }
}

/** The address that a state holds or claims. */
export function addressOf(state: ClaimState): number | undefined {
  return state.type === "claiming" || state.type === "claimed" ? state.address : undefined;
}

function ask(claim: Claim): ClaimStep {
  if (claim.state.type === "without-address") return { claim, announce: NULL_ADDRESS };
  const announce = addressOf(claim.state);
  return announce === undefined ? { claim } : { claim, announce };
}

function onOtherClaim(
  claimant: Claimant,
  { claim, event }: { claim: Claim; event: ClaimEvent & { type: "heard" } },
): ClaimStep {
  if (event.name === claimant.name) return { claim };
  const contested = addressOf(claim.state) === event.address;
  const keeps = contested && claimant.name < event.name;
  const next: Claim = { ...claim, holders: withHolder(claim.holders, { heard: event, keep: !keeps }) };
  if (!contested) return seek(claimant, { claim: next, event });
  if (keeps) return { claim: next, announce: event.address };
  return takeNext(claimant, { claim: next, lost: event.address, event });
}

function withHolder(
  holders: Claim["holders"],
  { heard, keep }: { heard: { address: number; name: bigint }; keep: boolean },
): Claim["holders"] {
  const next = new Map(holders);
  for (const [address, name] of holders) if (name === heard.name) next.delete(address);
  const known = next.get(heard.address);
  // A device with a lower NAME will defend its address, so the holder does not change.
  const defends = known !== undefined && known < heard.name;
  if (keep && !defends && heard.address <= MAX_DEVICE_ADDRESS) next.set(heard.address, heard.name);
  return next;
}

/** Claims a commanded address, unless a known device with a lower NAME holds it. */
function applyCommand(
  { name }: Claimant,
  { claim, event }: { claim: Claim; event: ClaimEvent & { type: "commanded" } },
): ClaimStep {
  const { address } = event;
  const holder = claim.holders.get(address);
  const isLost = holder !== undefined && holder < name;
  if (claim.state.type === "listening" || address > MAX_DEVICE_ADDRESS || isLost) return { claim };
  return addressOf(claim.state) === address ? ask(claim) : take(claim, { address, event });
}

/** Without an address, claims one that has become free. */
function seek(claimant: Claimant, { claim, event }: { claim: Claim; event: { nowMs: number } }): ClaimStep {
  if (claim.state.type !== "without-address") return { claim };
  const address = freeAddress(claimant, { claim });
  return address === undefined ? { claim } : take(claim, { address, event });
}

/** Claims the first free address after the lost one. */
function takeNext(
  claimant: Claimant,
  { claim, lost, event }: { claim: Claim; lost?: number; event: { nowMs: number } },
): ClaimStep {
  const address = freeAddress(claimant, { claim, lost });
  if (address !== undefined) return take(claim, { address, event });
  return { claim: { ...claim, state: { type: "without-address" } }, announce: NULL_ADDRESS };
}

/** An address held by a higher NAME counts as used: other devices are not displaced without need. */
function freeAddress(
  { candidates }: Claimant,
  { claim, lost }: { claim: Claim; lost?: number | undefined },
): number | undefined {
  const first = lost === undefined ? 0 : candidates.indexOf(lost) + 1;
  const inTurn = [...candidates.slice(first), ...candidates.slice(0, first)];
  return inTurn.find((address) => !claim.holders.has(address));
}

function take(claim: Claim, { address, event }: { address: number; event: { nowMs: number } }): ClaimStep {
  return { claim: claiming(claim, { address, event }), announce: address };
}

function claiming(claim: Claim, { address, event }: { address: number; event: { nowMs: number } }): Claim {
  const holders = new Map(claim.holders);
  holders.delete(address);
  return { holders, state: { type: "claiming", address, untilMs: event.nowMs + CLAIM_QUIET_MS } };
}

/** After this time an echo is no longer expected: some gateways do not echo sent frames. */
const ECHO_TIMEOUT_MS = 10_000;

/**
 * Distinguishes echoes of own claims from claims of another device with the same NAME. An echo may arrive after its
 * address has been released.
 */
export class EchoedClaims {
  /** Pending echoes by address. */
  readonly #awaited = new Map<number, { count: number; untilMs: number }>();

  /** A claim of this address is about to be sent. */
  expect(address: number, nowMs: number): void {
    const awaited = this.#awaited.get(address);
    const count = awaited && nowMs <= awaited.untilMs ? awaited.count : 0;
    this.#awaited.set(address, { count: count + 1, untilMs: nowMs + ECHO_TIMEOUT_MS });
  }

  /** True if this is the echo of an own claim. Consumes it. */
  consume(address: number): boolean {
    const awaited = this.#awaited.get(address);
    if (!awaited || awaited.count === 0) return false;
    awaited.count--;
    return true;
  }
}

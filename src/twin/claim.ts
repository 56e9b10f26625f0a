import { MAX_DEVICE_ADDRESS, NULL_ADDRESS } from "../frame/mod.ts";

/** Quiet time after a claim before anything else may be sent (ISO 11783-5 §4.5.2), milliseconds. */
export const CLAIM_QUIET_MS = 250;

/** How far a node is on its way to an address. */
export type ClaimState =
  /** Switched off: hears and says nothing. */
  | { readonly type: "off" }
  /** Has claimed, and waits whether somebody objects. */
  | { readonly type: "claiming"; readonly address: number; readonly untilMs: number }
  | { readonly type: "claimed"; readonly address: number }
  /** Found no address; stays silent but for saying so. */
  | { readonly type: "without-address" };

/** Who claims. */
export interface Claimant {
  readonly name: bigint;
  readonly preferredAddress: number;
  /** Whether it may take another address than the preferred one. */
  readonly selfConfigurable: boolean;
}

/** The state together with what was heard: address → NAME of its holder. */
export interface Claim {
  readonly state: ClaimState;
  readonly holders: ReadonlyMap<number, bigint>;
}

/** What can happen to a claim. */
export type ClaimEvent =
  | { readonly type: "power-on"; readonly nowMs: number }
  /** Time has passed. */
  | { readonly type: "time"; readonly nowMs: number }
  /** Somebody claimed an address, or said from the null address that it found none. */
  | { readonly type: "heard"; readonly nowMs: number; readonly address: number; readonly name: bigint }
  /** Somebody asks who is there. */
  | { readonly type: "asked" };

/** A claim after an event, and the address that must be claimed on the bus now (254: "cannot claim"), if any. */
export interface ClaimStep {
  readonly claim: Claim;
  readonly announce?: number;
}

/** A claim of a node that is switched off. */
export const NEW_CLAIM: Claim = { state: { type: "off" }, holders: new Map() };

/**
 * The address claim procedure of ISO 11783-5: claim, wait, defend against higher NAMEs, give way to lower ones. Pure.
 *
 * @param claimant who claims
 * @param step.claim where it stands
 * @param step.event what happened
 */
export function stepClaim(claimant: Claimant, { claim, event }: { claim: Claim; event: ClaimEvent }): ClaimStep {
  const { state } = claim;
  switch (event.type) {
    case "power-on":
      return state.type === "off"
        ? takeAddress(claimant, { claim, from: claimant.preferredAddress, event })
        : { claim };
    case "time":
      if (state.type !== "claiming" || event.nowMs < state.untilMs) return { claim };
      return { claim: { ...claim, state: { type: "claimed", address: state.address } } };
    case "asked":
      if (state.type === "off") return { claim };
      return { claim, announce: state.type === "without-address" ? NULL_ADDRESS : state.address };
    case "heard":
      return state.type === "off" ? { claim } : hear(claimant, { claim, event });
  }
}

/** Address that this state holds or claims. */
export function addressOf(state: ClaimState): number | undefined {
  return state.type === "claiming" || state.type === "claimed" ? state.address : undefined;
}

function hear(
  claimant: Claimant,
  { claim, event }: { claim: Claim; event: ClaimEvent & { type: "heard" } },
): ClaimStep {
  if (event.name === claimant.name) return { claim };
  const contested = addressOf(claim.state) === event.address;
  const keeps = contested && claimant.name < event.name;
  const next: Claim = { ...claim, holders: withHolder(claim.holders, { heard: event, keep: !keeps }) };
  if (!contested) return { claim: next };
  if (keeps) return { claim: next, announce: event.address };
  return takeAddress(claimant, { claim: next, from: event.address + 1, event });
}

function withHolder(
  holders: ReadonlyMap<number, bigint>,
  { heard, keep }: { heard: { address: number; name: bigint }; keep: boolean },
): ReadonlyMap<number, bigint> {
  const next = new Map(holders);
  for (const [address, name] of holders) if (name === heard.name) next.delete(address);
  if (keep && heard.address <= MAX_DEVICE_ADDRESS) next.set(heard.address, heard.name);
  return next;
}

/** Claims the first free address at or after `from`, going round. An address held by a higher NAME counts as taken. */
function takeAddress(
  claimant: Claimant,
  { claim, from, event }: { claim: Claim; from: number; event: { nowMs: number } },
): ClaimStep {
  const addresses = MAX_DEVICE_ADDRESS + 1;
  const tries = claimant.selfConfigurable ? addresses : from === claimant.preferredAddress ? 1 : 0;
  for (let i = 0; i < tries; i++) {
    const address = (from + i) % addresses;
    if (claim.holders.has(address)) continue;
    const state: ClaimState = { type: "claiming", address, untilMs: event.nowMs + CLAIM_QUIET_MS };
    return { claim: { ...claim, state }, announce: address };
  }
  return { claim: { ...claim, state: { type: "without-address" } }, announce: NULL_ADDRESS };
}

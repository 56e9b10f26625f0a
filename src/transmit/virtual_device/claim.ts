import { MAX_DEVICE_ADDRESS, NULL_ADDRESS } from "../../frame/mod.ts";

/** Quiet time after a claim before anything else may be sent (ISO 11783-5 §4.5.2), milliseconds. */
export const CLAIM_QUIET_MS = 250;

/** How far a node is on its way to an address. */
export type ClaimState =
  /** Switched off: hears and says nothing. */
  | { readonly type: "off" }
  /** Hears who is there before it chooses an address; says nothing. */
  | { readonly type: "listening" }
  /** Has claimed, and waits whether somebody objects. */
  | { readonly type: "claiming"; readonly address: number; readonly untilMs: number }
  | { readonly type: "claimed"; readonly address: number }
  /** Found no address; stays silent but for saying so, and takes the first that becomes free. */
  | { readonly type: "without-address" };

/** Who claims. */
export interface Claimant {
  readonly name: bigint;
  /** Addresses that it may take by itself, in the order in which it tries them; behind the last it begins again. */
  readonly candidates: readonly number[];
}

/** The state together with what was heard. */
export interface Claim {
  readonly state: ClaimState;
  /** Addresses in use: the NAME of the holder, or undefined when it speaks without having said who it is. */
  readonly holders: ReadonlyMap<number, bigint | undefined>;
}

/** What can happen to a claim. */
export type ClaimEvent =
  /** From now on it hears. */
  | { readonly type: "listen" }
  | { readonly type: "power-on"; readonly nowMs: number }
  /** Time has passed. */
  | { readonly type: "time"; readonly nowMs: number }
  /** The last claim has left only now: the quiet time begins here. */
  | { readonly type: "sent"; readonly nowMs: number }
  /** The last claim was not heard by all (the bus was down): it must be made anew. */
  | { readonly type: "again"; readonly nowMs: number }
  /** Somebody claimed an address, or said from the null address that it found none. */
  | { readonly type: "heard"; readonly nowMs: number; readonly address: number; readonly name: bigint }
  /** Somebody speaks from an address whose holder is not known. */
  | { readonly type: "spoke"; readonly address: number }
  /** Nothing was heard of an address for long. */
  | { readonly type: "gone"; readonly nowMs: number; readonly address: number }
  /** Told to take an address (PGN 65240). */
  | { readonly type: "commanded"; readonly nowMs: number; readonly address: number }
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
      return hear(claimant, { claim, event });
    case "spoke":
      if (claim.holders.has(event.address) || addressOf(state) === event.address) return { claim };
      return { claim: { ...claim, holders: new Map(claim.holders).set(event.address, undefined) } };
    case "gone": {
      const holders = new Map(claim.holders);
      holders.delete(event.address);
      return seek(claimant, { claim: { ...claim, holders }, event });
    }
    case "commanded":
      return obey(claimant, { claim, event });
    case "asked":
      return ask(claim);
  }
}

/** Address that this state holds or claims. */
export function addressOf(state: ClaimState): number | undefined {
  return state.type === "claiming" || state.type === "claimed" ? state.address : undefined;
}

function ask(claim: Claim): ClaimStep {
  if (claim.state.type === "without-address") return { claim, announce: NULL_ADDRESS };
  const announce = addressOf(claim.state);
  return announce === undefined ? { claim } : { claim, announce };
}

function hear(
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
  // A lower NAME is going to defend its address, and the other one will go: until then nothing has changed hands.
  const defends = known !== undefined && known < heard.name;
  if (keep && !defends && heard.address <= MAX_DEVICE_ADDRESS) next.set(heard.address, heard.name);
  return next;
}

/** Takes the address it is told to, unless it knows that it would lose it at once: then it stays where it is. */
function obey(
  { name }: Claimant,
  { claim, event }: { claim: Claim; event: ClaimEvent & { type: "commanded" } },
): ClaimStep {
  const { address } = event;
  const holder = claim.holders.get(address);
  const isLost = holder !== undefined && holder < name;
  if (claim.state.type === "listening" || address > MAX_DEVICE_ADDRESS || isLost) return { claim };
  return addressOf(claim.state) === address ? ask(claim) : take(claim, { address, event });
}

/** Who has no address takes one that has become free. */
function seek(claimant: Claimant, { claim, event }: { claim: Claim; event: { nowMs: number } }): ClaimStep {
  if (claim.state.type !== "without-address") return { claim };
  const address = freeAddress(claimant, { claim });
  return address === undefined ? { claim } : take(claim, { address, event });
}

/** Claims the first free address behind the lost one. */
function takeNext(
  claimant: Claimant,
  { claim, lost, event }: { claim: Claim; lost?: number; event: { nowMs: number } },
): ClaimStep {
  const address = freeAddress(claimant, { claim, lost });
  if (address !== undefined) return take(claim, { address, event });
  return { claim: { ...claim, state: { type: "without-address" } }, announce: NULL_ADDRESS };
}

/** An address held by a higher NAME counts as taken: nobody is driven out without need. */
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

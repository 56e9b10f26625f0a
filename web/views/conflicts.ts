import type { DeviceRow } from "./device_rows.ts";

/** What was seen of addresses while the page was open. */
export type Conflict =
  & { timeMs: number; bus: string | undefined }
  & (
    /** Two devices claim one address. */
    | { type: "address"; src: number; names: readonly [string, string] }
    /** One NAME is claimed from two addresses. */
    | { type: "name"; name: string; addresses: readonly [number, number] }
    /** A device has found no free address. */
    | { type: "no address"; name: string }
    /** A device has changed its address. */
    | { type: "moved"; name: string; from: number; to: number }
    /** Another device has an address now. */
    | { type: "passed on"; src: number; names: readonly [string, string] }
  );

/** A claim of an address. */
export interface Claim {
  bus: string | undefined;
  src: number;
  name: string;
  timeMs: number;
}

/** Source address of a device that has found none. */
const NO_ADDRESS = 254;
/** Claims of one address within this time contend for it: a device waits 250 ms for others before it sends. */
const CONTEND_MS = 2000;
/** A table may be older than a claim that was heard meanwhile. */
const TABLE_DELAY_MS = 5000;
/** Most entries that are kept. */
const MAX_CONFLICTS = 50;

interface Holder {
  name: string;
  timeMs: number;
  /** Everybody who has claimed the address. */
  names: Set<string>;
}

interface Owner {
  src: number;
  timeMs: number;
  /** All addresses that the NAME was claimed from. */
  addresses: Set<number>;
}

/** Finds conflicts of addresses and NAMEs in address claims and device tables. */
export class ConflictWatch {
  readonly #holders = new Map<string, Holder>();
  readonly #owners = new Map<string, Owner>();
  readonly #conflicts: Conflict[] = [];

  /** Newest first. */
  get conflicts(): readonly Conflict[] {
    return this.#conflicts.toReversed();
  }

  /** A device table as of now. The first one is where watching begins. */
  table(devices: readonly DeviceRow[], nowMs: number): void {
    for (const { bus, src, name } of devices) {
      if (name === undefined) continue;
      const [holder, owner] = [this.#holders.get(`${bus}/${src}`), this.#owners.get(`${bus}/${name}`)];
      if (holder?.name === name && owner?.src === src) continue;
      if (Math.max(holder?.timeMs ?? 0, owner?.timeMs ?? 0) > nowMs - TABLE_DELAY_MS) continue;
      this.claimed({ bus, src, name, timeMs: nowMs });
    }
  }

  /** A claim was heard. */
  claimed(claim: Claim): void {
    const { bus, src, name, timeMs } = claim;
    if (src === NO_ADDRESS) return this.#add({ type: "no address", name, bus, timeMs });
    this.#claimAddress(claim);
    this.#claimName(claim);
  }

  #claimAddress({ bus, src, name, timeMs }: Claim): void {
    const key = `${bus}/${src}`;
    const holder = this.#holders.get(key);
    if (holder && holder.name !== name) {
      const contended = holder.names.has(name) || timeMs - holder.timeMs < CONTEND_MS;
      this.#add({ type: contended ? "address" : "passed on", src, names: [holder.name, name], bus, timeMs });
    }
    this.#holders.set(key, { name, timeMs, names: (holder?.names ?? new Set()).add(name) });
  }

  #claimName({ bus, src, name, timeMs }: Claim): void {
    const key = `${bus}/${name}`;
    const owner = this.#owners.get(key);
    if (owner && owner.src !== src) {
      this.#add(
        owner.addresses.has(src)
          ? { type: "name", name, addresses: [owner.src, src], bus, timeMs }
          : { type: "moved", name, from: owner.src, to: src, bus, timeMs },
      );
    }
    this.#owners.set(key, { src, timeMs, addresses: (owner?.addresses ?? new Set()).add(src) });
  }

  /** Keeps one entry for each conflict, with its newest time. */
  #add(conflict: Conflict): void {
    const key = keyOf(conflict);
    const before = this.#conflicts.findIndex((each) => keyOf(each) === key);
    if (before >= 0) this.#conflicts.splice(before, 1);
    this.#conflicts.push(conflict);
    if (this.#conflicts.length > MAX_CONFLICTS) this.#conflicts.shift();
  }
}

/** NAME in the payload of an address claim, such as `0xc07891001cb260c1`; undefined: the payload is too short. */
export function nameOfClaim(data: string): string | undefined {
  const bytes = data.slice(0, 16).match(/../g);
  return bytes?.length === 8 ? `0x${bytes.reverse().join("")}` : undefined;
}

/** Whether a device has a part in it. */
export function concerns(conflict: Conflict, { bus, src, name }: Pick<DeviceRow, "bus" | "src" | "name">): boolean {
  if (conflict.bus !== bus) return false;
  switch (conflict.type) {
    case "address":
      return conflict.src === src || (name !== undefined && conflict.names.includes(name));
    case "passed on":
      return conflict.src === src;
    default:
      return conflict.name === name;
  }
}

/** A conflict for people. */
export function conflictText(conflict: Conflict, titleOf: (name: string) => string): string {
  const bus = conflict.bus === undefined ? "" : ` on ${conflict.bus}`;
  switch (conflict.type) {
    case "address":
      return `Two devices claim address ${conflict.src}${bus}: ${conflict.names.map(titleOf).join(" and ")}`;
    case "name":
      return `Two addresses${bus}, ${conflict.addresses.join(" and ")}, have one NAME: ${titleOf(conflict.name)}`;
    case "no address":
      return `No address is left${bus} for ${titleOf(conflict.name)}`;
    case "moved":
      return `Address changed${bus} from ${conflict.from} to ${conflict.to}: ${titleOf(conflict.name)}`;
    case "passed on":
      return `Address ${conflict.src}${bus} passed from ${conflict.names.map(titleOf).join(" to ")}`;
  }
}

/** Whether two devices disturb each other, or one cannot send: not merely a change. */
export function isProblem({ type }: Conflict): boolean {
  return type === "address" || type === "name" || type === "no address";
}

/** NAMEs that the table has on more than one bus: a bridge, or two devices with one NAME. */
export function namesOnTwoBuses(devices: readonly DeviceRow[]): Map<string, DeviceRow[]> {
  const named = Map.groupBy(devices.filter(({ name }) => name !== undefined), ({ name = "" }) => name);
  return new Map([...named].filter(([, found]) => found.length > 1));
}

function keyOf(conflict: Conflict): string {
  const { type, bus } = conflict;
  switch (conflict.type) {
    case "address":
    case "passed on":
      return [type, bus, conflict.src, ...conflict.names.toSorted()].join(" ");
    case "name":
      return [type, bus, conflict.name, ...conflict.addresses.toSorted()].join(" ");
    case "no address":
      return [type, bus, conflict.name].join(" ");
    case "moved":
      return [type, bus, conflict.name, conflict.from, conflict.to].join(" ");
  }
}

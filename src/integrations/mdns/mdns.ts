import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs, type BackoffOptions, errorText, type Logger } from "../../base/mod.ts";
import { type FoundBoat, readService, type SeenService } from "./browse.ts";
import { freeName, hostOf } from "./name.ts";
import { BOAT_SERVICE, type Multicast, type MulticastOptions, openMulticast, PEER_SERVICE } from "./socket.ts";

/** State of the announcement. */
export type MdnsState =
  /** Nothing to announce: stopped, or a server that only its own machine can reach. */
  | { type: "off"; reason: string }
  /** Not announced now; tried again. */
  | { type: "waiting"; reason: string }
  /** Found under this name. */
  | { type: "announced"; name: string };

/** Options of the announcement. */
export interface MdnsOptions {
  /** Wanted instance name; another one is taken while somebody has this one. See `checkInstanceName`. */
  name: string;
  /** Address that the server listens on. */
  listening: { hostname: string; port: number };
  /** True for HTTPS. */
  tls: boolean;
  /** Version of the server. */
  version: string;
  /** Instance id under which the boat is replicated. */
  instance?: string | undefined;
  /** Announces it as `_lplex._tcp`, too, for clients of lplex; default false. */
  lplex?: boolean | undefined;
  /** Told of names, failures and their end, once each. */
  log: Logger;
  /** Where mDNS is spoken, default everywhere. */
  multicast?: MulticastOptions;
  /** Waits after a failure, default 5 s doubling to 1 min. */
  retry?: { firstMs: number; capMs: number };
  /** Addresses of the machine's network, default the real ones; internal ones left out. */
  addresses?: () => string[];
  /** How often they are looked at, default 5000. */
  lookMs?: number;
}

/** Why a session has ended. */
type End = "stopped" | "network changed" | "name lost" | { failed: string };

/** Version of the HTTP API, told as `api`. */
const API_VERSION = "1";
const RETRY: BackoffOptions = { firstMs: 5000, capMs: 60_000 };
const LOOK_MS = 5000;
/** Questions for others with our name before it is ours, and the wait after each (RFC 6762, section 8.1). */
const PROBES = 3;
const PROBE_MS = 250;
/** An announcement comes back to who sent it; one that has not by then did not reach the network. */
const HEARD_MS = 3000;
const GOODBYE_MS = 500;
/** A TXT string has at most 255 bytes, its key included. */
const MAX_INSTANCE_CHARS = 60;

/**
 * Announces a boat server as `_vbg._tcp` on the local network, for as long as it runs. Nothing that goes wrong is fatal:
 * it is logged once and tried again, and a network that comes later is used. Two servers with one name agree on who gets
 * another one.
 */
export class MdnsAnnouncer {
  readonly #options: MdnsOptions;
  readonly #stop = new AbortController();
  /** Tells our records from another's with the same name. */
  readonly #id = crypto.randomUUID().slice(0, 8);
  readonly #running: Promise<void>;
  #state: MdnsState = { type: "waiting", reason: "starting" };
  /** What was logged last; told once while it stays so. */
  #told = "";

  /** Starts the announcement. */
  constructor(options: MdnsOptions) {
    this.#options = options;
    if (isLoopback(options.listening.hostname)) {
      this.#state = { type: "off", reason: "the server listens on this machine alone" };
      this.#running = Promise.resolve();
    } else {
      this.#running = this.#run();
    }
  }

  /** How it does now. */
  get state(): MdnsState {
    return this.#state;
  }

  /** Says goodbye and ends. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#state = { type: "off", reason: "stopped" };
  }

  async #run(): Promise<void> {
    let failures = 0;
    for (;;) {
      const end = await this.#session();
      if (end === "stopped") return;
      if (typeof end !== "object") {
        this.#state = { type: "waiting", reason: end };
        failures = 0;
        continue;
      }
      this.#state = { type: "waiting", reason: end.failed };
      this.#tell("warn", "cannot announce the boat by mDNS, trying again", { reason: end.failed });
      failures++;
      const before = this.#network();
      const until = performance.now() + backoffMs(failures, this.#options.retry ?? RETRY);
      while (performance.now() < until && this.#network() === before) {
        if (!await this.#sleep(Math.min(until - performance.now(), this.#lookMs))) return;
      }
    }
  }

  /** From opening a socket until it is of no more use. */
  async #session(): Promise<End> {
    const network = this.#network();
    if (network === "") return { failed: "no network" };
    let failed: string | undefined;
    const onError = (error: unknown) => {
      failed ??= errorText(error);
    };
    try {
      await using multicast = await openMulticast({ ...this.#options.multicast, onError });
      const watch = watchOthers(multicast, this.#id);
      for (let i = 0; i < PROBES; i++) {
        if (!await this.#sleep(PROBE_MS)) return "stopped";
        watch.ask();
      }
      if (!await this.#sleep(PROBE_MS)) return "stopped";
      const name = freeName(this.#options.name, watch.others().map((other) => other.name));
      watch.claim(name);
      this.#publish(multicast, name);
      const end = await this.#hold(watch, { name, network, failed: () => failed });
      // A name that another has keeps its records: a goodbye would take them away from the other, too.
      if (end === "stopped") await goodbye(multicast);
      return end;
    } catch (error) {
      return { failed: errorText(error) };
    }
  }

  /** Waits for what ends a session. */
  async #hold(
    watch: Watch,
    { name, network, failed }: { name: string; network: string; failed: () => string | undefined },
  ): Promise<End> {
    const heardBy = performance.now() + HEARD_MS;
    for (;;) {
      if (watch.lost()) {
        this.#tell("warn", "another server has the same mDNS name, taking a new one", { name });
        return "name lost";
      }
      const problem = failed();
      if (problem !== undefined) return { failed: problem };
      if (this.#network() !== network) return "network changed";
      if (watch.heard() && this.#state.type !== "announced") this.#announced(name);
      if (!watch.heard() && performance.now() > heardBy) {
        return { failed: "what is sent to the network does not come back: no multicast" };
      }
      await Promise.race([watch.next(), this.#sleep(watch.heard() ? this.#lookMs : PROBE_MS)]);
      if (this.#stop.signal.aborted) return "stopped";
    }
  }

  #announced(name: string): void {
    this.#state = { type: "announced", name };
    this.#tell("info", "announced by mDNS", {
      name,
      ...(name !== this.#options.name && { wanted: this.#options.name }),
    });
  }

  #publish({ bonjour }: Multicast, name: string): void {
    const { name: boat, listening, tls, version, instance, lplex = false } = this.#options;
    const place = {
      name,
      port: listening.port,
      host: hostOf(name),
      // Probing is done here: the library prints what it finds and gives up.
      probe: false,
      disableIPv6: !listening.hostname.includes(":"),
    };
    if (lplex) bonjour.publish({ ...place, type: PEER_SERVICE });
    bonjour.publish({
      ...place,
      type: BOAT_SERVICE,
      txt: {
        version,
        path: "/",
        boat,
        tls: tls ? "1" : "0",
        api: API_VERSION,
        ...(instance !== undefined && { instance: instance.slice(0, MAX_INSTANCE_CHARS) }),
        id: this.#id,
      },
    });
  }

  #tell(level: "info" | "warn", message: string, fields: Record<string, string>): void {
    const line = JSON.stringify([message, fields]);
    if (line === this.#told) return;
    this.#told = line;
    this.#options.log[level](message, fields);
  }

  /** The machine's addresses, as a text to compare. */
  #network(): string {
    try {
      return (this.#options.addresses ?? addressesOfMachine)().toSorted().join(" ");
    } catch {
      // It may not be asked; the session will say so.
      return "unknown";
    }
  }

  get #lookMs(): number {
    return this.#options.lookMs ?? LOOK_MS;
  }

  /** Whether to go on after so long. */
  async #sleep(ms: number): Promise<boolean> {
    if (!this.#stop.signal.aborted) {
      await sleep(Math.max(0, ms), undefined, { signal: this.#stop.signal }).catch(() => {});
    }
    return !this.#stop.signal.aborted;
  }
}

/** What is heard of boats on the network. */
interface Watch {
  ask(): void;
  others(): FoundBoat[];
  /** From now on the name is ours. */
  claim(name: string): void;
  /** Whether our own announcement came back. */
  heard(): boolean;
  /** Whether another has our name and keeps it. */
  lost(): boolean;
  /** Resolves when one of these changes; also when it is called again. */
  next(): Promise<void>;
}

function watchOthers({ bonjour }: Multicast, id: string): Watch {
  const browser = bonjour.find({ type: BOAT_SERVICE });
  let claimed: string | undefined;
  let heard = false;
  let lost = false;
  let changed = Promise.withResolvers<void>();
  const look = (boat: FoundBoat) => {
    if (claimed === undefined || boat.name.toLowerCase() !== claimed.toLowerCase()) return;
    if (boat.txt.id === id) heard = true;
    else if (keepsName(boat.txt.id, id)) lost = true;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  for (const event of ["up", "txt-update", "srv-update"] as const) {
    browser.on(event, (service: SeenService, _before?: SeenService) => look(readService(service)));
  }
  return {
    ask: () => browser.update(),
    others: () => browser.services.map(readService).filter(({ txt }) => txt.id !== id),
    claim: (name) => claimed = name,
    heard: () => heard,
    lost: () => lost,
    next: () => {
      // A promise of its own for each wait: one that outlives many waits would keep them all in memory.
      changed.resolve();
      changed = Promise.withResolvers();
      return changed.promise;
    },
  };
}

/**
 * Of two servers that have taken one name at the same time, or on networks that were joined later, the one with the lower
 * id keeps it. Who has no id is no server of ours and does not know this rule.
 */
function keepsName(other: string | undefined, own: string): boolean {
  return other === undefined || other < own;
}

/** Sends the goodbye records. */
async function goodbye({ bonjour }: Multicast): Promise<void> {
  const said = new Promise<void>((resolve) => bonjour.unpublishAll(() => resolve()));
  const late = new AbortController();
  await Promise.race([said, sleep(GOODBYE_MS, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
}

function addressesOfMachine(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal).map(({ address }) => address);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || hostname.startsWith("127.");
}

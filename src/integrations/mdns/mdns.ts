import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs, type BackoffOptions, errorText, type Logger } from "../../base/mod.ts";
import { type FoundBoat, readService, type SeenService } from "./browse.ts";
import { freeName, hostOf } from "./name.ts";
import { BOAT_SERVICE, type Multicast, type MulticastOptions, openMulticast } from "./socket.ts";

/** State of the announcement. */
export type MdnsState =
  /** Nothing to announce: stopped, or the server listens on a loopback address. */
  | { type: "off"; reason: string }
  /** Not announced now; retried. */
  | { type: "waiting"; reason: string }
  /** Announced under this name. */
  | { type: "announced"; name: string };

/** A service that is announced besides `_vbg._tcp`, under the same name and port. */
export interface MdnsService {
  /** Type without `_` and `._tcp`: `signalk-http`. */
  type: string;
  /** TXT record; default empty. */
  txt?: Readonly<Record<string, string>>;
}

/** Options of the announcement. */
export interface MdnsOptions {
  /** Wanted instance name; if it is in use, a number is appended. See `checkInstanceName`. */
  name: string;
  /** Address that the server listens on. */
  listening: { hostname: string; port: number };
  /** True for HTTPS. */
  tls: boolean;
  /** Version of the server. */
  version: string;
  /** Instance id under which the boat is replicated. */
  instance?: string | undefined;
  /** Further services; default none. */
  services?: readonly MdnsService[];
  /** Receives names, failures and their end, once each. */
  log: Logger;
  /** Multicast port and interface; default port 5353 on all interfaces. */
  multicast?: MulticastOptions;
  /** Waits after a failure; default 5 s, doubling to 1 min. */
  retry?: { firstMs: number; capMs: number };
  /** Returns the addresses of the machine without internal ones; default those of its interfaces. */
  addresses?: () => string[];
  /** Interval at which they are checked for changes, milliseconds; default 5000. */
  networkCheckMs?: number;
}

/** Why a session has ended. */
type End = "stopped" | "network changed" | "name lost" | { failed: string };

/** Version of the HTTP API, announced as `api`. */
const API_VERSION = "1";
const RETRY: BackoffOptions = { firstMs: 5000, capMs: 60_000 };
const NETWORK_CHECK_MS = 5000;
/** Number of queries for others with our name before we use it, and the wait after each (RFC 6762, section 8.1). */
const PROBES = 3;
const PROBE_MS = 250;
/** Multicast is looped back to its sender: an announcement not received within this time did not reach the network. */
const LOOPBACK_TIMEOUT_MS = 3000;
const GOODBYE_MS = 500;
/** A TXT string has at most 255 bytes, its key included. */
const MAX_INSTANCE_CHARS = 60;

/**
 * Announces a boat server as `_vbg._tcp` on the local network while it runs. Failures are not fatal: they are logged once
 * and retried, and networks that come up later are used. Of two servers with the same name, one takes another name.
 */
export class MdnsAnnouncer {
  readonly #options: MdnsOptions;
  readonly #stop = new AbortController();
  /** Distinguishes our records from those of another server with the same name. */
  readonly #id = crypto.randomUUID().slice(0, 8);
  readonly #running: Promise<void>;
  #state: MdnsState = { type: "waiting", reason: "starting" };
  /** The last log line; not repeated. */
  #logged = "";

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

  /** Current state. */
  get state(): MdnsState {
    return this.#state;
  }

  /** Withdraws the announcement (goodbye records) and stops. */
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
      this.#logOnce("warn", "cannot announce the boat by mDNS, trying again", { reason: end.failed });
      failures++;
      const before = this.#network();
      const until = performance.now() + backoffMs(failures, this.#options.retry ?? RETRY);
      while (performance.now() < until && this.#network() === before) {
        if (!await this.#sleep(Math.min(until - performance.now(), this.#networkCheckMs))) return;
      }
    }
  }

  /** Opens a socket and announces the boat until something ends the session. */
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
        watch.query();
      }
      if (!await this.#sleep(PROBE_MS)) return "stopped";
      const name = freeName(this.#options.name, watch.others().map((other) => other.name));
      watch.claim(name);
      this.#publish(multicast, name);
      const end = await this.#hold(watch, { name, network, failed: () => failed });
      // After "name lost" no goodbye: it would withdraw the records of the other server, too.
      if (end === "stopped") await goodbye(multicast);
      return end;
    } catch (error) {
      return { failed: errorText(error) };
    }
  }

  /** Waits until the session ends. */
  async #hold(
    watch: Watch,
    { name, network, failed }: { name: string; network: string; failed: () => string | undefined },
  ): Promise<End> {
    const receivedBy = performance.now() + LOOPBACK_TIMEOUT_MS;
    for (;;) {
      if (watch.isLost()) {
        this.#logOnce("warn", "another server has the same mDNS name, taking a new one", { name });
        return "name lost";
      }
      const problem = failed();
      if (problem !== undefined) return { failed: problem };
      if (this.#network() !== network) return "network changed";
      if (watch.isReceived() && this.#state.type !== "announced") this.#announced(name);
      if (!watch.isReceived() && performance.now() > receivedBy) {
        return { failed: "our own announcement was not received: the network has no multicast" };
      }
      await Promise.race([watch.next(), this.#sleep(watch.isReceived() ? this.#networkCheckMs : PROBE_MS)]);
      if (this.#stop.signal.aborted) return "stopped";
    }
  }

  #announced(name: string): void {
    this.#state = { type: "announced", name };
    this.#logOnce("info", "announced by mDNS", {
      name,
      ...(name !== this.#options.name && { wanted: this.#options.name }),
    });
  }

  #publish({ bonjour }: Multicast, name: string): void {
    const { name: boat, listening, tls, version, instance, services = [] } = this.#options;
    const service = {
      name,
      port: listening.port,
      host: hostOf(name),
      // Probing is done by this class: on a conflict, the library prints it and gives up.
      probe: false,
      disableIPv6: !listening.hostname.includes(":"),
    };
    for (const { type, txt = {} } of services) bonjour.publish({ ...service, type, txt: { ...txt } });
    bonjour.publish({
      ...service,
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

  #logOnce(level: "info" | "warn", message: string, fields: Record<string, string>): void {
    const line = JSON.stringify([message, fields]);
    if (line === this.#logged) return;
    this.#logged = line;
    this.#options.log[level](message, fields);
  }

  /** The machine's addresses as text, to be compared. */
  #network(): string {
    try {
      return (this.#options.addresses ?? addressesOfMachine)().toSorted().join(" ");
    } catch {
      // No permission: the session fails with the reason.
      return "unknown";
    }
  }

  get #networkCheckMs(): number {
    return this.#options.networkCheckMs ?? NETWORK_CHECK_MS;
  }

  /** Waits; returns false when the announcer was stopped. */
  async #sleep(ms: number): Promise<boolean> {
    if (!this.#stop.signal.aborted) {
      await sleep(Math.max(0, ms), undefined, { signal: this.#stop.signal }).catch(() => {});
    }
    return !this.#stop.signal.aborted;
  }
}

/** Announcements of boats received from the network. */
interface Watch {
  query(): void;
  others(): FoundBoat[];
  /** Sets our name. */
  claim(name: string): void;
  /** True when our own announcement was received. */
  isReceived(): boolean;
  /** True when another server has our name and keeps it. */
  isLost(): boolean;
  /** Resolves when an announcement with our name is received; also when it is called again. */
  next(): Promise<void>;
}

function watchOthers({ bonjour }: Multicast, id: string): Watch {
  const browser = bonjour.find({ type: BOAT_SERVICE });
  let claimed: string | undefined;
  let isReceived = false;
  let isLost = false;
  let changed = Promise.withResolvers<void>();
  const accept = (boat: FoundBoat) => {
    if (claimed === undefined || boat.name.toLowerCase() !== claimed.toLowerCase()) return;
    if (boat.txt.id === id) isReceived = true;
    else if (keepsName(boat.txt.id, id)) isLost = true;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  for (const event of ["up", "txt-update", "srv-update"] as const) {
    browser.on(event, (service: SeenService, _before?: SeenService) => accept(readService(service)));
  }
  return {
    query: () => browser.update(),
    others: () => browser.services.map(readService).filter(({ txt }) => txt.id !== id),
    claim: (name) => claimed = name,
    isReceived: () => isReceived,
    isLost: () => isLost,
    next: () => {
      // A promise of its own for each wait: one that outlives many waits would keep them all in memory.
      changed.resolve();
      changed = Promise.withResolvers();
      return changed.promise;
    },
  };
}

/**
 * Two servers can have the same name if they started at the same time, or on networks that were joined later. The one with
 * the lower id keeps it. A server without an id is another product and always keeps it.
 */
function keepsName(other: string | undefined, own: string): boolean {
  return other === undefined || other < own;
}

/** Sends the goodbye records. */
async function goodbye({ bonjour }: Multicast): Promise<void> {
  const sent = new Promise<void>((resolve) => bonjour.unpublishAll(() => resolve()));
  const timeout = new AbortController();
  await Promise.race([sent, sleep(GOODBYE_MS, undefined, { signal: timeout.signal }).catch(() => {})]);
  timeout.abort();
}

function addressesOfMachine(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal).map(({ address }) => address);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || hostname.startsWith("127.");
}

import { BOAT_SERVICE, type MulticastOptions, openMulticast } from "./socket.ts";

/** A boat server found on the network. */
export interface FoundBoat {
  /** Instance name, unique on the network. */
  name: string;
  /** Host name, `vbg-….local`. */
  host: string;
  /** Port of the API. */
  port: number;
  /** IPv4 addresses, then IPv6 addresses that are not link-local. */
  addresses: string[];
  /** Base URL of the API: with the first address, or without any with the host name. */
  url: string;
  /** Properties of the service: `version`, `path`, `boat`, `tls`, `api`, `instance`. */
  txt: Record<string, string>;
}

/** Options of {@linkcode findBoats}. */
export interface FindBoatsOptions {
  /** Instance name or instance id, case-insensitive; default all boats. The first match ends the search. */
  name?: string;
  /** Duration of the search, milliseconds; default 2000. */
  timeoutMs?: number;
  /** Multicast port and interface; default port 5353 on all interfaces. */
  multicast?: MulticastOptions;
}

/** A service as the mDNS library reports it. */
export interface SeenService {
  name: string;
  host: string;
  port: number;
  addresses?: string[];
  txt?: unknown;
}

const FIND_TIMEOUT_MS = 2000;
/** Queries are repeated, because they can get lost (RFC 6762, section 5.2). */
const QUERY_INTERVAL_MS = 500;

/**
 * Finds boat servers on the network by mDNS.
 *
 * @returns boats sorted by name; empty when there are none
 * @throws {Error} multicast DNS is unavailable
 *
 * @example
 * ```ts ignore
 * const [boat] = await findBoats({ name: "aurora" });
 * const devices = await fetch(`${boat.url}/devices`);
 * ```
 */
export async function findBoats(
  { name, timeoutMs = FIND_TIMEOUT_MS, multicast = {} }: FindBoatsOptions = {},
): Promise<FoundBoat[]> {
  await using opened = await openMulticast({ ...multicast, onError: () => {} });
  const browser = opened.bonjour.find({ type: BOAT_SERVICE });
  const found = () => browser.services.map(readService).filter((boat) => name === undefined || isNamed(boat, name));
  const queries = setInterval(() => browser.update(), QUERY_INTERVAL_MS);
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
      const check = () => {
        if (name !== undefined && found().length > 0) resolve();
      };
      for (const event of ["up", "txt-update", "srv-update"] as const) browser.on(event, check);
    });
  } finally {
    clearTimeout(timer);
    clearInterval(queries);
    browser.stop();
  }
  return found().sort((a, b) => a.name.localeCompare(b.name));
}

/** Converts a service to a boat. */
export function readService({ name, host, port, addresses = [], txt }: SeenService): FoundBoat {
  const properties = readText(txt);
  const usable = [...addresses.filter((each) => !each.includes(":")), ...addresses.filter(isReachable6)];
  const [first = host] = usable;
  const authority = first.includes(":") ? `[${first}]` : first;
  return {
    name,
    host,
    port,
    addresses: [...new Set(usable)],
    url: `${properties.tls === "1" ? "https" : "http"}://${authority}:${port}`,
    txt: properties,
  };
}

function isNamed({ name, txt }: FoundBoat, wanted: string): boolean {
  return [name, txt.instance].some((each) => each?.toLowerCase() === wanted.toLowerCase());
}

/** A link-local address cannot be used without its interface, which DNS does not contain. */
function isReachable6(address: string): boolean {
  return address.includes(":") && !/^fe[89ab]/i.test(address);
}

function readText(txt: unknown): Record<string, string> {
  if (typeof txt !== "object" || txt === null) return {};
  return Object.fromEntries(Object.entries(txt).map(([key, value]) => [key.toLowerCase(), String(value)]));
}

import { BOAT_SERVICE, type MulticastOptions, openMulticast } from "./socket.ts";

/** A boat server found on the network. */
export interface FoundBoat {
  /** Instance name, unique on the network. */
  name: string;
  /** Name of its machine, `vbg-….local`. */
  host: string;
  /** Port of its API. */
  port: number;
  /** Its addresses: IPv4, then IPv6; link-local ones last. */
  addresses: string[];
  /** Base address of its API, by its first address; where it has none, by its host. */
  url: string;
  /** What else it says of itself: `version`, `path`, `boat`, `tls`, `api`, `instance`. */
  txt: Record<string, string>;
}

/** Options of {@linkcode findBoats}. */
export interface FindBoatsOptions {
  /** Instance name or instance id, in any case; default all boats. The first that fits ends the search. */
  name?: string;
  /** Default 2000. */
  timeoutMs?: number;
  /** Where is looked, default everywhere. */
  multicast?: MulticastOptions;
}

/** What a browser knows of a service. */
export interface SeenService {
  name: string;
  host: string;
  port: number;
  addresses?: string[];
  txt?: unknown;
}

const FIND_TIMEOUT_MS = 2000;
/** A question may get lost: it is asked again (RFC 6762, section 5.2). */
const ASK_EVERY_MS = 500;

/**
 * Finds boat servers on the network by mDNS.
 *
 * @returns in the order of their names; empty when there are none
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
  const found = () => browser.services.map(readService).filter((boat) => name === undefined || answersTo(boat, name));
  const asking = setInterval(() => browser.update(), ASK_EVERY_MS);
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
      const look = () => {
        if (name !== undefined && found().length > 0) resolve();
      };
      for (const event of ["up", "txt-update", "srv-update"] as const) browser.on(event, look);
    });
  } finally {
    clearTimeout(timer);
    clearInterval(asking);
    browser.stop();
  }
  return found().sort((a, b) => a.name.localeCompare(b.name));
}

/** Turns what a browser knows into a boat. */
export function readService({ name, host, port, addresses = [], txt }: SeenService): FoundBoat {
  const words = readText(txt);
  const usable = [...addresses.filter((each) => !each.includes(":")), ...addresses.filter(isReachable6)];
  const [first = host] = usable;
  const authority = first.includes(":") ? `[${first}]` : first;
  return {
    name,
    host,
    port,
    addresses: [...new Set(usable)],
    url: `${words.tls === "1" ? "https" : "http"}://${authority}:${port}`,
    txt: words,
  };
}

function answersTo({ name, txt }: FoundBoat, wanted: string): boolean {
  return [name, txt.instance].some((each) => each?.toLowerCase() === wanted.toLowerCase());
}

/** Link-local addresses mean nothing without an interface, which DNS does not tell. */
function isReachable6(address: string): boolean {
  return address.includes(":") && !/^fe[89ab]/i.test(address);
}

function readText(txt: unknown): Record<string, string> {
  if (typeof txt !== "object" || txt === null) return {};
  return Object.fromEntries(Object.entries(txt).map(([key, value]) => [key.toLowerCase(), String(value)]));
}

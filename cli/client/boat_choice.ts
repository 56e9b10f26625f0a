import type { FindBoatsOptions, FoundBoat } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/base";
import {
  type Client,
  type ClientOptions,
  type CloudClient,
  connect,
  connectCloud,
  type Filter,
} from "@vessel/gateway/client";
import type { Environment } from "../settings/options.ts";
import { BoatAddresses, cloudBoatAddress, type ServerAddress, serverAddressOf } from "./boat_addresses.ts";
import type { ClientConfig, ConfiguredBoat, Exclusions } from "./client_config.ts";
import type { ServerChoice } from "./client_options.ts";
import { findLocalServer, LOCAL_SERVERS } from "./local_servers.ts";

/** The chosen server. */
export interface ChosenServer {
  client: Client;
  /** For people: the boat's name, or the address. */
  label: string;
  /** Exclusions of the configuration. */
  exclusions: Filter;
  /** The current server, for people: `aurora (http://192.168.1.5:8089)`. */
  serverText(): string;
  /** The current server's URLs. */
  address(): Pick<ServerAddress, "url" | "root">;
  /** The cloud that answers for the boat. @throws {TypeError} the boat's own server answers */
  cloud(): { client: CloudClient; id: string };
}

/** Searches the network for boat servers, as `findBoats` does. */
export type Discover = (options: FindBoatsOptions) => Promise<FoundBoat[]>;

/** Searches by mDNS. Loaded on demand: not needed if the address is given. */
export const discoverOnNetwork: Discover = async (options) => (await import("@vessel/gateway")).findBoats(options);

/** Dependencies of {@linkcode chooseServer}. */
export interface ChoiceParts {
  config: ClientConfig;
  discover: Discover;
  /** `VBG_BOAT` is read from it; default: empty. */
  environment?: Environment;
  /** URLs on this machine that are tried if the search finds nothing; default: {@linkcode LOCAL_SERVERS}. */
  localServers?: readonly string[];
  /** Reports which server was chosen if the user named none. */
  note?: (text: string) => void;
  /** Aborts the search, and all requests of the client. */
  signal?: AbortSignal;
  /** Options of the client. A `signal` here replaces `signal` for its requests. */
  options?: Omit<ClientOptions, "token">;
}

/** No server was found, or several. */
export class NoServerError extends Error {
  override readonly name = "NoServerError";
}

const MDNS_TIMEOUT_MS = 2000;

/**
 * Chooses the server: `-server`, else the boat of `-boat`, `VBG_BOAT`, `default-boat`, or the only boat of the
 * configuration, else the only server on the network, else one of this machine. A boat is searched for on the network,
 * then in its cloud; the client repeats the search when a connection is lost.
 *
 * @throws {NoServerError} no server was found, or several and none was named
 */
export async function chooseServer(settings: ServerChoice, parts: ChoiceParts): Promise<ChosenServer> {
  const { config, signal, options, environment = {} } = parts;
  const ending = signal ? { signal } : {};
  if (settings.server !== undefined) {
    const token = settings.token;
    const client = clientOf(settings.server, { ...ending, ...options, ...(token && { token }) });
    const { server } = settings;
    return {
      ...{ client, label: server, exclusions: filterOfExclusions(config.exclude) },
      serverText: () => server,
      address: () => serverAddressOf(server, { token }),
      cloud: () => cloudOf(serverAddressOf(server, { token }), { ...ending, ...options }),
    };
  }
  const name = settings.boat ?? (environment.VBG_BOAT || config.defaultBoat || onlyBoat(config));
  const boat = name === undefined ? undefined : config.boats.get(name);
  if (settings.cloud && !boat?.cloud) throw new NoServerError(noCloud(name, config));
  const find = () => findServer({ name, boat, settings, parts });
  const first = await find();
  if (first.isLocal) parts.note?.(`no boat server was found on the network: using ${first.url} on this machine`);
  const addresses = new BoatAddresses(find, { first, fetch: options?.fetch });
  return {
    client: connect(addresses.base, { ...ending, ...options, fetch: addresses.fetch }),
    label: name ?? first.label,
    exclusions: filterOfExclusions(config.exclude, boat?.exclude),
    serverText: () => `${addresses.current.label} (${addresses.current.url})`,
    address: () => addresses.current,
    cloud: () => cloudOf(addresses.current, { ...ending, ...options }),
  };
}

/** A client of a boat's server, or of a boat in a cloud, where some routes are those of the cloud. */
function clientOf(url: string, options: ClientOptions): Client {
  const address = serverAddressOf(url, { token: options.token });
  if (address.url === address.root) return connect(url, options);
  const { client, id } = cloudOf(address, options);
  return client.boat(id);
}

function cloudOf({ url, root, token }: ServerAddress, options: ClientOptions): { client: CloudClient; id: string } {
  if (url === root) throw new TypeError(`There is no cloud at ${url}`);
  const client = connectCloud(root, { ...options, ...(token !== undefined && { token }) });
  return { client, id: decodeURIComponent(url.slice(url.lastIndexOf("/") + 1)) };
}

interface Wanted {
  name: string | undefined;
  boat: ConfiguredBoat | undefined;
  settings: ServerChoice;
  parts: ChoiceParts;
}

async function findServer(wanted: Wanted): Promise<ServerAddress> {
  const { name, boat, settings } = wanted;
  const token = settings.token ?? boat?.token;
  const found = settings.cloud || (boat && boat.mdns === undefined) ? { boats: [] } : await searchNetwork(wanted);
  const [first, ...others] = found.boats;
  if (first && (name !== undefined || others.length === 0)) {
    return { label: name ?? first.name, url: first.url, root: first.url, token };
  }
  if (name !== undefined && boat?.cloud !== undefined) return cloudBoatAddress(boat.cloud, { name, token });
  if (first) {
    const names = found.boats.map((each) => `"${each.name}"`).join(", ");
    throw new NoServerError(`There are several boats on the network, ${names}: -boat names one`);
  }
  const local = name === undefined ? await findLocal(wanted) : undefined;
  if (local) return local;
  throw new NoServerError(notFound(wanted, found.failure));
}

async function findLocal({ settings: { token }, parts }: Wanted): Promise<ServerAddress | undefined> {
  const found = await findLocalServer({ urls: parts.localServers ?? LOCAL_SERVERS, token, signal: parts.signal });
  if (found?.kind !== "several") return found && { ...found.address, isLocal: true };
  const names = found.ids.map((id) => `"${id}"`).join(", ");
  const example = `${found.root}/instances/${encodeURIComponent(found.ids[0] ?? "ID")}`;
  throw new NoServerError(`The cloud on this machine has several boats, ${names}: -server ${example} names one`);
}

async function searchNetwork(
  { name, boat, settings, parts }: Wanted,
): Promise<{ boats: FoundBoat[]; failure?: string }> {
  const wantedName = boat?.mdns ?? name;
  const timeoutMs = timeoutOf(settings, parts.config);
  const { signal } = parts;
  signal?.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  try {
    const search = parts.discover({ timeoutMs, ...(wantedName !== undefined && { name: wantedName }) });
    return { boats: await Promise.race([search, aborted.promise]) };
  } catch (error) {
    signal?.throwIfAborted();
    return { boats: [], failure: errorText(error) };
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

function notFound({ name, boat, settings, parts }: Wanted, failure: string | undefined): string {
  const { config } = parts;
  const within = `within ${timeoutOf(settings, config) / 1000} s`;
  const why = failure === undefined ? "" : ` (${failure})`;
  if (name === undefined) {
    const tried = (parts.localServers ?? LOCAL_SERVERS).map((url) => new URL(url).host).join(", ");
    const local = tried === "" ? "" : `, nor on this machine at ${tried}`;
    return `No boat server was found on the network ${within}${why}${local}: -server names one`;
  }
  const wanted = boat?.mdns === undefined || boat.mdns === name ? `"${name}"` : `"${name}" (mdns "${boat.mdns}")`;
  const known = [...config.boats.keys()].map((each) => `"${each}"`).join(", ");
  const cloud = boat
    ? "the configuration names no cloud for it"
    : `the configuration does not know it${known && `, but ${known}`}`;
  return `Boat ${wanted} was not found on the network ${within}${why}, and ${cloud}`;
}

function noCloud(name: string | undefined, { path }: ClientConfig): string {
  const where = path ?? "the configuration, which does not exist";
  if (name === undefined) return `Cannot use -cloud without a boat: -boat names one of ${where}`;
  return `Boat "${name}" has no cloud in ${where}`;
}

function timeoutOf({ mdnsTimeoutMs }: ServerChoice, config: ClientConfig): number {
  return mdnsTimeoutMs ?? config.mdnsTimeoutMs ?? MDNS_TIMEOUT_MS;
}

function onlyBoat({ boats }: ClientConfig): string | undefined {
  const [name] = boats.keys();
  return boats.size === 1 ? name : undefined;
}

/** Several exclusions as one filter. */
function filterOfExclusions(...several: readonly (Exclusions | undefined)[]): Filter {
  const pgns = several.flatMap((each) => each?.pgns ?? []);
  const names = several.flatMap((each) => each?.names ?? []);
  return { ...(pgns.length > 0 && { exclude_pgn: pgns }), ...(names.length > 0 && { exclude_name: names }) };
}

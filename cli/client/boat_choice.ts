import {
  type Client,
  type ClientOptions,
  type CloudClient,
  connect,
  connectCloud,
  type Filter,
} from "@vessel/gateway/client";
import type { FindBoatsOptions, FoundBoat } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/base";
import { BoatAddresses, cloudPlace, placeOf, type ServerPlace } from "./boat_addresses.ts";
import type { ClientConfig, ConfiguredBoat, Exclusions } from "./client_config.ts";
import type { ServerChoice } from "./client_options.ts";
import { findLocalServer, LOCAL_SERVERS } from "./local_servers.ts";
import type { Environment } from "../settings/options.ts";

/** A server, and what is known of it beside. */
export interface ChosenServer {
  client: Client;
  /** For people: the boat's name, or the address. */
  label: string;
  /** What the configuration never wants to see. */
  exclusions: Filter;
  /** Where requests go now, for people: `aurora (http://192.168.1.5:8089)`. */
  place(): string;
  /** Where requests go now. */
  address(): Pick<ServerPlace, "url" | "root">;
  /** The cloud that the boat is in now. @throws {TypeError} it is on a server of its own */
  cloud(): { client: CloudClient; id: string };
}

/** Looks for boat servers on the network, as `findBoats` does. */
export type Discover = (options: FindBoatsOptions) => Promise<FoundBoat[]>;

/** Looks everywhere. Loaded late: with a server's address nothing of it is needed. */
export const discoverOnNetwork: Discover = async (options) => (await import("@vessel/gateway")).findBoats(options);

/** What a choice is made by. */
export interface ChoiceParts {
  config: ClientConfig;
  discover: Discover;
  /** `VBG_BOAT` is looked at; default: nothing. */
  environment?: Environment;
  /** Servers of this machine, asked when nothing is on the network; default the usual ports. */
  localServers?: readonly string[];
  /** Tells the user which server was chosen when nobody named it. */
  note?: (text: string) => void;
  /** Ends the looking, and everything that the client does. */
  signal?: AbortSignal;
  /** How the client talks to the server; a signal of its own lets it do something after the other was aborted. */
  options?: Omit<ClientOptions, "token">;
}

/** No server can be asked: none is there, or it is not clear which. */
export class NoServerError extends Error {
  override readonly name = "NoServerError";
}

const MDNS_TIMEOUT_MS = 2000;

/**
 * Chooses the server: `-server`, else the boat of `-boat`, `VBG_BOAT`, `default-boat`, or the only boat of the
 * configuration, else the only server on the network, else one of this machine. A boat is looked for on the network, then
 * in its cloud; and so again by the client when a connection was lost.
 *
 * @throws {NoServerError} there is none, or there are several and none was named
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
      place: () => server,
      address: () => placeOf(server, { token }),
      cloud: () => cloudOf(placeOf(server, { token }), { ...ending, ...options }),
    };
  }
  const name = settings.boat ?? (environment.VBG_BOAT || config.defaultBoat || onlyBoat(config));
  const boat = name === undefined ? undefined : config.boats.get(name);
  if (settings.cloud && !boat?.cloud) throw new NoServerError(noCloud(name, config));
  const find = () => findPlace({ name, boat, settings, parts });
  const first = await find();
  if (first.isLocal) parts.note?.(`no boat server was found on the network: using ${first.url} on this machine`);
  const places = new BoatAddresses(find, { first, fetch: options?.fetch });
  const { label } = places.current;
  return {
    client: connect(places.base, { ...ending, ...options, fetch: places.fetch }),
    label: name ?? label,
    exclusions: filterOfExclusions(config.exclude, boat?.exclude),
    place: () => `${places.current.label} (${places.current.url})`,
    address: () => places.current,
    cloud: () => cloudOf(places.current, { ...ending, ...options }),
  };
}

/** A boat's server, or a boat in a cloud: of that some paths are not below the boat's. */
function clientOf(address: string, options: ClientOptions): Client {
  const place = placeOf(address, { token: options.token });
  if (place.url === place.root) return connect(address, options);
  const { client, id } = cloudOf(place, options);
  return client.boat(id);
}

function cloudOf({ url, root, token }: ServerPlace, options: ClientOptions): { client: CloudClient; id: string } {
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

async function findPlace(wanted: Wanted): Promise<ServerPlace> {
  const { name, boat, settings } = wanted;
  const token = settings.token ?? boat?.token;
  const found = settings.cloud || (boat && boat.mdns === undefined) ? { boats: [] } : await lookFor(wanted);
  const [first, ...others] = found.boats;
  if (first && (name !== undefined || others.length === 0)) {
    return { label: name ?? first.name, url: first.url, root: first.url, token };
  }
  if (name !== undefined && boat?.cloud !== undefined) return cloudPlace(boat.cloud, { name, token });
  if (first) {
    const names = found.boats.map((each) => `"${each.name}"`).join(", ");
    throw new NoServerError(`There are several boats on the network, ${names}: -boat names one`);
  }
  const local = name === undefined ? await findLocal(wanted) : undefined;
  if (local) return local;
  throw new NoServerError(notFound(wanted, found.failure));
}

async function findLocal({ settings: { token }, parts }: Wanted): Promise<ServerPlace | undefined> {
  const found = await findLocalServer({ urls: localServers(parts), token, signal: parts.signal });
  if (found?.kind !== "several") return found && { ...found.place, isLocal: true };
  const names = found.ids.map((id) => `"${id}"`).join(", ");
  const example = `${found.root}/instances/${encodeURIComponent(found.ids[0] ?? "ID")}`;
  throw new NoServerError(`The cloud on this machine has several boats, ${names}: -server ${example} names one`);
}

function localServers({ localServers: urls = LOCAL_SERVERS }: ChoiceParts): readonly string[] {
  return urls;
}

async function lookFor({ name, boat, settings, parts }: Wanted): Promise<{ boats: FoundBoat[]; failure?: string }> {
  const wantedName = boat?.mdns ?? name;
  const timeoutMs = timeoutOf(settings, parts.config);
  const { signal } = parts;
  signal?.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const give = () => aborted.reject(signal?.reason);
  signal?.addEventListener("abort", give);
  try {
    const looking = parts.discover({ timeoutMs, ...(wantedName !== undefined && { name: wantedName }) });
    return { boats: await Promise.race([looking, aborted.promise]) };
  } catch (error) {
    signal?.throwIfAborted();
    return { boats: [], failure: errorText(error) };
  } finally {
    signal?.removeEventListener("abort", give);
  }
}

function notFound({ name, boat, settings, parts }: Wanted, failure: string | undefined): string {
  const { config } = parts;
  const within = `within ${timeoutOf(settings, config) / 1000} s`;
  const why = failure === undefined ? "" : ` (${failure})`;
  if (name === undefined) {
    const tried = localServers(parts).map((url) => new URL(url).host).join(", ");
    const local = tried === "" ? "" : `, nor on this machine at ${tried}`;
    return `No boat server was found on the network ${within}${why}${local}: -server names one`;
  }
  const asked = boat?.mdns === undefined || boat.mdns === name ? `"${name}"` : `"${name}" (mdns "${boat.mdns}")`;
  const known = [...config.boats.keys()].map((each) => `"${each}"`).join(", ");
  const cloud = boat
    ? "the configuration names no cloud for it"
    : `the configuration does not know it${known && `, but ${known}`}`;
  return `Boat ${asked} was not found on the network ${within}${why}, and ${cloud}`;
}

function noCloud(name: string | undefined, { path }: ClientConfig): string {
  const where = path ?? "the configuration, which is not there";
  if (name === undefined) return `No boat was chosen whose cloud could be asked: -boat names one of ${where}`;
  return `Boat "${name}" has no cloud in ${where}`;
}

function timeoutOf({ mdnsTimeoutMs }: ServerChoice, config: ClientConfig): number {
  return mdnsTimeoutMs ?? config.mdnsTimeoutMs ?? MDNS_TIMEOUT_MS;
}

function onlyBoat({ boats }: ClientConfig): string | undefined {
  const [name] = boats.keys();
  return boats.size === 1 ? name : undefined;
}

/** The exclusions of several places together. */
function filterOfExclusions(...several: readonly (Exclusions | undefined)[]): Filter {
  const pgns = several.flatMap((each) => each?.pgns ?? []);
  const names = several.flatMap((each) => each?.names ?? []);
  return { ...(pgns.length > 0 && { exclude_pgn: pgns }), ...(names.length > 0 && { exclude_name: names }) };
}

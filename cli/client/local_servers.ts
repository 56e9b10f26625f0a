import { type Client, type CloudClient, connect, connectCloud } from "@vessel/gateway/client";
import type { ServerAddress } from "./boat_addresses.ts";

/** Default addresses of boat servers and clouds, also of the demo. */
export const LOCAL_SERVERS: readonly string[] = ["http://127.0.0.1:8089", "http://127.0.0.1:8080"];

/** A server on this machine answers soon or not at all. */
const TIMEOUT_MS = 2000;
const LABEL = "this machine";

/** Servers to try. */
export interface LocalSearch {
  /** Base URLs, in the order in which they are tried. */
  urls: readonly string[];
  token: string | undefined;
  signal: AbortSignal | undefined;
}

/** A boat on this machine, or a cloud with several boats. */
export type LocalServer = { kind: "boat"; address: ServerAddress } | { kind: "several"; root: string; ids: string[] };

/** Finds a boat server on this machine, or a cloud that has a boat; undefined if there is none. */
export async function findLocalServer({ urls, token, signal }: LocalSearch): Promise<LocalServer | undefined> {
  const options = { ...(token !== undefined && { token }), ...(signal && { signal }), timeoutMs: TIMEOUT_MS };
  for (const root of urls) {
    const kind = await kindOf(connect(root, options), signal);
    if (kind === "boat") return { kind, address: { label: LABEL, url: root, root, token } };
    if (kind === undefined) continue;
    const ids = await instancesOf(connectCloud(root, options), signal);
    if (ids.length > 1) return { kind: "several", root, ids };
    const [id] = ids;
    if (id === undefined) continue;
    return { kind: "boat", address: { label: LABEL, url: `${root}/instances/${encodeURIComponent(id)}`, root, token } };
  }
  return undefined;
}

/** Kind of the server, by its health, which needs no token; undefined if it is not one of ours. */
async function kindOf(client: Client, signal: AbortSignal | undefined): Promise<"boat" | "cloud" | undefined> {
  const health: object = await undefinedOnError(client.health(), signal) ?? {};
  return "broker" in health ? "boat" : "instances_total" in health ? "cloud" : undefined;
}

async function instancesOf(cloud: CloudClient, signal: AbortSignal | undefined): Promise<string[]> {
  const instances = await undefinedOnError(cloud.instances(), signal) ?? [];
  return instances.map(({ id }) => id);
}

/** Undefined if the call fails: a foreign server may answer anything. */
async function undefinedOnError<T>(call: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await call;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

import { type Client, type CloudClient, connect, connectCloud } from "@vessel/gateway/client";
import type { ServerPlace } from "./boat_addresses.ts";

/** Where boat servers and clouds listen by default, the demo's included. */
export const LOCAL_SERVERS: readonly string[] = ["http://127.0.0.1:8089", "http://127.0.0.1:8080"];

/** A server of this machine answers at once or not at all. */
const TIMEOUT_MS = 2000;
const LABEL = "this machine";

/** What is asked, and how. */
export interface LocalSearch {
  /** Addresses, in the order in which they are asked. */
  urls: readonly string[];
  token: string | undefined;
  signal: AbortSignal | undefined;
}

/** A boat on this machine, or a cloud with several, of which nobody has chosen one. */
export type LocalServer = { kind: "boat"; place: ServerPlace } | { kind: "several"; root: string; ids: string[] };

/** Finds a boat server on this machine, or a cloud that holds a boat. Undefined: there is none. */
export async function findLocalServer({ urls, token, signal }: LocalSearch): Promise<LocalServer | undefined> {
  const options = { ...(token !== undefined && { token }), ...(signal && { signal }), timeoutMs: TIMEOUT_MS };
  for (const root of urls) {
    const kind = await kindOf(connect(root, options), signal);
    if (kind === "boat") return { kind, place: { label: LABEL, url: root, root, token } };
    if (kind === undefined) continue;
    const ids = await instancesOf(connectCloud(root, options), signal);
    if (ids.length > 1) return { kind: "several", root, ids };
    const [id] = ids;
    if (id === undefined) continue;
    return { kind: "boat", place: { label: LABEL, url: `${root}/instances/${encodeURIComponent(id)}`, root, token } };
  }
  return undefined;
}

/** What listens there, by its health, which needs no token; undefined: nothing of ours. */
async function kindOf(client: Client, signal: AbortSignal | undefined): Promise<"boat" | "cloud" | undefined> {
  const health: object = await elseNothing(client.health(), signal) ?? {};
  return "broker" in health ? "boat" : "instances_total" in health ? "cloud" : undefined;
}

async function instancesOf(cloud: CloudClient, signal: AbortSignal | undefined): Promise<string[]> {
  const instances = await elseNothing(cloud.instances(), signal) ?? [];
  return instances.map(({ id }) => id);
}

/** Undefined when the call fails: somebody else's server may answer anything. */
async function elseNothing<T>(call: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await call;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

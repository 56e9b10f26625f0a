import { createHash } from "node:crypto";
import { isStoreError, type ObjectStore } from "../../object_store/mod.ts";
import { nodeKey, NODES_PREFIX } from "../store/object_names.ts";

/** A node that has not renewed its entry for this time is left out, milliseconds by the store's clock. */
export const NODE_EXPIRES_MS = 300_000;
/** A node's entry is longer than any URL, or it is none. */
const MAX_ENTRY_BYTES = 2048;

/** Name of a node, part of keys: nodes with another URL have other names. */
export function nodeName(url: string): string {
  return createHash("sha256").update(url).digest("hex").slice(0, 16);
}

/**
 * Renews this node's entry in the store, and lists the others.
 *
 * @param options.url of this node, as others reach it
 * @returns URLs of the other nodes
 * @throws {StoreError} the store does not answer
 */
export async function announceNode(
  store: ObjectStore,
  { url, signal }: { url: string; signal?: AbortSignal | undefined },
): Promise<string[]> {
  const own = nodeKey(nodeName(url));
  await store.put(own, new TextEncoder().encode(url), { signal });
  const infos = [];
  for await (const page of store.list({ prefix: NODES_PREFIX, signal })) infos.push(...page);
  const nowMs = infos.find(({ key }) => key === own)?.lastModifiedMs ?? 0;
  const others: string[] = [];
  for (const { key, size, lastModifiedMs } of infos) {
    if (key === own || size > MAX_ENTRY_BYTES || lastModifiedMs < nowMs - NODE_EXPIRES_MS) continue;
    try {
      const found = new TextDecoder().decode(await store.get(key, { signal }));
      if (URL.canParse(found) && nodeKey(nodeName(found)) === key) others.push(found);
    } catch (error) {
      if (!isStoreError(error, "missing")) throw error;
    }
  }
  return others;
}

/** Removes this node's entry, because it stops. @throws {StoreError} */
export async function removeNode(
  store: ObjectStore,
  { url, signal }: { url: string; signal: AbortSignal },
): Promise<void> {
  await store.delete([nodeKey(nodeName(url))], { signal });
}

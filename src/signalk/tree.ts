import { type ContextEntry, mergeObjects, type PathEntry, type Reading, type SignalKModel } from "./model.ts";
import type { Json } from "./types.ts";

type Tree = { [key: string]: Json };

/** Group of a context and its id in the group. */
function splitContext({ id }: ContextEntry): { groups: string[]; id: string } {
  const at = id.indexOf(".urn:");
  return { groups: id.slice(0, at).split("."), id: id.slice(at + 1) };
}

/** All values of a vessel, aid or station as a tree: each leaf has `value`, `$source`, `timestamp` and `pgn`. */
export function contextTree(context: ContextEntry): Tree {
  let tree: Tree = {};
  for (const entry of context.paths.values()) {
    if (entry.path === "") {
      for (const { value } of entry.readings.values()) tree = Object.assign(tree, mergeObjects(tree, value));
    } else {
      const keys = entry.path.split(".");
      let at = tree;
      for (const key of keys) at = childOf(at, key);
      Object.assign(at, leafOf(entry));
    }
  }
  return tree;
}

function childOf(tree: Tree, key: string): Tree {
  const known = Object.hasOwn(tree, key) ? tree[key] : undefined;
  if (typeof known === "object" && known !== null && !Array.isArray(known)) return known;
  const child: Tree = {};
  // A path part such as `__proto__` is a name like any other.
  Object.defineProperty(tree, key, { value: child, enumerable: true, writable: true, configurable: true });
  return child;
}

function leafOf(entry: PathEntry): Tree {
  const { preferred, readings, context } = entry;
  const shown = preferred ?? readings.get(entry.last.source) ?? readings.values().next().value;
  if (!shown) return {};
  return {
    ...(context.isSelf && { meta: { ...entry.metadata } }),
    value: preferred ? preferred.value : null,
    $source: shown.source,
    timestamp: preferred ? timeOf(preferred) : new Date(entry.last.timeMs).toISOString(),
    pgn: shown.pgn,
    ...(readings.size > 1 &&
      { values: Object.fromEntries([...readings.values()].map((each) => [each.source, one(each)])) }),
  };
}

function one(reading: Reading): Tree {
  return { value: reading.value, timestamp: timeOf(reading), pgn: reading.pgn };
}

function timeOf({ timeMs }: Reading): string {
  return new Date(timeMs).toISOString();
}

/** Options of {@linkcode fullTree} and {@linkcode subTree}. */
export interface TreeOptions {
  /** Version of Signal K. */
  version: string;
  /** The devices: see the group `sources` of Signal K. */
  sources: () => Json;
}

/** The whole tree as JSON, in pieces: one for each context. */
export function* fullTree(model: SignalKModel, { version, sources }: TreeOptions): Generator<string> {
  yield `{"version":${JSON.stringify(version)},"self":${JSON.stringify(model.self.id)}`;
  const byGroup = Map.groupBy(model.contexts.values(), (context) => splitContext(context).groups.join("."));
  const names = [...byGroup.keys()];
  for (const name of names) {
    const [group = "", inner] = name.split(".");
    yield inner === undefined ? `,${JSON.stringify(group)}:{` : `,${JSON.stringify(group)}:{${JSON.stringify(inner)}:{`;
    let before = "";
    for (const context of byGroup.get(name) ?? []) {
      yield `${before}${JSON.stringify(splitContext(context).id)}:${JSON.stringify(contextTree(context))}`;
      before = ",";
    }
    yield inner === undefined ? "}" : "}}";
  }
  yield `,"sources":${JSON.stringify(sources())}}`;
}

/** What is below a path such as `["vessels", "self", "navigation"]`; undefined: nothing. */
export function subTree(model: SignalKModel, path: readonly string[], options: TreeOptions): Json | undefined {
  const [first = "", ...rest] = path;
  if (first === "self") return walk(model.self.id, rest);
  if (first === "version") return walk(options.version, rest);
  if (first === "sources") return walk(options.sources(), rest);
  const contexts = [...model.contexts.values()].map((context) => ({ context, split: splitContext(context) }))
    .filter(({ split: { groups } }) => path.every((key, index) => index >= groups.length || groups[index] === key));
  const depth = contexts[0]?.split.groups.length;
  if (depth === undefined) return undefined;
  if (path.length <= depth) {
    const all = Object.fromEntries(contexts.map(({ context, split }) => [split.id, contextTree(context)]));
    return path.length < depth ? { [contexts[0]?.split.groups[path.length] ?? ""]: all } : all;
  }
  const id = path[depth];
  const found = contexts.find(({ context, split }) => split.id === id || (id === "self" && context.isSelf));
  if (!found) return undefined;
  const keys = path.slice(depth + 1);
  return metadataAt(found.context, keys) ?? walk(contextTree(found.context), keys);
}

/** Metadata of AIS contexts is not part of their tree, but can be asked for. */
function metadataAt({ paths }: ContextEntry, keys: readonly string[]): Json | undefined {
  if (keys.at(-1) !== "meta") return undefined;
  const metadata = paths.get(keys.slice(0, -1).join("."))?.metadata;
  return metadata && { ...metadata };
}

function walk(tree: Json, keys: readonly string[]): Json | undefined {
  let at: Json | undefined = tree;
  for (const key of keys) {
    if (typeof at !== "object" || at === null || Array.isArray(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

import { importsOf, lineAt, type Source } from "./source.ts";
import type { Finding } from "./tidy_rules.ts";

/** A finding with its file. */
export interface FileFinding extends Finding {
  path: string;
}

const UP_TO_CLOUD = [
  ...[
    "base",
    "frame",
    "pgn",
    "clock",
    "quantities",
    "can",
    "broker",
    "journal",
    "filter",
    "series",
    "past",
    "ledger",
    "blackbox",
    "voyages",
    "doctor",
    "stream",
    "feed",
    "transmit",
  ],
  ...["pki", "replication", "cloud"],
];
const PARTS = [...UP_TO_CLOUD, "object_store", "recordings", "http", "listen", "integrations"];

/** Who may import whom in src: the table of the architecture. */
export const IMPORT_TABLE: Readonly<Record<string, readonly string[]>> = {
  base: [],
  units: [],
  object_store: ["base"],
  quantities: [],
  frame: ["base"],
  pgn: ["base", "units", "frame"],
  clock: ["base", "frame", "pgn"],
  filter: ["base", "frame"],
  where: ["units", "frame", "filter"],
  can: ["base", "frame", "pgn"],
  broker: ["base", "frame", "pgn"],
  journal: ["base", "frame"],
  stream: ["base", "frame", "pgn", "filter", "quantities", "broker", "journal"],
  signalk: ["base", "frame", "pgn", "quantities"],
  series: ["base", "units", "frame", "pgn", "broker", "journal"],
  past: ["base", "frame", "broker", "journal"],
  ledger: ["base", "frame", "journal"],
  blackbox: ["base", "frame", "broker", "journal"],
  voyages: ["frame", "pgn", "series"],
  doctor: ["frame", "pgn", "quantities", "clock"],
  feed: ["base", "frame", "pgn", "filter", "broker", "journal", "stream"],
  transmit: ["base", "frame", "pgn", "can", "broker"],
  export: ["base", "frame", "pgn", "can"],
  recordings: ["base", "frame", "pgn", "filter", "can", "broker", "journal", "stream"],
  pki: ["base"],
  replication: ["base", "frame", "journal", "stream", "pki"],
  cloud: ["base", "frame", "object_store", "broker", "journal", "past", "stream", "feed", "pki", "replication"],
  http: [...UP_TO_CLOUD, "signalk"],
  listen: ["base", "pki", "stream", "replication", "http"],
  integrations: ["base", "frame", "pgn", "quantities", "can", "broker", "filter", "stream", "transmit"],
  client: ["base", "frame", "filter"],
  simulator: ["base", "frame", "pgn", "can", "transmit"],
  boat: PARTS,
  cloud_server: [...PARTS, "boat"],
  simulation: [...PARTS, "simulator", "boat"],
  api: [...PARTS, "boat", "cloud_server", "simulation"],
};

/** A second folder that may import a package: the arguments of MCP tools are described by schemas as those of routes. */
const SHARED_PACKAGES: Readonly<Record<string, string>> = { "zod": "cli/commands/mcp" };

/** What the page may import of the package: nothing that needs Deno or the PGN definitions. */
const FOR_WEB = ["client", "frame", "quantities", "units", "where"];

/** Path of a relative import from the root of the repository; undefined for packages. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** The folder of src that a path lies in; undefined for src/version.ts and for what is outside. */
export function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

/** Imports that the table does not allow, or that go past a folder's mod.ts. */
export function* forbiddenImports(sources: readonly Source[]): Iterable<FileFinding> {
  for (const source of sources) {
    for (const { specifier, at } of importsOf(source)) {
      const target = resolveImport(source.path, specifier);
      const why = target === undefined ? whyNotPackage(source.path, specifier) : whyNotFile(source.path, target);
      if (why) yield { path: source.path, line: lineAt(source.text, at), what: `${specifier}: ${why}` };
    }
  }
}

function whyNotPackage(from: string, specifier: string): string | undefined {
  const ours = specifier.startsWith("@vessel/");
  if (ours && from.startsWith("web/")) {
    return FOR_WEB.includes(specifier.replace("@vessel/gateway/", "")) ? undefined : "not for browsers";
  }
  return ours && from.startsWith("src/") ? "src does not import itself by its name" : undefined;
}

function whyNotFile(from: string, target: string): string | undefined {
  if (from.startsWith("cli/")) return target.startsWith("cli/") ? undefined : "cli imports the root by its exports";
  if (from.startsWith("web/")) return target.startsWith("web/") ? undefined : "web imports the root by its exports";
  if (from === "mod.ts") {
    return isFace(target) || target.startsWith("src/api/") ? undefined : "mod.ts imports mod.ts of folders";
  }
  if (!from.startsWith("src/")) return undefined;
  const [folder, other] = [folderOf(from), folderOf(target)];
  if (folder === undefined && target === "deno.json") return undefined;
  if (!target.startsWith("src/")) return "outside src";
  if (folder !== undefined && folder === other) return undefined;
  if (!isFace(target)) return "past the folder's mod.ts";
  if (folder === undefined || other === undefined) return undefined;
  const allowed = IMPORT_TABLE[folder];
  if (!allowed) return `folder "${folder}" is not in the import table`;
  return allowed.includes(other) ? undefined : `${folder} may not import ${other}`;
}

/** A file that others may import: src/version.ts, a folder's mod.ts, or that of the cloud's API, which boats do not load. */
function isFace(path: string): boolean {
  return /^src\/(?:version|[^/]+\/mod|http\/cloud\/mod)\.ts$/.test(path);
}

/** Files that import each other in a ring, by value or by type; one finding a ring. */
export function* importCycles(sources: readonly Source[]): Iterable<FileFinding> {
  const targets = new Map(sources.map((source) => [
    source.path,
    importsOf(source).filter(({ kind }) => kind !== "dynamic")
      .map(({ specifier }) => resolveImport(source.path, specifier)).filter((path) => path !== undefined),
  ]));
  const done = new Set<string>();
  const trail: string[] = [];
  function* visit(path: string): Iterable<FileFinding> {
    if (trail.includes(path)) {
      yield { path, line: 1, what: [...trail.slice(trail.indexOf(path)), path].join(" → ") };
      return;
    }
    if (done.has(path)) return;
    done.add(path);
    trail.push(path);
    for (const target of targets.get(path) ?? []) yield* visit(target);
    trail.pop();
  }
  for (const { path } of sources) yield* visit(path);
}

/** Third-party packages that more than one folder imports. Tests and scripts may use what they like. */
export function* sharedPackages(sources: readonly Source[]): Iterable<FileFinding> {
  const folders = new Map<string, Map<string, FileFinding>>();
  for (const source of sources.filter(({ path }) => /^(?:src|cli|web)\/|^mod\.ts$/.test(path))) {
    const isWeb = source.path.startsWith("web/");
    const folder = isWeb ? "web" : folderOf(source.path) ?? source.path.replace(/\/[^/]*$/, "");
    for (const { specifier, at } of importsOf(source)) {
      if (/^(?:\.|node:|@vessel\/)/.test(specifier)) continue;
      const name = /^(?:npm:)?((?:@[^/]+\/)?[^/@]+)/.exec(specifier)?.[1] ?? specifier;
      if (SHARED_PACKAGES[name] === folder) continue;
      const users = folders.get(name) ?? new Map<string, FileFinding>();
      folders.set(name, users);
      users.set(folder, { path: source.path, line: lineAt(source.text, at), what: `${name} in ${folder}` });
    }
  }
  for (const users of folders.values()) if (users.size > 1) yield* users.values();
}

/** Folders of src without a mod.ts; each file of src/api is a door of the package. */
export function* foldersWithoutFace(sources: readonly Source[]): Iterable<FileFinding> {
  const paths = new Set(sources.map(({ path }) => path));
  for (const folder of new Set(sources.map(({ path }) => folderOf(path)))) {
    const path = `src/${folder}/mod.ts`;
    if (folder !== undefined && folder !== "api" && !paths.has(path)) yield { path, line: 1, what: "missing" };
  }
}

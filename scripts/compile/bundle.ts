import { fileURLToPath } from "node:url";
import { PROGRAMS } from "../programs.ts";
import { runProgram } from "../script.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Files that programs import by URL: tools that read the sources do not find them. */
export const LOADED_BY_ADDRESS: readonly string[] = [
  "src/journal/block/pack_worker.ts",
  "src/export/parquet_package.ts",
  "src/integrations/mdns/bonjour_package.ts",
  "src/integrations/mqtt/mqtt_package.ts",
  "src/listen/acme/acme_package.ts",
  "src/object_store/s3_package.ts",
  "cli/settings/hocon_package.ts",
  "cli/commands/mcp/mcp_package.ts",
  "cli/commands/query/run_query.ts",
  "cli/commands/report/zip_package.ts",
];
/** Files that lie beside one of these. */
const BESIDE = ["cli/commands/query/duckdb_imports.json", "cli/commands/query/duckdb_lock.json"];
/** File that a package reads from its own folder. */
const WASM = { package: "@bokuweb/zstd-wasm", file: "zstd.wasm" };

/** A change of the bundler's output that makes it work. */
interface Repair {
  /** The problem, for errors. */
  what: string;
  from: RegExp;
  to: string;
}

const REPAIRS: readonly Repair[] = [
  ...LOADED_BY_ADDRESS.map((path) => ({
    what: `${path} has another address in the bundle`,
    from: new RegExp(`new URL\\("\\./${path.split("/").at(-1)}"`, "g"),
    to: `new URL("./${path.replace(/ts$/, "js")}"`,
  })),
  {
    what: "modules have no __dirname; files are read from the folder of the bundle",
    from: /\b__dirname\b/g,
    to: "import.meta.dirname",
  },
  {
    what: "the HOCON parser names its parts without their extension",
    from: /var fn = map\[path\];/g,
    to: 'var fn = map[path] ?? map[path + ".js"];',
  },
];

/** Last line of a bundled CommonJS package: a default export only. */
const COMMON_JS = /^export default require_\w+\(\);$/m;

/**
 * Bundles all programs with their imports, packages included, into a folder; parts that are imported dynamically are
 * separate files. A program is at `cli/NAME.js`.
 *
 * @throws {Error} the bundler failed, or its output is not as {@linkcode repairBundle} expects
 */
export async function makeBundle(folder: string): Promise<void> {
  const entries = [
    ...PROGRAMS.map(({ file }) => `cli/${file}`),
    ...LOADED_BY_ADDRESS,
  ];
  const flags = ["--quiet", "--frozen", "--platform", "deno", "--code-splitting", "--outdir", folder];
  await runProgram(Deno.execPath(), ["bundle", ...flags, ...entries], { cwd: ROOT });
  const files = new Map<string, string>();
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && name.endsWith(".js")) files.set(name, await Deno.readTextFile(`${folder}/${name}`));
  }
  for (const [name, text] of repairBundle(files)) await Deno.writeTextFile(`${folder}/${name}`, text);
  for (const path of BESIDE) await Deno.copyFile(`${ROOT}${path}`, `${folder}/${path}`);
  await Deno.copyFile(new URL(WASM.file, import.meta.resolve(WASM.package)), `${folder}/${WASM.file}`);
}

/**
 * Repairs the files of a bundle; the map is by file name.
 *
 * @throws {Error} a repair has nothing to change: the bundler's output has changed
 */
export function repairBundle(files: ReadonlyMap<string, string>): Map<string, string> {
  const commonJs = [...files].filter(([, text]) => COMMON_JS.test(text)).map(([name]) => name);
  const repairs = [...REPAIRS, ...commonJs.map(namesOf)];
  const used = new Set<Repair>();
  const repaired = [...files].map(([name, text]): [string, string] => [
    name,
    repairs.reduce((before, each) => {
      const after = before.replaceAll(each.from, each.to);
      if (after !== before) used.add(each);
      return after;
    }, text),
  ]);
  const idle = repairs.find((each) => !used.has(each));
  if (idle !== undefined) throw new Error(`Cannot repair the bundle: nothing to do where ${idle.what}`);
  return new Map(repaired);
}

/** Makes dynamic imports of a CommonJS package have its named exports, as without a bundle. */
function namesOf(file: string): Repair {
  const call = `import("./${file}")`;
  return {
    what: `${file} is imported dynamically`,
    from: new RegExp(RegExp.escape(call), "g"),
    to: `${call}.then(({ default: all }) => ({ ...all, default: all }))`,
  };
}

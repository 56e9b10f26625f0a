/**
 * Makes the npm package of the client, `@vessel/gateway/client`, for Node and browsers: `deno task npm [-out DIR]`.
 * `npm pack` makes an archive of it.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import project from "../deno.json" with { type: "json" };
import { runProgram, runScript, scriptArgs } from "./script.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const ENTRY = "src/client/mod.ts";
/** The client, and the folders whose types it uses. */
const SOURCES = ["src/client", "src/filter", "src/frame"];
/** The package that the bundle contains. */
const BUNDLED = "eventsource-parser";

/** Writes the package into a folder, which is replaced. */
export async function makeNpm(out: string): Promise<void> {
  await Deno.remove(out, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(out, { recursive: true });
  // One file without imports, which a web page can load.
  const flags = ["--quiet", "--frozen", "--platform", "browser", "--format", "esm", "-o", `${out}/client.js`];
  await runProgram(Deno.execPath(), ["bundle", ...flags, ENTRY], { cwd: ROOT });
  await addTypes(out);
  await Deno.copyFile(`${ROOT}LICENSE`, `${out}/LICENSE`);
  const license = new URL("../LICENSE", import.meta.resolve(BUNDLED));
  await Deno.copyFile(license, `${out}/LICENSE-${BUNDLED}`);
  await Deno.writeTextFile(`${out}/package.json`, `${JSON.stringify(MANIFEST, null, 2)}\n`);
}

const MANIFEST = {
  name: project.name,
  version: project.version,
  description: "Client of the Vessel Bus Gateway: NMEA 2000 of boats, live and recorded",
  license: project.license,
  type: "module",
  engines: { node: ">=20" },
  exports: { "./client": { types: `./types/${ENTRY.replace(/ts$/, "d.ts")}`, default: "./client.js" } },
};

/** Adds type declarations, which are made by `deno pack`; the rest of its package is not used. */
async function addTypes(out: string): Promise<void> {
  const stage = await Deno.makeTempDir({ prefix: "vbg_npm_" });
  try {
    for (const source of SOURCES) await cp(`${ROOT}${source}`, `${stage}/${source}`, { recursive: true });
    const { name, version, license, imports } = project;
    const config = { name, version, license, imports, exports: { "./client": `./${ENTRY}` } };
    await Deno.writeTextFile(`${stage}/deno.json`, JSON.stringify(config));
    await Deno.copyFile(`${ROOT}deno.lock`, `${stage}/deno.lock`);
    await runProgram(Deno.execPath(), ["pack", "--allow-dirty", "--output", "types.tgz"], { cwd: stage });
    await runProgram("tar", ["-xzf", "types.tgz"], { cwd: stage });
    for (const path of declarationsIn(`${stage}/package`)) {
      const target = `${out}/types${path.slice(`${stage}/package`.length)}`;
      await Deno.mkdir(dirname(target), { recursive: true });
      await Deno.copyFile(path, target);
    }
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

function declarationsIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? declarationsIn(`${folder}/${name}`) : name.endsWith(".d.ts") ? [`${folder}/${name}`] : []
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: scriptArgs(),
    options: { out: { type: "string", default: `${ROOT}dist/npm` } },
  });
  await makeNpm(values.out);
  console.log(values.out);
}

if (import.meta.main) await runScript("npm", main);

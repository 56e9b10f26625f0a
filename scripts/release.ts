/**
 * Writes a release into a directory: `deno task release (-key FINGERPRINT | -unsigned) [-out DIR] [-earlier DIR]`.
 *
 * It contains the portable programs, an apt repository with the Debian packages, manual pages, the SBOM, the install
 * script, and the checksums of all files (SHA256SUMS), signed with a GnuPG key, now or by `sign.sh` on another machine.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { VERSION } from "../src/version.ts";
import { makePortables } from "./compile.ts";
import { makeDeb } from "./deb.ts";
import { writeManPages } from "./man.ts";
import { keepEarlier, POOL, writeAptIndexes } from "./release/apt_repository.ts";
import { makeSbom } from "./release/sbom.ts";
import { writeSums } from "./release/sums.ts";
import { type Architecture, ARCHITECTURES, fetchRuntime } from "./runtime.ts";
import { runProgram, runScript, scriptArgs } from "./script.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const SIGN = "sign.sh";

/** Options of {@linkcode makeRelease}. */
export interface ReleaseOptions {
  /** Path of the Deno included in programs and packages, for each architecture. */
  runtimes: Readonly<Record<Architecture, string>>;
  /** Compression: `best` for a release, `fast` for tests. */
  packing: "best" | "fast";
  /** Folder of the previous release, whose packages stay installable. */
  earlier?: string | undefined;
  /** Fingerprint of the signing key; undefined: signed later. */
  key?: string | undefined;
  now: Date;
}

/**
 * Writes a release into an empty directory, which is created if necessary. Returns the names of its files.
 *
 * @throws {Error} the directory is not empty, or a program that is run failed
 */
export async function makeRelease(
  out: string,
  { runtimes, packing, earlier, key, now }: ReleaseOptions,
): Promise<string[]> {
  await Deno.mkdir(out, { recursive: true });
  for await (const { name } of Deno.readDir(out)) {
    throw new Error(`Cannot write the release: "${out}" is not empty, it contains "${name}"`);
  }
  const apt = `${out}/apt`;
  for (const arch of ["amd64", "arm64"] as const) {
    const [runtime, { target }] = [runtimes[arch], ARCHITECTURES[arch]];
    await makePortables(out, { runtime, target, level: packing === "best" ? 9 : 1 });
    const compression = packing === "best" ? "xz" : "none";
    await makeDeb({ out: `${apt}/${POOL}`, deno: runtime, arch, compression });
  }
  if (earlier !== undefined) await keepEarlier(apt, `${earlier}/apt`);
  await writeAptIndexes(apt, now);
  await writeManPages(out);
  const lock = JSON.parse(await Deno.readTextFile(`${ROOT}deno.lock`));
  const sbom = makeSbom(lock, { version: VERSION, now });
  await Deno.writeTextFile(`${out}/vbg-${VERSION}.cdx.json`, `${JSON.stringify(sbom, undefined, 2)}\n`);
  await Deno.copyFile(`${ROOT}scripts/install.sh`, `${out}/install.sh`);
  await Deno.copyFile(`${ROOT}scripts/release/${SIGN}`, `${out}/${SIGN}`);
  const names = await writeSums(out);
  if (key !== undefined) await signRelease(out, key);
  return names;
}

/** Signs the checksums and the package index of a release, and adds the public key. */
export async function signRelease(out: string, key: string): Promise<void> {
  await runProgram("sh", [`${ROOT}scripts/release/${SIGN}`, key, out]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: scriptArgs(),
    options: {
      out: { type: "string", default: `${ROOT}dist/release` },
      earlier: { type: "string" },
      key: { type: "string" },
      unsigned: { type: "boolean", default: false },
    },
  });
  const { out, earlier, key, unsigned } = values;
  if ((key === undefined) !== unsigned) {
    throw new Error("Expected either -key FINGERPRINT of a GnuPG key, or -unsigned to sign later with sign.sh");
  }
  const cache = `${ROOT}dist/runtime`;
  const runtimes = { amd64: await fetchRuntime("amd64", cache), arm64: await fetchRuntime("arm64", cache) };
  const names = await makeRelease(out, { runtimes, packing: "best", earlier, key, now: new Date() });
  for (const name of names) console.log(`${out}/${name}`);
}

if (import.meta.main) await runScript("release", main);

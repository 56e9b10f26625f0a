/**
 * Makes a Debian package of the programs: `deno run -A scripts/deb.ts [-out DIR] [-deno PATH|none] [-arch ARCH]`.
 *
 * The package contains the sources and their npm packages, so that nothing is downloaded on the boat, and by default the
 * Deno that makes it, since Debian has none. With `-deno none` it is for every architecture and needs a `deno` on PATH.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PERMISSIONS } from "../cli/program/permissions.ts";
import { VERSION } from "../src/version.ts";
import { LOADED_BY_ADDRESS } from "./compile/bundle.ts";
import { writeManPages } from "./man.ts";
import { type Program, PROGRAMS } from "./programs.ts";
import { runProgram, runScript, scriptArgs } from "./script.ts";

/** Options of {@linkcode makeDeb}. */
export interface DebOptions {
  /** Folder for the package; created if necessary. */
  out: string;
  /** Path of the Deno to include; undefined: none. */
  deno: string | undefined;
  /** Debian's name of the architecture, such as `arm64`. Without a Deno it is `all`. */
  arch: string;
  /** Value of `dpkg-deb -Z`. */
  compression: "xz" | "gzip" | "none";
  /** Called before each step with its description; some steps take a minute. */
  onStep?: (what: string) => void;
}

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const RECIPES = `${ROOT}scripts/debian`;
/** Parts of the checkout that the programs need. */
const SOURCES = ["mod.ts", "src", "cli", "deno.json", "deno.lock"];
const FILES: readonly { from: string; to: string; mode: number }[] = [
  { from: "vbg-boat.service", to: "usr/lib/systemd/system/vbg-boat.service", mode: 0o644 },
  { from: "vbg-cloud.service", to: "usr/lib/systemd/system/vbg-cloud.service", mode: 0o644 },
  { from: "vbg.sysusers", to: "usr/lib/sysusers.d/vbg.conf", mode: 0o644 },
  { from: "vbg-boat.conf", to: "etc/vbg/vbg-boat.conf", mode: 0o644 },
  { from: "vbg-cloud.conf", to: "etc/vbg/vbg-cloud.conf", mode: 0o644 },
  { from: "80-can0.network", to: "usr/share/doc/vbg/examples/80-can0.network", mode: 0o644 },
  { from: "../../LICENSE", to: "usr/share/doc/vbg/copyright", mode: 0o644 },
  { from: "../../README.md", to: "usr/share/doc/vbg/README.md", mode: 0o644 },
  { from: "../../CHANGELOG.md", to: "usr/share/doc/vbg/CHANGELOG.md", mode: 0o644 },
  { from: "postinst", to: "DEBIAN/postinst", mode: 0o755 },
  { from: "prerm", to: "DEBIAN/prerm", mode: 0o755 },
  { from: "postrm", to: "DEBIAN/postrm", mode: 0o755 },
];

/**
 * Makes the package.
 *
 * @returns its path
 * @throws {Error} a program that is run failed; the message contains its output
 */
export async function makeDeb({ out, deno, arch, compression, onStep = () => {} }: DebOptions): Promise<string> {
  await Deno.mkdir(out, { recursive: true });
  const stage = await Deno.makeTempDir({ prefix: "vbg_deb_" });
  try {
    // The folder becomes the root of the package; temporary folders are not readable by others.
    await Deno.chmod(stage, 0o755);
    const lib = `${stage}/usr/lib/vbg`;
    onStep("copying the sources");
    await addSources(lib);
    onStep("adding the npm packages that they import");
    await addPackages(lib);
    if (deno !== undefined) await add(deno, { to: `${lib}/bin/deno`, mode: 0o755 });
    for (const { from, to, mode } of FILES) await add(`${RECIPES}/${from}`, { to: `${stage}/${to}`, mode });
    await addGuides(`${stage}/usr/share/doc/vbg/docs`);
    onStep("writing launchers, manual pages and completion");
    await addLaunchers(`${stage}/usr/bin`);
    await addManual(`${stage}/usr/share/man`);
    await addCompletion(`${stage}/usr/share`);
    const settings = FILES.filter(({ to }) => to.startsWith("etc/")).map(({ to }) => `/${to}\n`);
    await Deno.writeTextFile(`${stage}/DEBIAN/conffiles`, settings.join(""));
    const architecture = deno === undefined ? "all" : arch;
    await Deno.writeTextFile(
      `${stage}/DEBIAN/control`,
      await control({ stage, architecture, hasDeno: deno !== undefined }),
    );
    const path = `${out}/vbg_${VERSION}_${architecture}.deb`;
    onStep(`packing ${path} (${compression})`);
    await runProgram("dpkg-deb", ["--root-owner-group", `-Z${compression}`, "--build", stage, path]);
    return path;
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

async function addSources(lib: string): Promise<void> {
  for (const source of SOURCES) await cp(`${ROOT}${source}`, `${lib}/${source}`, { recursive: true });
  // A member of the workspace, without which the lock file does not fit; its page is in src already.
  await Deno.mkdir(`${lib}/web`);
  await Deno.copyFile(`${ROOT}web/deno.json`, `${lib}/web/deno.json`);
  // All packages are there. Deno would take away links to those that a program does not need at once.
  const { unstable: _, ...config } = JSON.parse(await Deno.readTextFile(`${lib}/deno.json`));
  await Deno.writeTextFile(`${lib}/deno.json`, JSON.stringify(config, undefined, 2));
}

/** Installs the npm packages next to the sources. */
async function addPackages(lib: string): Promise<void> {
  const entries = [...PROGRAMS.map(({ file }) => `cli/${file}`), ...LOADED_BY_ADDRESS];
  const args = ["install", "--quiet", "--frozen", "--node-modules-dir=auto", "--entrypoint", ...entries];
  await runProgram(Deno.execPath(), args, { cwd: lib });
  // Some packages have files that only their owner can read: the services' user could not.
  await runProgram("chmod", ["-R", "u=rwX,go=rX", lib]);
}

async function addLaunchers(folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  for (const program of PROGRAMS) {
    const path = `${folder}/${program.name}`;
    await Deno.writeTextFile(path, await launcherText(program));
    await Deno.chmod(path, 0o755);
  }
}

/** The script that starts a program of the package. */
export async function launcherText({ file, permissions, runtimeFlags }: Program): Promise<string> {
  const launcher = await Deno.readTextFile(`${RECIPES}/launcher`);
  return launcher.replace("@PERMISSIONS@", permissions.join(" "))
    .replace("@FLAGS@", runtimeFlags.map((flag) => `${flag} `).join("")).replace("@PROGRAM@", file)
    .replace("@DENO_VERSION@", Deno.version.deno);
}

/** Adds the pages that README links to. */
async function addGuides(folder: string): Promise<void> {
  for await (const { name, isFile } of Deno.readDir(`${ROOT}docs`)) {
    if (isFile) await add(`${ROOT}docs/${name}`, { to: `${folder}/${name}`, mode: 0o644 });
  }
}

/** Adds the manual pages, compressed as Debian requires. */
async function addManual(folder: string): Promise<void> {
  for (const path of await writeManPages(folder)) {
    const section = `${folder}/man${path.slice(-1)}`;
    await Deno.mkdir(section, { recursive: true });
    await runProgram("gzip", ["-9n", path]);
    await Deno.rename(`${path}.gz`, `${section}/${basename(path)}.gz`);
  }
}

/** Adds completion scripts where the shells search for them. */
async function addCompletion(share: string): Promise<void> {
  const print = (shell: string) =>
    runProgram(Deno.execPath(), ["run", ...PERMISSIONS.vbg, "--no-check", `${ROOT}cli/vbg.ts`, "completion", shell]);
  const [bash, zsh, fish] = [await print("bash"), await print("zsh"), await print("fish")];
  const files: [path: string, text: string][] = PROGRAMS.flatMap(({ name }) => [
    [`bash-completion/completions/${name}`, bash],
    [`fish/vendor_completions.d/${name}.fish`, fish],
  ]);
  for (const [path, text] of [...files, ["zsh/vendor-completions/_vbg", zsh] as const]) {
    await Deno.mkdir(dirname(`${share}/${path}`), { recursive: true });
    await Deno.writeTextFile(`${share}/${path}`, text);
  }
}

async function add(from: string, { to, mode }: { to: string; mode: number }): Promise<void> {
  await Deno.mkdir(to.replace(/\/[^/]*$/, ""), { recursive: true });
  await Deno.copyFile(from, to);
  await Deno.chmod(to, mode);
}

async function control(
  { stage, architecture, hasDeno }: { stage: string; architecture: string; hasDeno: boolean },
): Promise<string> {
  const [kilobytes] = (await runProgram("du", ["-sk", stage])).split("\t");
  const runtime = hasDeno ? ["Depends: libc6, systemd"] : ["Depends: systemd", "Recommends: deno"];
  return [
    "Package: vbg",
    `Version: ${VERSION}`,
    `Architecture: ${architecture}`,
    "Maintainer: Vessel Bus Gateway maintainers <maintainers@vessel.example>",
    "Section: net",
    "Priority: optional",
    `Installed-Size: ${kilobytes}`,
    ...runtime,
    "Suggests: can-utils",
    "Description: NMEA 2000 over HTTP, WebSocket and MQTT",
    " Reads the CAN buses of a boat, makes whole messages of their frames, records them and",
    " streams them to any number of clients.",
    ...(hasDeno ? [] : [" .", ` Needs Deno ${Deno.version.deno} on PATH, which Debian does not have.`]),
    "",
  ].join("\n");
}

/** Debian's name of this machine's architecture. */
export function ownArchitecture(): string {
  return Deno.build.arch === "aarch64" ? "arm64" : "amd64";
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: scriptArgs(),
    options: {
      out: { type: "string", default: "." },
      deno: { type: "string", default: Deno.execPath() },
      arch: { type: "string", default: ownArchitecture() },
    },
  });
  const deno = values.deno === "none" ? undefined : values.deno;
  const { out, arch } = values;
  const onStep = (what: string) => console.error(`deb: ${what}`);
  console.log(await makeDeb({ out, deno, arch, compression: "xz", onStep }));
}

if (import.meta.main) await runScript("deb", main);

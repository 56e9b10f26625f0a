import { gzipSync } from "node:zlib";
import { ARCHITECTURES } from "../runtime.ts";
import { runProgram } from "../script.ts";
import { sha256 } from "./sums.ts";

/** The only suite and component. */
const SUITE = "stable";
const COMPONENT = "main";
/** Folder of the packages, relative to the root of the repository. */
export const POOL = `pool/${COMPONENT}/v/vbg`;

/**
 * Writes the unsigned indexes of a static apt repository for the packages in its pool. Every version in the pool stays
 * installable, so that a boat can be downgraded.
 *
 * @param root the repository
 * @param now time of the indexes
 * @throws {Error} a package cannot be read
 */
export async function writeAptIndexes(root: string, now: Date): Promise<void> {
  const packages = await readPool(root);
  const dists = `${root}/dists/${SUITE}`;
  const sums: string[] = [];
  for (const architecture of Object.keys(ARCHITECTURES)) {
    const folder = `${COMPONENT}/binary-${architecture}`;
    await Deno.mkdir(`${dists}/${folder}`, { recursive: true });
    const text = packages.filter((each) => each.architecture === architecture).map(({ entry }) => entry).join("\n");
    const plain = new TextEncoder().encode(text);
    for (const [name, bytes] of [["Packages", plain], ["Packages.gz", gzipSync(plain, { level: 9 })]] as const) {
      await Deno.writeFile(`${dists}/${folder}/${name}`, bytes);
      sums.push(` ${await sha256(bytes)} ${bytes.length} ${folder}/${name}`);
    }
  }
  const fields = [
    "Origin: Vessel Bus Gateway",
    "Label: Vessel Bus Gateway",
    `Suite: ${SUITE}`,
    `Codename: ${SUITE}`,
    `Date: ${now.toUTCString().replace("GMT", "UTC")}`,
    `Architectures: ${Object.keys(ARCHITECTURES).join(" ")}`,
    `Components: ${COMPONENT}`,
    "Description: packages of the Vessel Bus Gateway",
    "SHA256:",
  ];
  await Deno.writeTextFile(`${dists}/Release`, `${[...fields, ...sums].join("\n")}\n`);
}

/** Copies the packages of an earlier repository into the pool of a new one, so that they stay installable. */
export async function keepEarlier(root: string, earlier: string): Promise<void> {
  for await (const { name } of Deno.readDir(`${earlier}/${POOL}`)) {
    const path = `${root}/${POOL}/${name}`;
    const bytes = await Deno.readFile(`${earlier}/${POOL}/${name}`);
    const present = await Deno.readFile(path).catch(() => undefined);
    if (present !== undefined && await sha256(present) !== await sha256(bytes)) {
      throw new Error(`Cannot release "${name}" again: it was released before with other contents; change the version`);
    }
    await Deno.writeFile(path, bytes);
  }
}

interface PoolPackage {
  architecture: string;
  /** Its paragraph of the index. */
  entry: string;
}

async function readPool(root: string): Promise<PoolPackage[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${root}/${POOL}`)) if (name.endsWith(".deb")) names.push(name);
  return await Promise.all(
    names.sort().map(async (name) => {
      const path = `${POOL}/${name}`;
      const bytes = await Deno.readFile(`${root}/${path}`);
      const control = (await runProgram("dpkg-deb", ["-f", `${root}/${path}`])).trimEnd();
      const [, architecture = ""] = /^Architecture: (.+)$/m.exec(control) ?? [];
      const entry = `${control}\nFilename: ${path}\nSize: ${bytes.length}\nSHA256: ${await sha256(bytes)}\n`;
      return { architecture, entry };
    }),
  );
}

import { DENO_VERSION } from "../runtime.ts";

/** What the lock file says of a package. */
interface LockedPackage {
  /** Digest by the registry: algorithm, `-`, base64. */
  integrity: string;
  /** Names, with versions where the lock file has several. */
  dependencies?: readonly string[];
  optionalDependencies?: readonly string[];
}

/** The parts of `deno.lock` (version 5) that are read. */
export interface Lock {
  version: string;
  specifiers: Readonly<Record<string, string>>;
  npm: Readonly<Record<string, LockedPackage>>;
}

/** What a list of parts is made of. */
export interface SbomOptions {
  /** Version of the programs. */
  version: string;
  now: Date;
}

/**
 * The list of parts of a release as CycloneDX 1.5: the Deno that is brought along, and every npm package of the lock file
 * with its digest and what it needs. Those that are only for tests are in it, too: the lock file has all.
 *
 * @throws {Error} the lock file has a version that is not known, or names a dependency that it does not have
 */
export function makeSbom(lock: Lock, { version, now }: SbomOptions): Record<string, unknown> {
  if (lock.version !== "5") throw new Error(`Cannot read deno.lock: version ${lock.version} is not known`);
  const own = `pkg:generic/vbg@${version}`;
  const deno = `pkg:npm/deno@${DENO_VERSION}`;
  const refs = new Map(Object.keys(lock.npm).map((key) => [key, purlOf(key)]));
  const roots = Object.entries(lock.specifiers).map(([specifier, resolved]) =>
    refOf(refs, `${nameOf(specifier.replace(/^npm:/, ""))}@${resolved}`)
  );
  const packages = Object.entries(lock.npm);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: now.toISOString(),
      component: {
        "bom-ref": own,
        type: "application",
        name: "vbg",
        version,
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components: [
      { "bom-ref": deno, type: "platform", name: "deno", version: DENO_VERSION, purl: deno },
      ...packages.map(([key, { integrity }]) => componentOf(key, integrity)),
    ],
    dependencies: [
      { ref: own, dependsOn: [...new Set([deno, ...roots])] },
      ...packages.map(([key, { dependencies = [], optionalDependencies = [] }]) => ({
        ref: purlOf(key),
        dependsOn: [...dependencies, ...optionalDependencies].map((name) => refOf(refs, name)),
      })),
    ],
  };
}

function componentOf(key: string, integrity: string): Record<string, unknown> {
  const [, group, name = ""] = /^(?:(@[^/]+)\/)?(.+)$/.exec(nameOf(key)) ?? [];
  const [algorithm = "", digest = ""] = integrity.split(/-(.*)/);
  const hash = { alg: algorithm.replace("sha", "SHA-"), content: Uint8Array.fromBase64(digest).toHex() };
  const purl = purlOf(key);
  return {
    "bom-ref": purl,
    type: "library",
    ...(group && { group }),
    name,
    version: versionOf(key),
    purl,
    hashes: [hash],
  };
}

/** The package that a dependency names: with its version where there are several, else without. */
function refOf(refs: ReadonlyMap<string, string>, wanted: string): string {
  const exact = refs.get(wanted);
  if (exact !== undefined) return exact;
  for (const [key, ref] of refs) {
    if (nameOf(key) === wanted || `${nameOf(key)}@${versionOf(key)}` === wanted) return ref;
  }
  throw new Error(`Cannot read deno.lock: it has no package "${wanted}"`);
}

/** A key is a name, `@`, a version, and behind `_` the peers that it was resolved with. */
function nameOf(key: string): string {
  return key.slice(0, key.indexOf("@", 1) < 0 ? undefined : key.indexOf("@", 1));
}

function versionOf(key: string): string {
  return key.slice(nameOf(key).length + 1).replace(/_.*$/, "");
}

function purlOf(key: string): string {
  return `pkg:npm/${nameOf(key).replace("@", "%40")}@${versionOf(key)}`;
}

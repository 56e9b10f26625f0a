import { DENO_VERSION } from "../runtime.ts";

/** A package in the lock file. */
interface LockedPackage {
  /** Digest by the registry: algorithm, `-`, base64. */
  integrity: string;
  /** Names, with a version if the lock file has several. */
  dependencies?: readonly string[];
  optionalDependencies?: readonly string[];
}

/** The parts of `deno.lock` (version 5) that are read. */
export interface Lock {
  version: string;
  specifiers: Readonly<Record<string, string>>;
  npm: Readonly<Record<string, LockedPackage>>;
}

/** Options of {@linkcode makeSbom}. */
export interface SbomOptions {
  /** Version of the programs. */
  version: string;
  now: Date;
}

/**
 * The SBOM of a release in CycloneDX 1.5: the included Deno, and every npm package of the lock file with its digest and
 * dependencies. It includes packages for tests, which the lock file does not distinguish.
 *
 * @throws {Error} the version of the lock file is unknown, or a dependency is missing from it
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

/** The package of a dependency, which has a version only if there are several. */
function refOf(refs: ReadonlyMap<string, string>, wanted: string): string {
  const exact = refs.get(wanted);
  if (exact !== undefined) return exact;
  for (const [key, ref] of refs) {
    if (nameOf(key) === wanted || `${nameOf(key)}@${versionOf(key)}` === wanted) return ref;
  }
  throw new Error(`Cannot read deno.lock: it has no package "${wanted}"`);
}

/** A key is a name, `@`, a version, and after `_` the resolved peer dependencies. */
function nameOf(key: string): string {
  return key.slice(0, key.indexOf("@", 1) < 0 ? undefined : key.indexOf("@", 1));
}

function versionOf(key: string): string {
  return key.slice(nameOf(key).length + 1).replace(/_.*$/, "");
}

function purlOf(key: string): string {
  return `pkg:npm/${nameOf(key).replace("@", "%40")}@${versionOf(key)}`;
}

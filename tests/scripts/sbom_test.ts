import assert from "node:assert/strict";
import { type Lock, makeSbom } from "../../scripts/release/sbom.ts";
import { DENO_VERSION } from "../../scripts/runtime.ts";
import { needs } from "../support/needs.ts";

const NEEDS = needs({ permissions: ["read"] });
const OPTIONS = { version: "1.2.3", now: new Date("2026-03-04T05:06:07Z") };

interface Sbom {
  bomFormat: string;
  specVersion: string;
  components: {
    name: string;
    group?: string;
    version: string;
    purl: string;
    hashes?: { alg: string; content: string }[];
  }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

async function sbomOfCheckout(): Promise<{ lock: Lock; sbom: Sbom }> {
  const lock = JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)));
  return { lock, sbom: JSON.parse(JSON.stringify(makeSbom(lock, OPTIONS))) };
}

Deno.test(
  "the list of parts has every package of the lock file once, with its digest, and the Deno",
  NEEDS,
  async () => {
    const { lock, sbom } = await sbomOfCheckout();
    assert.deepEqual([sbom.bomFormat, sbom.specVersion], ["CycloneDX", "1.5"]);
    const [deno, ...packages] = sbom.components;
    assert.deepEqual([deno?.name, deno?.version], ["deno", DENO_VERSION]);
    const wanted = Object.entries(lock.npm).map(([key, { integrity }]) => {
      const bytes = atob(integrity.replace("sha512-", ""));
      return [
        key.replace(/(.@[^_]*)_.*$/, "$1"),
        Array.from(bytes, (char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join(""),
      ];
    });
    const found = packages.map(({ group, name, version, hashes }) => [
      `${group === undefined ? "" : `${group}/`}${name}@${version}`,
      hashes?.[0]?.content,
    ]);
    assert.deepEqual(found, wanted);
    assert.ok(packages.every(({ hashes }) => hashes?.[0]?.alg === "SHA-512"));
  },
);

Deno.test(
  "every part of the list can be reached from the programs, and every reference names a part",
  NEEDS,
  async () => {
    const { sbom } = await sbomOfCheckout();
    const needed = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const known = new Set(sbom.components.map(({ purl }) => purl));
    const reached = new Set<string>();
    const waiting = ["pkg:generic/vbg@1.2.3"];
    for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
      for (const each of needed.get(ref) ?? []) {
        assert.ok(known.has(each), each);
        if (!reached.has(each)) waiting.push(each);
        reached.add(each);
      }
    }
    assert.deepEqual([...known].filter((each) => !reached.has(each)), []);
  },
);

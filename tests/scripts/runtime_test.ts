import assert from "node:assert/strict";
import { DENO_VERSION } from "../../scripts/runtime.ts";
import { needs } from "../support/needs.ts";

/** Files of the checkout that name the Deno to use. */
const PLACES = ["README.md", ".ci/run", "scripts/docker/Dockerfile", "docs/operate.md", "docs/hardware.md"];
const VERSION = /(?:deno@|DENO_VERSION=)(\d+\.\d+\.\d+)/g;

Deno.test(
  "every command, image and page names the one Deno version that is pinned",
  needs({ permissions: ["read"] }),
  async () => {
    for (const place of PLACES) {
      const text = await Deno.readTextFile(new URL(`../../${place}`, import.meta.url));
      const versions = [...text.matchAll(VERSION)].map(([, version]) => version);
      assert.ok(versions.length > 0 || place.startsWith("docs/"), `${place} names no version`);
      for (const version of versions) assert.equal(version, DENO_VERSION, place);
    }
  },
);

import assert from "node:assert/strict";
import { FINDING_KINDS } from "../../src/doctor/mod.ts";
import { needs } from "../support/needs.ts";

const PAGE = new URL("../../docs/doctor.md", import.meta.url);
const UNITS: Readonly<Record<string, number>> = { s: 1000, min: 60_000 };

Deno.test(
  "docs/doctor.md has a row for each kind, with its severity and the time after which it ends",
  needs({ permissions: ["read"] }),
  () => {
    const rows = Array.from(
      Deno.readTextFileSync(PAGE).matchAll(/^\| `(\w+)` \| (\w+) \|.*\| (\d+) (s|min) \|$/gm),
      ([, kind, severity, time, unit = ""]) => `${kind} ${severity} ${Number(time) * (UNITS[unit] ?? NaN)}`,
    );
    const kinds = Object.entries(FINDING_KINDS).map(([kind, { severity, endMs }]) => `${kind} ${severity} ${endMs}`);
    assert.deepEqual(rows, kinds);
  },
);

import assert from "node:assert/strict";
import { boatOptions } from "../../cli/settings/boat_options.ts";
import { cloudOptions } from "../../cli/settings/cloud_options.ts";
import { FIXED_LIMITS } from "../../scripts/fixed_limits.ts";
import { limitsPage } from "../../scripts/limits_page.ts";

/** How an option is called that limits something. */
const LIMITING = /(^|-)max-|-(age|backlog|buffer|burst|bytes|limit|memory|rate|size|timeout)$/;
/** Options that are called so and limit nothing that a stranger or a fault could reach. */
const EXCEPTIONS: Record<string, string> = {
  "bus-silence-timeout": "from when a silent bus gives an alert",
  "journal-block-size": "how blocks are made",
  "journal-rotate-size": "when a new file begins",
  "replication-max-reconnect-delay": "longest of our own waits",
};

Deno.test("every option that limits something says what happens beyond the limit", () => {
  const page = limitsPage();
  for (const { name, beyond } of [...Object.values(boatOptions), ...Object.values(cloudOptions)]) {
    if (!LIMITING.test(name)) continue;
    if (name in EXCEPTIONS) assert.equal(beyond, undefined, `${name} is no exception any more`);
    else assert.ok(beyond && page.includes(beyond), `${name} has no text "beyond"`);
  }
});

Deno.test("a limit that no setting changes has its number from the code, and a sentence on what happens beyond it", () => {
  const page = limitsPage();
  for (const { what, limit, beyond } of FIXED_LIMITS) {
    assert.match(limit, /\d/, what);
    assert.match(beyond, /^[A-Z0-9].*\.$/, what);
    assert.ok(page.includes(`| ${what} | ${limit} | ${beyond} |`), what);
  }
  assert.equal(new Set(FIXED_LIMITS.map(({ what }) => what)).size, FIXED_LIMITS.length);
});

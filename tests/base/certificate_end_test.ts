import assert from "node:assert/strict";
import { CertificateEndLog } from "../../src/base/mod.ts";

const DAY_MS = 86_400_000;

Deno.test("a certificate is logged once when it ends soon and once when it has ended, and a new one is not", () => {
  const logged: string[] = [];
  const log = new CertificateEndLog((message, { certificate }) => void logged.push(`${certificate}: ${message}`));
  for (const nowMs of [60, 20, 10, -1, -2].map((days) => 100 * DAY_MS - days * DAY_MS)) {
    log.check("tls", { endMs: 100 * DAY_MS, nowMs });
  }
  assert.deepEqual(logged, ["tls: certificate ends soon", "tls: certificate has ended"]);
  log.check("tls", { endMs: 400 * DAY_MS, nowMs: 103 * DAY_MS });
  log.check("tls", { endMs: 400 * DAY_MS, nowMs: 390 * DAY_MS });
  assert.equal(logged.at(-1), "tls: certificate ends soon");
  assert.equal(logged.length, 3);
});

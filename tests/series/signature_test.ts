import assert from "node:assert/strict";
import { describePgn } from "../../src/pgn/mod.ts";
import { seriesFieldsOf } from "../../src/series/mod.ts";
import { signatureOf } from "../../src/series/rollup/signature.ts";

Deno.test("sidecars are of other settings once a definition of their PGNs was corrected in any way", () => {
  const fields = seriesFieldsOf(127250);
  const layouts = describePgn(127250)?.layouts ?? [];
  const corrected = (from: string, to: string) => ({ layouts: JSON.parse(JSON.stringify(layouts).replace(from, to)) });
  const signatures = [
    signatureOf(fields),
    signatureOf(fields, () => corrected('"magnetic"', '"compass"')),
    signatureOf(fields, () => corrected('"max":6.5534', '"max":6.5533')),
    signatureOf(fields, () => corrected('"bits":2', '"bits":3')),
    signatureOf(fields.slice(1)),
  ];
  assert.equal(new Set(signatures).size, signatures.length);
  assert.equal(signatureOf(fields, () => ({ layouts })), signatures[0]);
});

import assert from "node:assert/strict";
import {
  checkInstanceName,
  freeName,
  hostOf,
  instanceNameOf,
  MAX_LABEL_BYTES,
} from "../../src/integrations/mdns/name.ts";
import { readService } from "../../src/integrations/mdns/browse.ts";

const bytes = (text: string) => new TextEncoder().encode(text).length;

Deno.test("a free name is kept, whatever else there is", () => {
  assert.equal(freeName("Aurora", []), "Aurora");
  assert.equal(freeName("Aurora", ["Borealis", "Aurora (2)"]), "Aurora");
});

Deno.test("a taken name gets the lowest number that is free, in any case of letters", () => {
  assert.equal(freeName("Aurora", ["aurora"]), "Aurora (2)");
  assert.equal(freeName("Aurora", ["AURORA", "aurora (2)", "Aurora (4)"]), "Aurora (3)");
  const taken = Array.from({ length: 11 }, (_, i) => i === 0 ? "a" : `a (${i + 1})`);
  assert.equal(freeName("a", taken), "a (12)");
});

Deno.test("a numbered name is no longer than DNS allows, and is cut between letters", () => {
  for (const letter of ["a", "é", "船", "⛵"]) {
    const long = letter.repeat(Math.floor(MAX_LABEL_BYTES / bytes(letter)));
    const name = freeName(long, [long]);
    assert.ok(bytes(name) <= MAX_LABEL_BYTES, name);
    assert.match(name, new RegExp(`^(?:${letter})+ \\(2\\)$`, "u"));
  }
});

Deno.test("the host of a name is one that DNS resolvers take", () => {
  assert.equal(hostOf("boat-002"), "vbg-boat-002.local");
  assert.equal(hostOf("boat-002 (2)"), "vbg-boat-002-2.local");
  assert.equal(hostOf("Étoile  du Nord!"), "vbg-etoile-du-nord.local");
  assert.equal(hostOf("船"), "vbg.local");
  assert.ok(bytes(hostOf("x".repeat(63))) <= MAX_LABEL_BYTES + ".local".length);
});

Deno.test("names that DNS cannot carry are refused with the reason", () => {
  assert.equal(checkInstanceName("Étoile du Nord"), undefined);
  assert.equal(checkInstanceName("x".repeat(63)), undefined);
  assert.match(checkInstanceName("x".repeat(64)) ?? "", /at most 63 bytes/);
  assert.match(checkInstanceName("é".repeat(32)) ?? "", /at most 63 bytes/);
  assert.match(checkInstanceName("  ") ?? "", /must not be empty/);
  assert.match(checkInstanceName("a.b") ?? "", /no dots/);
  assert.match(checkInstanceName("a\nb") ?? "", /control/);
});

Deno.test("the name of a machine gives an instance name that may be used", () => {
  assert.equal(instanceNameOf("boat.example.com"), "boat");
  for (const hostname of ["", " ", ".", "x".repeat(200)]) {
    assert.equal(checkInstanceName(instanceNameOf(hostname)), undefined);
  }
});

Deno.test("a found boat's address is one that can be used from elsewhere", () => {
  const service = { name: "a", host: "vbg-a.local", port: 8089 };
  const addresses = ["fe80::1", "fd00::2", "192.0.2.2", "192.0.2.2"];
  assert.deepEqual(readService({ ...service, addresses }).addresses, ["192.0.2.2", "fd00::2"]);
  assert.equal(readService({ ...service, addresses, txt: { tls: "1" } }).url, "https://192.0.2.2:8089");
  assert.equal(readService({ ...service, addresses: ["fd00::2"] }).url, "http://[fd00::2]:8089");
  assert.equal(readService({ ...service, addresses: ["fe80::1"] }).url, "http://vbg-a.local:8089");
});

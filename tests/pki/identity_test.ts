import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { CertificatePair } from "../../src/pki/certificates_make.ts";
import { AuthoritiesError, type Identity, IdentityCheck, peerChain } from "../../src/pki/mod.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import {
  authorityNamed,
  boatPair,
  chainSeen,
  cloudPair,
  DAY_MS,
  DAY_ONE_MS,
  type MemoryAuthority,
  nodePair,
} from "../cloud/handshake.ts";

const NET = needs({ permissions: ["net"] });
const nobody = () => false;
const NOW_MS = DAY_ONE_MS + 30 * DAY_MS;

/** What counts of a judgement. */
function verdict(identity: Identity): string {
  return identity.ok ? `ok ${identity.name}` : identity.reason;
}

/** An authority, one that has its name, and a decide who trusts the first. */
async function court(nowMs = DAY_ONE_MS) {
  const [ours, rogue] = [await authorityNamed("Boats", nowMs), await authorityNamed("Boats", nowMs)];
  const check = await IdentityCheck.open(ours.cert);
  const decide = (chain: (string | Uint8Array)[], claimed?: string, now = NOW_MS) =>
    verdict(check.decide(chain, { nowMs: now, claimed, isRevoked: nobody }));
  return { ours, rogue, check, decide };
}

Deno.test("a boat is who its certificate says, and only with the name that it claims", async () => {
  const { ours, check, decide } = await court();
  const { cert, serial, notAfterMs } = await boatPair(ours, "aurora");
  const identity = check.decide([cert], { nowMs: NOW_MS, claimed: "aurora", isRevoked: nobody });
  assert.ok(identity.ok);
  const { serials: [own, ...others], ...rest } = identity;
  assert.deepEqual(rest, { ok: true, name: "aurora", expiresMs: notAfterMs });
  assert.deepEqual([own, others.length], [serial, 1], "its own, and that of its authority");
  assert.equal(decide([cert]), "ok aurora");
  assert.equal(decide([cert], "borealis"), "name-mismatch");
  assert.equal(decide([cert], ""), "name-mismatch");
  assert.equal(decide([cert], "Aurora"), "name-mismatch");
});

Deno.test("DER and PEM are judged alike, and what is behind the own certificate does no harm", async () => {
  const { ours, rogue, decide } = await court();
  const { cert } = await boatPair(ours, "aurora");
  const other = await boatPair(rogue, "borealis");
  assert.equal(decide([new X509Certificate(cert).raw]), "ok aurora");
  assert.equal(decide([cert, rogue.cert, other.cert, ours.cert, cert]), "ok aurora");
  assert.equal(decide([other.cert, ours.cert, cert], "aurora"), "untrusted");
});

Deno.test("nobody is let in without a certificate, with one of a rogue authority, or with one that signed itself", async () => {
  const { ours, rogue, decide } = await court();
  assert.equal(decide([], "aurora"), "none");
  const forged = await boatPair(rogue, "aurora");
  assert.equal(decide([forged.cert], "aurora"), "untrusted");
  assert.equal(decide([forged.cert, rogue.cert], "aurora"), "untrusted");
  assert.equal(decide([rogue.cert], "Boats"), "untrusted");
  assert.equal(decide(["no certificate"], "aurora"), "untrusted");
  assert.equal(decide([ours.cert.slice(0, 200)], "aurora"), "untrusted");
});

Deno.test("a certificate counts from its first to its last second, and its authority's with it", async () => {
  const { ours, decide } = await court();
  const { cert, notBeforeMs, notAfterMs } = await boatPair(ours, "aurora");
  assert.equal(decide([cert], "aurora", notBeforeMs - 1000), "not-yet-valid");
  assert.equal(decide([cert], "aurora", notBeforeMs), "ok aurora");
  assert.equal(decide([cert], "aurora", notAfterMs), "ok aurora");
  assert.equal(decide([cert], "aurora", notAfterMs + 1000), "expired");
  const last = await boatPair(ours, "aurora", { nowMs: ours.signer.notAfterMs - DAY_MS, days: 100 });
  assert.equal(last.notAfterMs, ours.signer.notAfterMs);
  assert.equal(decide([last.cert], "aurora", ours.signer.notAfterMs + 1000), "expired");
});

Deno.test("a rogue certificate is told as untrusted, whatever its dates", async () => {
  const { rogue, decide } = await court();
  const { cert } = await boatPair(rogue, "aurora", { days: 1 });
  assert.equal(decide([cert]), "untrusted");
});

Deno.test("a revoked certificate is refused by its serial number, the boat's next one is not", async () => {
  const { ours, check } = await court();
  const [old, fresh] = [await boatPair(ours, "aurora"), await boatPair(ours, "aurora")];
  const isRevoked = (serial: string) => serial === old.serial;
  assert.equal(verdict(check.decide([old.cert], { nowMs: NOW_MS, isRevoked })), "revoked");
  assert.equal(verdict(check.decide([fresh.cert], { nowMs: NOW_MS, isRevoked })), "ok aurora");
});

Deno.test("a server's certificate and an authority's own make nobody a boat", async () => {
  const { ours, decide } = await court();
  assert.equal(decide([(await cloudPair(ours)).cert]), "wrong-usage");
  assert.equal(decide([ours.cert], "Boats"), "wrong-usage");
});

Deno.test("a name that is no instance id is none, even when it is claimed", async () => {
  const { ours, decide } = await court();
  for (const name of ["../other", ".hidden", "a b", "", "x".repeat(65), "a/b", "auröra", "a\u0000"]) {
    const { cert } = await boatPair(ours, name);
    assert.equal(decide([cert], name), "no-instance-id", JSON.stringify(name));
  }
  assert.equal(decide([(await boatPair(ours, "x".repeat(64))).cert]), `ok ${"x".repeat(64)}`);
});

Deno.test("a node is who its certificate says, and neither a boat nor a server is a node, nor a node a boat", async () => {
  const { ours, check, decide } = await court();
  const node = await nodePair(ours, "n1");
  const asNode = (chain: string[], claimed?: string) =>
    verdict(check.decide(chain, { kind: "node", nowMs: NOW_MS, claimed, isRevoked: nobody }));
  assert.equal(asNode([node.cert]), "ok n1");
  assert.equal(asNode([node.cert], "n1"), "ok n1");
  assert.equal(asNode([node.cert], "n2"), "name-mismatch");
  for (const claimed of [undefined, "n1", "node:n1"]) assert.equal(decide([node.cert], claimed), "no-instance-id");
  assert.equal(asNode([(await boatPair(ours, "n1")).cert]), "no-node-name");
  assert.equal(asNode([(await cloudPair(ours)).cert]), "wrong-usage");
  assert.equal(asNode([ours.cert]), "wrong-usage");
  assert.equal(asNode([]), "none");
});

Deno.test("a node is refused with a revoked or expired certificate, and with one of another authority", async () => {
  const { ours, rogue, check } = await court();
  const node = await nodePair(ours, "n1");
  const asNode = (
    { cert }: CertificatePair,
    { nowMs = NOW_MS, isRevoked = nobody }: { nowMs?: number; isRevoked?: (serial: string) => boolean } = {},
  ) => verdict(check.decide([cert], { kind: "node", nowMs, isRevoked }));
  assert.equal(asNode(node, { isRevoked: (serial) => serial === node.serial }), "revoked");
  assert.equal(asNode(await nodePair(ours, "n1"), { isRevoked: (serial) => serial === node.serial }), "ok n1");
  assert.equal(asNode(node, { nowMs: node.notAfterMs + 1000 }), "expired");
  assert.equal(asNode(node, { nowMs: node.notBeforeMs - 1000 }), "not-yet-valid");
  assert.equal(asNode(await nodePair(rogue, "n1")), "untrusted");
});

Deno.test("a name that is no node's is refused, whatever follows the prefix", async () => {
  const { ours, check } = await court();
  for (const name of ["", "../n1", ".n1", "n 1", "node:n1", "n".repeat(60), "n1\u0000"]) {
    const { cert } = await nodePair(ours, name);
    const identity = check.decide([cert], { kind: "node", nowMs: NOW_MS, isRevoked: nobody });
    assert.equal(verdict(identity), "no-node-name", JSON.stringify(name));
  }
});

Deno.test("two authorities may be trusted at once, as while one takes over from the other", async () => {
  const [old, next] = [await authorityNamed("Boats"), await authorityNamed("Boats")];
  const check = await IdentityCheck.open(`${old.cert}\n${next.cert}`);
  for (const authority of [old, next]) {
    const { cert } = await boatPair(authority, "aurora");
    assert.equal(verdict(check.decide([cert], { nowMs: NOW_MS, isRevoked: nobody })), "ok aurora");
  }
});

Deno.test("what is no authority's certificate is never trusted as one", async () => {
  const { ours } = await court();
  const { cert, key } = await boatPair(ours, "aurora");
  for (const [text, why] of [["", /no certificate/], [cert, /CN=aurora/], [key, /cannot be read/]] as const) {
    await assert.rejects(IdentityCheck.open(text), (error: Error) => {
      assert.ok(error instanceof AuthoritiesError, String(error));
      assert.match(error.message, why);
      return true;
    });
  }
});

Deno.test("a changed bit in what is signed is never believed, one elsewhere makes nobody another", async () => {
  const { ours, decide } = await court();
  const good = new X509Certificate((await boatPair(ours, "aurora")).cert).raw;
  // A header of 4 bytes each for the certificate and for the part of it that is signed.
  const signedEnd = 8 + good.readUInt16BE(6);
  assert.ok(signedEnd > 200 && signedEnd < good.length - 64);
  const random = new Random(7);
  for (let round = 0; round < 500; round++) {
    const changed = Uint8Array.from(good);
    const at = random.int(changed.length);
    changed[at] = changed[at]! ^ (1 << random.int(8));
    const judged = decide([changed]);
    if (at >= signedEnd && judged === "ok aurora") continue;
    assert.notEqual(judged.slice(0, 2), "ok", `byte ${at}`);
    assert.equal(decide([changed.subarray(0, at)]), "untrusted");
  }
});

Deno.test("what node:tls tells of a peer is followed once round, and not for ever", () => {
  const bytes = (value: number) => Uint8Array.of(value);
  const root: { raw: Uint8Array; issuerCertificate?: object } = { raw: bytes(9) };
  root.issuerCertificate = root;
  assert.deepEqual(peerChain({ raw: bytes(1), issuerCertificate: root }), [bytes(1), bytes(9)]);
  assert.deepEqual(peerChain({}), []);
  assert.deepEqual(peerChain(undefined), []);
});

/** Certificates that clients may come with; the clients' clock is that of this machine. */
async function visitors(ours: MemoryAuthority, rogue: MemoryAuthority) {
  const nowMs = Date.now();
  const server = await cloudPair(ours, nowMs);
  const forged = await boatPair(rogue, "aurora", { nowMs });
  const clients: [expected: string, client?: Pick<CertificatePair, "cert" | "key">][] = [
    ["ok aurora", await boatPair(ours, "aurora", { nowMs })],
    ["name-mismatch", await boatPair(ours, "borealis", { nowMs })],
    ["untrusted", forged],
    ["untrusted", { ...forged, cert: forged.cert + rogue.cert }],
    ["expired", await boatPair(ours, "aurora", { nowMs: nowMs - 9 * DAY_MS, days: 1 })],
    ["not-yet-valid", await boatPair(ours, "aurora", { nowMs: nowMs + 9 * DAY_MS })],
    ["wrong-usage", server],
    ["none"],
  ];
  return { server, nowMs, clients };
}

Deno.test("every client of a real handshake gets in or is judged, whatever TLS thinks of it", NET, async () => {
  const { ours, rogue, check } = await court(Date.now() - 100 * DAY_MS);
  const { server, nowMs, clients } = await visitors(ours, rogue);
  for (const [expected, client] of clients) {
    const seen = await chainSeen({ server, ca: ours.cert, ...client && { client } });
    const judged = (chain: Uint8Array[]) =>
      verdict(check.decide(chain, { nowMs, claimed: "aurora", isRevoked: nobody }));
    assert.deepEqual([judged(seen.chain), judged(seen.leaf)], [expected, expected]);
    assert.equal(seen.isAuthorized, expected === "ok aurora" || expected === "name-mismatch", expected);
  }
  const [, boat] = clients[0]!;
  const { chain } = await chainSeen({ server, ca: ours.cert, ...boat && { client: boat } });
  assert.equal(verdict(check.decide(chain, { nowMs, isRevoked: () => true })), "revoked");
});

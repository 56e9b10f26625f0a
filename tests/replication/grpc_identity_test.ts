import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate } from "node:tls";
import {
  type ClientCertificate,
  type ClientSecurity,
  ClientSecurityError,
  identify,
  isOwnMachine,
  RpcError,
  SERVICE_NAMES,
} from "../../src/replication/mod.ts";
import { isInstanceId } from "../../src/pki/mod.ts";
import { TestAuthority } from "../support/certificates.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { code, frame, REQUEST, RESPONSE, ServerFixture, service, TIMEOUT } from "./fixture.ts";
import { RawCaller, REQUEST_BYTES } from "./raw_caller.ts";

const OPENSSL = needs({ permissions: ["env", "net", "write"], programs: ["openssl"] });

/** An authority of the cloud, one of somebody else, and a server of the first. */
async function withTls(
  test: (parts: { fixture: ServerFixture; authority: TestAuthority; rogue: TestAuthority }) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/rogue`);
    const [authority, rogue] = [await TestAuthority.make(folder), await TestAuthority.make(`${folder}/rogue`)];
    const files = await authority.issue("cloud");
    await using fixture = await ServerFixture.start(service(), { tls: { files, clients: authority } });
    await test({ fixture, authority, rogue });
  });
}

/** What a boat with a certificate of this authority has. */
async function securityOf(authority: TestAuthority, name: string, { days = 30, ca = authority.pem } = {}): Promise<
  ClientSecurity
> {
  const { certPath, keyPath } = await authority.issue(name, { days });
  return { kind: "tls", cert: Deno.readTextFileSync(certPath), key: Deno.readTextFileSync(keyPath), ca };
}

/** All three calls fail with this code, and the service has heard of none. */
async function refused(
  { fixture, security, expected, why }: {
    fixture: ServerFixture;
    security: ClientSecurity;
    expected: string;
    why: RegExp;
  },
): Promise<void> {
  const client = await fixture.client({ security });
  await assert.rejects(client.handshake(REQUEST, TIMEOUT), code(expected, why));
  for (const stream of [client.live(), client.backfill()]) {
    await assert.rejects(Array.fromAsync<unknown>(stream), code(expected, why));
  }
  assert.deepEqual(fixture.callers, []);
}

Deno.test(
  "a boat with its certificate is known by its name, serial number and fingerprint on every call",
  OPENSSL,
  async () => {
    await withTls(async ({ fixture, authority }) => {
      const client = await fixture.client({ security: await securityOf(authority, "boat-001") });
      assert.deepEqual((await client.handshake(REQUEST, TIMEOUT)).response, RESPONSE);
      const [live, backfill] = [client.live(), client.backfill()];
      await live.send({ kind: "frame", frame: frame(3) });
      live.end();
      backfill.end();
      assert.deepEqual(await Array.fromAsync(live), [{ ackSeq: 3, receivedThrough: 0 }]);
      assert.deepEqual(await Array.fromAsync(backfill), []);
      assert.equal(fixture.callers.length, 3);
      for (const { instanceId, certificate, address } of fixture.callers) {
        assert.equal(instanceId, "boat-001");
        assert.equal(certificate?.commonName, "boat-001");
        assert.match(certificate.serialNumber, /^[\dA-F]{8,}$/);
        assert.match(certificate.fingerprint, /^[\dA-F]{2}(?::[\dA-F]{2}){31}$/);
        const { issuerCertificate } = certificate.peer as DetailedPeerCertificate;
        assert.equal(issuerCertificate.subject.CN, "authority");
        assert.equal(new X509Certificate(certificate.peer.raw).subject, "CN=boat-001");
        assert.match(address, /^127\.0\.0\.1:\d+$/);
      }
    });
  },
);

Deno.test("a boat without a certificate is nobody, whatever its header says", OPENSSL, async () => {
  await withTls(async ({ fixture, authority }) => {
    const caller = await RawCaller.start(fixture.port, { ca: authority.pem });
    for (const service of SERVICE_NAMES) {
      for (const method of ["Handshake", "Live", "Backfill"]) {
        const { code, details } = await caller.statusOf(`/${service}/${method}`, REQUEST_BYTES);
        assert.deepEqual([code, details], ["UNAUTHENTICATED", "no verified client certificate"]);
      }
    }
    caller.close();
    assert.deepEqual(fixture.callers, []);
  });
});

Deno.test("a certificate of another authority is none, and so is one that has expired", OPENSSL, async () => {
  await withTls(async ({ fixture, authority, rogue }) => {
    const expected = "UNAUTHENTICATED";
    const why = /no verified client certificate/;
    const security = await securityOf(rogue, "boat-001", { ca: authority.pem });
    await refused({ fixture, security, expected, why });
    await refused({ fixture, security: await securityOf(authority, "boat-001", { days: -1 }), expected, why });
  });
});

Deno.test("the certificate of another boat is refused, and both names are told", OPENSSL, async () => {
  await withTls(async ({ fixture, authority }) => {
    const security = await securityOf(authority, "boat-002");
    await refused({ fixture, security, expected: "PERMISSION_DENIED", why: /"boat-002", not for "boat-001"/ });
  });
});

Deno.test("a certificate whose name could be a path is refused", OPENSSL, async () => {
  await withTls(async ({ fixture, authority }) => {
    const client = await fixture.client({ security: await securityOf(authority, "..boat"), instanceId: "..boat" });
    const request = { ...REQUEST, instanceId: "..boat" };
    await assert.rejects(
      client.handshake(request, TIMEOUT),
      code("INVALID_ARGUMENT", /"\.\.boat" is not an instance id/),
    );
    await assert.rejects(Array.fromAsync(client.live()), code("INVALID_ARGUMENT"));
    assert.deepEqual(fixture.callers, []);
  });
});

Deno.test("a boat does not talk to a cloud whose certificate another authority has signed", OPENSSL, async () => {
  await withTls(async ({ fixture, authority, rogue }) => {
    const security = await securityOf(authority, "boat-001", { ca: rogue.pem });
    const client = await fixture.client({ security });
    await assert.rejects(client.handshake(REQUEST, TIMEOUT), code("UNAVAILABLE", /certificate|issuer/i));
    assert.deepEqual(fixture.callers, []);
  });
});

Deno.test("certificates that cannot be used are refused before anything is sent", OPENSSL, async () => {
  await withTls(async ({ fixture, authority, rogue }) => {
    const good = await securityOf(authority, "boat-001");
    const other = await securityOf(rogue, "boat-001");
    assert.ok(good.kind === "tls" && other.kind === "tls");
    for (
      const [wrong, why] of [
        [{ cert: "" }, /the replication certificate cannot be read: /],
        [{ cert: good.key }, /the replication certificate cannot be read: /],
        [{ key: "-----BEGIN" }, /the replication key cannot be read: /],
        [{ ca: "" }, /the replication authority's certificate cannot be read: /],
        [{ key: other.key }, /the replication key does not match the certificate/],
      ] as const
    ) {
      await assert.rejects(
        fixture.client({ security: { ...good, ...wrong } }),
        (error) => error instanceof ClientSecurityError && why.test(error.message),
      );
    }
  });
});

Deno.test("a cloud is known by its name or its address, whichever the boat was told", OPENSSL, async () => {
  await withTls(async ({ fixture, authority }) => {
    const security = await securityOf(authority, "boat-001");
    for (const host of ["localhost", "127.0.0.1"]) {
      const client = await fixture.client({ security, host });
      assert.deepEqual((await client.handshake(REQUEST, TIMEOUT)).response, RESPONSE);
    }
    const client = await fixture.client({ security, host: "127.0.0.2" });
    await assert.rejects(client.handshake(REQUEST, TIMEOUT), code("UNAVAILABLE", /127\.0\.0\.2 is not in the cert/));
  });
});

/** A certificate of which only the name counts. */
function certificateOf(commonName: string | undefined): ClientCertificate {
  return { commonName, serialNumber: "01", fingerprint: "AA", peer: Object.create(null) };
}

Deno.test("a certificate has the word, a claim counts on this machine only, and only where that is allowed", () => {
  const certificate = certificateOf("boat-001");
  const here = "127.0.0.1:5000";
  const claim = { certificate: undefined, claimedId: "boat-001", address: here };
  assert.equal(identify({ certificate, claimedId: undefined, address: "1.2.3.4:5" }, "certificate"), "boat-001");
  assert.equal(identify({ certificate, claimedId: "boat-001", address: "1.2.3.4:5" }, "certificate"), "boat-001");
  assert.equal(identify(claim, "insecure"), "boat-001");
  const fails = (expected: string, ...args: Parameters<typeof identify>) => {
    assert.throws(() => identify(...args), (error) => error instanceof RpcError && error.code === expected, expected);
  };
  fails("UNAUTHENTICATED", claim, "certificate");
  fails("UNAUTHENTICATED", { ...claim, address: "192.168.0.7:5000" }, "insecure");
  fails("UNAUTHENTICATED", { ...claim, address: "unknown" }, "insecure");
  fails("UNAUTHENTICATED", { ...claim, claimedId: undefined }, "insecure");
  fails("PERMISSION_DENIED", { certificate, claimedId: "boat-002", address: here }, "certificate");
  fails("PERMISSION_DENIED", { certificate, claimedId: "boat-002", address: here }, "insecure");
  const nameless = { certificate: certificateOf(undefined), claimedId: "boat-001", address: here };
  fails("UNAUTHENTICATED", nameless, "certificate");
  fails("UNAUTHENTICATED", nameless, "insecure");
  fails("INVALID_ARGUMENT", { ...claim, claimedId: "../boat" }, "insecure");
  fails("INVALID_ARGUMENT", { ...claim, claimedId: "" }, "insecure");
});

Deno.test("an instance id has 1 to 64 letters that cannot be a path", () => {
  for (const id of ["a", "7", "boat-001", "Boat_1.two", "a".repeat(64), "a..b"]) assert.ok(isInstanceId(id), id);
  for (const id of ["", ".", "..", ".a", "-a", "_a", "a/b", "a\\b", "a b", "a\n", "ä", "a".repeat(65), "a\0"]) {
    assert.ok(!isInstanceId(id), JSON.stringify(id));
  }
});

Deno.test("addresses of this machine are told from others", () => {
  const own = ["127.0.0.1", "127.0.0.1:80", "127.9.8.7:1", "localhost:9443", "[::1]:80", "::1", "::ffff:127.0.0.1"];
  for (const address of own) assert.ok(isOwnMachine(address), address);
  const others = [
    "",
    "unknown",
    "128.0.0.1",
    "0.0.0.0:1",
    "127.0.0.1.example.com:1",
    "localhost.example.com",
    "::",
    "[::2]:1",
  ];
  for (const address of others) assert.ok(!isOwnMachine(address), address);
});

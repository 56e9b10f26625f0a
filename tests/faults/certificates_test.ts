import assert from "node:assert/strict";
import type { CertificatePair } from "../../src/pki/certificates_make.ts";
import { SERVICE_NAMES } from "../../src/replication/mod.ts";
import { code, TIMEOUT } from "../replication/fixture.ts";
import { RawCaller, REQUEST_BYTES } from "../replication/raw_caller.ts";
import { eventually } from "../support/eventually.ts";
import { BadCertificates, runCa } from "../support/replication_certificates.ts";
import {
  assertAllThere,
  certificateOf,
  greeting,
  healthOf,
  issueBoat,
  PROCESSES,
  strangerOf,
  traffic,
} from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ID = "boat-1";
const EPOCH = new Uint8Array(16).fill(0xb2);

/** What a boat is told about each kind of certificate. */
const WORDS = {
  rogue: /UNAUTHENTICATED: .* is not signed by a trusted authority/,
  expired: /UNAUTHENTICATED: the certificate of "CN=boat-1" expired 20/,
  early: /UNAUTHENTICATED: the certificate of "CN=boat-1" is valid from 20/,
  other: /PERMISSION_DENIED: the certificate is that of "boat-2", not of "boat-1"/,
  revoked: /UNAUTHENTICATED: .*revoked/,
} as const;

/** Where the boat looks for its certificate. */
const placeOf = (folder: string) => ({ cert: `${folder}/own.pem`, key: `${folder}/own-key.pem` });

async function put(folder: string, { cert, key }: Pick<CertificatePair, "cert" | "key">): Promise<void> {
  const place = placeOf(folder);
  await Deno.writeTextFile(place.cert, cert);
  await Deno.writeTextFile(place.key, key);
}

async function pairOf({ certPath, keyPath }: { certPath: string; keyPath: string }) {
  return { cert: await Deno.readTextFile(certPath), key: await Deno.readTextFile(keyPath) };
}

/** A lab whose boat has a certificate that nobody trusts. */
function startRefused(ports: "dual" | "single"): Promise<ReplicationLab> {
  return ReplicationLab.start({
    ports,
    prepare: async (folder) => {
      const bad = await BadCertificates.open(folder);
      await put(folder, await bad.rogue(ID));
    },
    boatFlags: (folder) => {
      const { cert, key } = placeOf(folder);
      return ["-replication-tls-cert", cert, "-replication-tls-key", key];
    },
    cloudFlags: (folder) => ["-tls-revoked", `${folder}/ca/revoked.txt`],
  });
}

/** Waits until the boat's health says so; its log says it, too. */
async function told(lab: ReplicationLab, words: RegExp): Promise<void> {
  const message = await eventually(String(words), async () => {
    const { message = "" } = (await healthOf(lab, "boat")).components["replication"] ?? {};
    return words.test(message) && message;
  });
  assert.match(message, /^disconnected: .*; next attempt 20|^connecting again: /);
  await eventually("the log", () => words.test(lab.log("boat").replaceAll('\\"', '"')));
}

/** All three calls of somebody with a certificate are refused. */
async function refused(lab: ReplicationLab, pair: Pick<CertificatePair, "cert" | "key">, words: RegExp): Promise<void> {
  const [, expected, why] = /^(\w+): (.*)$/.exec(words.source)!;
  const client = await strangerOf(lab, { instanceId: ID, ...pair });
  try {
    const is = code(expected!, new RegExp(why!));
    await assert.rejects(client.handshake(greeting({ instanceId: ID, headSeq: 9, epoch: EPOCH }), TIMEOUT), is);
    for (const stream of [client.live(), client.backfill()]) await assert.rejects(Array.fromAsync<unknown>(stream), is);
  } finally {
    client.close();
  }
}

/** Without a certificate a header is nobody. */
async function refusedWithout(lab: ReplicationLab): Promise<void> {
  const ca = await Deno.readTextFile(certificateOf(lab.folder, ID).caPath);
  const caller = await RawCaller.start(lab.proxy.port, { ca, instanceId: ID });
  try {
    for (const method of ["Handshake", "Live", "Backfill"]) {
      const { code, details } = await caller.statusOf(`/${SERVICE_NAMES[0]}/${method}`, REQUEST_BYTES);
      assert.deepEqual([code, details], ["UNAUTHENTICATED", "there is no client certificate"], method);
    }
  } finally {
    caller.close();
  }
}

for (const ports of ["dual", "single"] as const) {
  Deno.test({
    name: `${ports} port: nobody is a boat without its certificate; the boat says what is wrong with its own, and is ` +
      "back with a good one, also after a revocation, which ends its streams",
    ...PROCESSES,
    fn: async (t) => {
      await using lab = await startRefused(ports);
      const { folder } = lab;
      const bad = await BadCertificates.open(folder);
      const other = await issueBoat(folder, "boat-2");
      await t.step("the boat is refused, and says why", async () => {
        await told(lab, WORDS.rogue);
        if (ports === "single") return;
        await put(folder, await pairOf(other));
        await told(lab, WORDS.other);
      });
      await t.step("so is everybody else, on every call", async () => {
        await refused(lab, await bad.rogue(ID), WORDS.rogue);
        await refused(lab, await bad.expired(ID), WORDS.expired);
        await refused(lab, await bad.early(ID), WORDS.early);
        await refused(lab, await pairOf(other), WORDS.other);
        await refusedWithout(lab);
        assert.deepEqual(await lab.get("cloud", "/instances"), { instances: [] });
      });
      await t.step("with a good certificate it is let in, without a restart", async () => {
        await put(folder, await pairOf(certificateOf(folder, ID)));
        await lab.connected();
        await traffic(lab, 100);
      });
      await t.step("a revocation ends its streams", async () => {
        const stolen = await pairOf(certificateOf(folder, ID));
        await runCa(folder, "revoke", ID);
        await eventually("the end of the streams", async () => (await lab.cloudStatus())?.connected === false);
        await told(lab, /UNAUTHENTICATED: the certificate is no longer valid|UNAUTHENTICATED: .*revoked/);
        await refused(lab, stolen, WORDS.revoked);
      });
      await put(folder, await pairOf(await issueBoat(folder, ID, { isForced: true })));
      await lab.connected();
      await assertAllThere(lab);
    },
  });
}

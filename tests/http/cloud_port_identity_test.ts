import assert from "node:assert/strict";
import type { CertificatePair } from "../../src/pki/certificates_make.ts";
import { type ReplicationClient, SERVICE_NAMES } from "../../src/replication/mod.ts";
import { code, frame, REQUEST, RESPONSE, TIMEOUT } from "../replication/fixture.ts";
import { RawCaller, REQUEST_BYTES } from "../replication/raw_caller.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CloudPort, DAY_MS, PortAuthority } from "./cloud_port.ts";

const OPENSSL = needs({ permissions: ["env", "net", "write"], programs: ["openssl"] });
const MODES = ["single", "dual"] as const;

/** All three calls of a client fail so, and the service has heard of none. */
async function refused(
  port: CloudPort,
  { client, expected, why }: { client: ReplicationClient; expected: string; why: RegExp },
): Promise<void> {
  const before = port.callers.length;
  await assert.rejects(client.handshake(REQUEST, TIMEOUT), code(expected, why));
  for (const stream of [client.live(), client.backfill()]) {
    await assert.rejects(Array.fromAsync<unknown>(stream), code(expected, why));
  }
  assert.equal(port.callers.length, before);
}

for (const mode of MODES) {
  Deno.test(
    `${mode} port: a boat with its certificate is known on every call`,
    OPENSSL,
    () =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode });
        const client = await port.client(await port.parts.boats.boat("boat-001"));
        assert.deepEqual((await client.handshake(REQUEST, TIMEOUT)).response, RESPONSE);
        const [live, backfill] = [client.live(), client.backfill()];
        await live.send({ kind: "frame", frame: frame(3) });
        live.end();
        backfill.end();
        assert.deepEqual(await Array.fromAsync(live), [{ ackSeq: 3, receivedThrough: 0 }]);
        assert.deepEqual(await Array.fromAsync(backfill), []);
        assert.deepEqual(port.callers.map(({ instanceId }) => instanceId), ["boat-001", "boat-001", "boat-001"]);
      }),
  );

  Deno.test(
    `${mode} port: without a certificate every call is refused, whatever its header says`,
    OPENSSL,
    () =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode });
        const caller = await RawCaller.start(port.grpcPort, { ca: port.parts.cloud.pem });
        for (const service of SERVICE_NAMES) {
          for (const method of ["Handshake", "Live", "Backfill"]) {
            const { code, details } = await caller.statusOf(`/${service}/${method}`, REQUEST_BYTES);
            assert.deepEqual([code, details], ["UNAUTHENTICATED", "there is no client certificate"]);
          }
          for (const method of ["Live", "Backfill"]) {
            assert.equal((await caller.statusOf(`/${service}/${method}`)).code, "UNAUTHENTICATED", "without a message");
          }
        }
        caller.close();
        assert.deepEqual(port.callers, []);
      }),
  );

  Deno.test(
    `${mode} port: a certificate that is not good is refused with the reason`,
    OPENSSL,
    (t) =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode });
        const { boats } = port.parts;
        const rogue = await PortAuthority.make(folder, "rogue-ca");
        const stolen = await boats.boat("boat-001");
        await port.putRevoked(stolen.serial);
        await port.parts.revoked.check();
        const expected = "UNAUTHENTICATED";
        const cases: [what: string, pair: Pick<CertificatePair, "cert" | "key">, why: RegExp, code?: string][] = [
          ["of a rogue authority", await rogue.boat("boat-001"), /is not signed by a trusted authority/],
          ["expired", await boats.boat("boat-001", { ageDays: 100 }), /the certificate of "CN=boat-001" expired 20/],
          [
            "not yet valid",
            await boats.boat("boat-001", { ageDays: -3 }),
            /the certificate of "CN=boat-001" is valid from 20/,
          ],
          ["revoked", stolen, /is revoked/],
          ["of a server", await boats.server(), /is not for clients/],
          ["of several names", await boats.named("/CN=boat-001/CN=boat-002"), /is not an instance id/],
          ["of a name that could be a path", await boats.named("/CN=..boat"), /is not an instance id/],
          [
            "of another boat",
            await boats.boat("boat-002"),
            /is that of "boat-002", not of "boat-001"/,
            "PERMISSION_DENIED",
          ],
        ];
        for (const [what, pair, why, code = expected] of cases) {
          await t.step(what, async () => {
            await refused(port, { client: await port.client(pair), expected: code, why });
          });
        }
      }),
  );

  Deno.test(
    `${mode} port: who is let in is asked again on open connections`,
    OPENSSL,
    () =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode });
        const { boats, identity, revoked, authorities } = port.parts;
        const pairs = await Promise.all([1, 2, 3].map((n) => boats.boat(`boat-00${n}`, { days: 10 * n })));
        const clients: ReplicationClient[] = [];
        for (const [index, pair] of pairs.entries()) {
          const instanceId = `boat-00${index + 1}`;
          const client = await port.client(pair, instanceId);
          await client.handshake({ ...REQUEST, instanceId }, TIMEOUT);
          clients.push(client);
        }
        const letIn = () => port.callers.map(identity.isAllowed);
        let changes = 0;
        const leave = identity.follow(() => changes += 1);
        assert.deepEqual(letIn(), [true, true, true]);
        await port.putRevoked(pairs[1]!.serial);
        await revoked.check();
        assert.deepEqual([changes, letIn()], [1, [true, false, true]]);
        const again = clients[1]!.handshake({ ...REQUEST, instanceId: "boat-002" }, TIMEOUT);
        await assert.rejects(again, code("UNAUTHENTICATED", /revoked/));
        await port.putRevoked("");
        await revoked.check();
        port.clock.advance(1000);
        assert.deepEqual([changes, letIn()], [2, [true, true, true]], "who was revoked by mistake");
        await port.putRevoked(pairs[1]!.serial);
        await revoked.check();
        port.clock.advance(10.5 * DAY_MS);
        assert.deepEqual(letIn(), [false, false, true]);
        const other = await PortAuthority.make(folder, "other-ca");
        await port.putAuthorities(other.pem);
        await authorities.look();
        assert.deepEqual([changes, letIn()], [4, [false, false, false]]);
        await port.putAuthorities(other.pem + boats.pem);
        await authorities.look();
        assert.deepEqual([changes, letIn()], [5, [false, false, true]]);
        leave();
      }),
  );

  Deno.test(
    `${mode} port: authorities are replaced, a bad file leaves the old ones`,
    OPENSSL,
    () =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode });
        const { boats, authorities } = port.parts;
        const other = await PortAuthority.make(folder, "other-ca");
        const [first, second] = [await boats.boat("boat-001"), await other.boat("boat-001")];
        const old = await port.client(first);
        await old.handshake(REQUEST, TIMEOUT);
        assert.deepEqual(authorities.health(), { status: "ok" });
        for (const [text, why] of [["", /no certificate/], [first.cert, /not that of an authority/]] as const) {
          await port.putAuthorities(text);
          await authorities.look();
          assert.equal(authorities.health().status, "degraded");
          assert.match(authorities.health().message ?? "", why);
          await (await port.client(first)).handshake(REQUEST, TIMEOUT);
        }
        await Deno.remove(port.paths.clientCaPath);
        await authorities.look();
        assert.match(authorities.health().message ?? "", /there is no such file; the old ones stay/);
        await port.putAuthorities(other.pem);
        await authorities.look();
        assert.deepEqual(authorities.health(), { status: "ok" });
        await (await port.client(second)).handshake(REQUEST, TIMEOUT);
        await refused(port, {
          client: await port.client(first),
          expected: "UNAUTHENTICATED",
          why: /not signed by a trusted authority/,
        });
        await refused(port, { client: old, expected: "UNAUTHENTICATED", why: /not signed by a trusted authority/ });
      }),
  );

  Deno.test(
    `${mode} port: a certificate of the cloud that is replaced cuts no stream`,
    OPENSSL,
    () =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode });
        const { boats, cloud, tls } = port.parts;
        const pair = await boats.boat("boat-001");
        const live = (await port.client(pair)).live();
        const acks = live[Symbol.asyncIterator]();
        const ack = async (seq: number) => {
          await live.send({ kind: "frame", frame: frame(seq) });
          assert.equal((await acks.next()).value?.ackSeq, seq);
        };
        await ack(1);
        const next = await cloud.server();
        await port.putServer({ cert: next.cert, key: pair.key });
        await tls.check();
        assert.equal(tls.health().status, "degraded");
        await (await port.client(pair)).handshake(REQUEST, TIMEOUT);
        await port.putServer(next);
        await tls.check();
        assert.equal(tls.pair.cert, next.cert);
        await (await port.client(pair)).handshake(REQUEST, TIMEOUT);
        await ack(2);
        live.end();
        await eventually("the stream to end", async () => (await acks.next()).done);
        await refused(port, {
          client: await port.client(await boats.boat("boat-002")),
          expected: "PERMISSION_DENIED",
          why: /boat-002/,
        });
      }),
  );
}

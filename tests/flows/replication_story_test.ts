import assert from "node:assert/strict";
import { audit } from "../../cli/commands/audit/compare.ts";
import { systemClock } from "../../src/base/mod.ts";
import { Authority, initAuthority } from "../../src/pki/mod.ts";
import { type Cloud, startCloud } from "../../src/cloud_server/cloud.ts";
import type { Proof } from "../../src/http/mod.ts";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { assertAddsUp } from "../support/proof.ts";
import { SseClient } from "../support/sse_client.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

const PARTS = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const ID = "sea-otter";
const HERE = { hostname: "127.0.0.1", port: 0 };
/** Small ones, so that a hole shrinks in many steps. */
const BLOCK_BYTES = 4096;

/** What the cloud says of the boat. */
interface Status {
  connected: boolean;
  cursor: number;
  boat_head_seq: number;
  holes: { start: number; end: number }[];
  lag_seqs: number;
  received_through: number;
}

interface ReplicationEvent {
  type: string;
  detail: string;
}

/** Certificates of a boat and of its cloud. */
async function certificatesIn(folder: string) {
  const issued = { days: 1, isForced: false };
  await initAuthority(folder, { name: "test", days: 2, clock: systemClock });
  using authority = await Authority.open(folder, { clock: systemClock });
  const server = await authority.issueServer({ hosts: ["localhost"], ips: ["127.0.0.1"] }, issued);
  return { server, boat: await authority.issueBoat(ID, issued) };
}

async function startTestCloud(folder: string, tls: { certPath: string; keyPath: string; caPath: string }) {
  return await startCloud({
    dataDirectory: `${folder}/cloud`,
    ports: { kind: "dual", grpc: HERE, http: HERE, tls, trust: { clientCaPath: tls.caPath } },
    journal: { syncIntervalMs: 50 },
  });
}

async function ask<T>(cloud: Cloud, path: string): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${cloud.addresses.http.port}/instances/${ID}${path}`);
  assert.equal(response.status, 200, path);
  return await response.json() as T;
}

Deno.test(
  "the story of replication: live, an outage, a hole of a thousand frames that shrinks from its front, and none in the end",
  PARTS,
  () =>
    inFolder(async (folder) => {
      const { server, boat: own } = await certificatesIn(`${folder}/ca`);
      const cloud = await startTestCloud(folder, server);
      await using proxy = await TcpProxy.start(cloud.addresses.grpc.port);
      try {
        const boat = await TestBoat.start({
          journal: {
            ...{ directory: `${folder}/journal`, stateDirectory: `${folder}/state`, blockBytes: BLOCK_BYTES },
            compression: "none",
          },
          replication: { target: `127.0.0.1:${proxy.port}`, instanceId: ID, tls: own },
        });
        try {
          await tell({ cloud, boat, proxy });
        } finally {
          await boat[Symbol.asyncDispose]();
        }
      } finally {
        await cloud.stop();
      }
      const report = await audit({ boat: `${folder}/journal`, cloud: `${folder}/cloud/${ID}` });
      assert.deepEqual(
        report.epochs.map(({ missing, extra, different }) => [missing.count, extra.count, different.count]),
        [[0, 0, 0]],
      );
    }),
);

/** Both sides count `head` frames and miss none. */
async function assertNothingMissing(
  head: number,
  proofs: { own: () => Promise<Proof>; inCloud: () => Promise<Proof> },
) {
  await eventually("both proofs to say so", async () => {
    const [own, there] = [await proofs.own(), await proofs.inCloud()];
    assert.deepEqual([own.seen, own.missing, own.earlier], [head, [], []]);
    assert.deepEqual([there.missing, there.earlier], [[], []]);
    return own.recorded === head && own.in_cloud === head && there.seen === head && there.in_cloud === head;
  });
}

async function sayUpTo(boat: TestBoat, head: number): Promise<void> {
  const { broker } = boat.boat;
  while (broker.head < head) {
    const next = Math.min(head, broker.head + 50);
    for (let seq = broker.head; seq < next; seq++) boat.say({ data: [seq & 0xff, seq >>> 8, 3, 4, 5, 6, 7, 8] });
    await eventually("the frames", () => broker.head === next);
  }
}

async function tell({ cloud, boat, proxy }: { cloud: Cloud; boat: TestBoat; proxy: TcpProxy }) {
  const sendTo = (head: number) => sayUpTo(boat, head);
  const status = () => ask<Status>(cloud, "/status");
  const link = () => boat.get<ReplicationStatus>("/replication/status");
  const proofs = {
    own: async () => assertAddsUp(await boat.get<Proof>("/proof")),
    inCloud: async () => assertAddsUp(await ask<Proof>(cloud, "/proof")),
  };

  await eventually("the boat to be connected", async () => (await link()).connected);
  await sendTo(999);
  const live = await eventually("everything live", async () => {
    const now = await status();
    return now.cursor === 999 && now;
  });
  assert.deepEqual([live.connected, live.holes, live.lag_seqs], [true, [], 0]);
  await assertNothingMissing(999, proofs);
  await using stream = await SseClient.open(
    `http://127.0.0.1:${cloud.addresses.http.port}/instances/${ID}/events`,
  );

  proxy.mode = "swallow";
  await eventually("the link to be given up", () => {
    proxy.cut("rst");
    return link().then(({ connected }) => !connected);
  });
  await sendTo(2000);
  const { seen: known, in_cloud, missing } = await proofs.own();
  // Added up, they are what was fed: assertAddsUp.
  assert.deepEqual([known, in_cloud, (await proofs.inCloud()).in_cloud], [2000, 999, 999]);
  assert.ok(missing.every(({ reason }) => reason.includes("no connection to the cloud")), JSON.stringify(missing));
  // So slow that whoever looks sees it shrink.
  proxy.bytesPerSecond = 5000;
  proxy.mode = "pass";
  // A try of meanwhile would wait for its answer.
  proxy.cut("rst");
  const seen: Status["holes"][] = [];
  const healed = await eventually("the hole to be filled", async () => {
    const now = await status();
    seen.push(now.holes);
    await Promise.all([proofs.own(), proofs.inCloud()]);
    return now.cursor >= 2000 && now;
  });
  assert.deepEqual([healed.holes, healed.lag_seqs, healed.connected], [[], 0, true]);
  const starts = seen.flatMap((holes) => holes.map(({ start, end }) => ({ start, end })));
  // Frame 2000 itself comes live.
  assert.ok(starts.some(({ start, end }) => start === 1000 && (end === 2000 || end === 2001)), JSON.stringify(starts));
  assert.ok(new Set(starts.map(({ start }) => start)).size > 1, JSON.stringify(starts));
  assert.ok(starts.every(({ start, end }, i) => end >= 2000 && end <= 2001 && start >= (starts[i - 1]?.start ?? 0)));

  proxy.bytesPerSecond = 0;
  await sendTo(2050);
  await eventually("the live frames on the cloud's stream", () => stream.frames.at(-1)?.seq === 2050);
  const after = await eventually("both sides to agree", async () => {
    const now = await link();
    return now.cloud_durable_seq === 2050 && now;
  });
  assert.deepEqual(after.holes, []);
  await assertNothingMissing(2050, proofs);
  assert.deepEqual([after.live_lag, after.backfill_remaining_seqs, after.reconnects], [0, 0, 1]);
  const types = await eventually("the end of the backfill", async () => {
    const events = (await ask<ReplicationEvent[]>(cloud, "/replication/events?limit=1024")).reverse();
    const each = events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]);
    return each.includes("backfill_stop") && each;
  });
  const begun = ["checkpoint", "live_start", "live_stop", "live_start"];
  assert.deepEqual(types, [...begun, "backfill_start", "block_received", "backfill_stop"]);
}

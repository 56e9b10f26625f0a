import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { compileFilter } from "../../src/filter/mod.ts";
import { ClientSessions, FrameSource, type SessionClient, Sessions, type StreamEnd } from "../../src/stream/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { message } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const WISH = { filter: {}, timeoutMs: 3_600_000 };
const LIMITS = { maxSessions: 6, maxSessionsPerOwner: 3, maxTimeoutMs: 7 * 86_400_000 };

async function open(
  { directory, limits = LIMITS }: { directory?: string; limits?: typeof LIMITS } = {},
): Promise<Sessions> {
  const broker = new Broker({ buses: ["can0"] });
  broker.publish(message());
  return await Sessions.open({
    source: new FrameSource(broker),
    compile: (filter) => compileFilter(filter, { buses: broker.buses, manufacturerCode: Number }),
    clock: new FakeClock(),
    log: silentLogger,
    limits: () => limits,
    directory,
  });
}

function as(sessions: Sessions, client: Partial<SessionClient>): ClientSessions {
  return new ClientSessions(sessions, { token: undefined, isAdmin: false, network: "192.0.2.1", ...client });
}

/** Makes sessions `prefix1`, `prefix2` …; gives the reasons of those that were refused. */
function make(client: ClientSessions, { prefix, count }: { prefix: string; count: number }): string[] {
  const reasons: string[] = [];
  for (let i = 1; i <= count; i++) {
    try {
      client.put(`${prefix}${i}`, WISH);
    } catch (error) {
      reasons.push(error instanceof Error && "reason" in error ? String(error.reason) : String(error));
    }
  }
  return reasons;
}

function ids(sessions: Sessions, candidates: readonly string[]): string[] {
  return candidates.filter((id) => {
    try {
      return sessions.get(id).id === id;
    } catch {
      return false;
    }
  });
}

Deno.test("at its limit an owner's oldest session that was never read gives way, and no other", async () => {
  const sessions = await open();
  const [nav, guest] = [as(sessions, { token: "nav" }), as(sessions, { token: "guest" })];
  make(guest, { prefix: "g", count: 1 });
  make(nav, { prefix: "n", count: 3 });
  await nav.ack("n1", 0);
  assert.deepEqual(make(nav, { prefix: "m", count: 1 }), []);
  assert.deepEqual(ids(sessions, ["g1", "n1", "n2", "n3", "m1"]), ["g1", "n1", "n3", "m1"]);
  const streams = ["n3", "m1"].map((id) => nav.stream(id, { ended: () => {} }));
  assert.deepEqual(make(nav, { prefix: "k", count: 2 }), ["owner-full", "owner-full"]);
  for (const stream of streams) stream.end({ code: "left" });
  assert.deepEqual(make(nav, { prefix: "k", count: 1 }), ["owner-full"], "what was read once stays");
  assert.deepEqual(sessions.figures, { replaced: 1, refused: { owner: 3, total: 0 } });
  nav.delete("n1");
  assert.deepEqual(make(nav, { prefix: "k", count: 1 }), []);
  await sessions.stop();
});

Deno.test("where all are in use, who has the most gives way to who would have fewer, and to nobody else", async () => {
  const sessions = await open();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((token) => as(sessions, { token })) as [
    ClientSessions,
    ClientSessions,
    ClientSessions,
    ClientSessions,
  ];
  make(a, { prefix: "a", count: 3 });
  make(b, { prefix: "b", count: 3 });
  assert.deepEqual(make(c, { prefix: "c", count: 2 }), []);
  assert.deepEqual(ids(sessions, ["a1", "a2", "a3", "b1", "b2", "b3"]), ["a2", "a3", "b2", "b3"]);
  assert.deepEqual(make(c, { prefix: "more", count: 1 }), ["full"], "all have two");
  assert.deepEqual(make(d, { prefix: "d", count: 1 }), []);
  for (const [client, id] of [[b, "b2"], [b, "b3"], [c, "c1"], [c, "c2"]] as const) await client.ack(id, 0);
  assert.deepEqual(make(as(sessions, { token: "e" }), { prefix: "e", count: 1 }), ["full"], "what was read stays");
  await sessions.stop();
});

Deno.test("a session of nobody is claimed by the first token that puts it, within its limit, and who reads it is told", async () => {
  const sessions = await open({ limits: { ...LIMITS, maxSessions: 100 } });
  make(as(sessions, { isAdmin: true }), { prefix: "old", count: 3 });
  const [nav, guest] = [as(sessions, { token: "nav" }), as(sessions, { token: "guest" })];
  const ends: StreamEnd[] = [];
  guest.stream("old1", { ended: (how) => ends.push(how) });
  nav.put("old1", WISH);
  assert.deepEqual(ends, [{ code: "superseded" }]);
  assert.throws(() => guest.get("old1"), { reason: "missing" });
  nav.stream("old2", { ended: (how) => ends.push(how) });
  nav.put("old2", WISH);
  assert.equal(ends.length, 1, "its own stream goes on");
  for (const id of ["old1", "old2"]) await nav.ack(id, 0);
  make(nav, { prefix: "n", count: 1 });
  await nav.ack("n1", 0);
  assert.throws(() => nav.put("old3", WISH), { reason: "owner-full" });
  assert.equal(guest.get("old3").id, "old3");
  const admin = as(sessions, { token: "root", isAdmin: true });
  admin.put("old1", WISH);
  assert.equal(sessions.ownerOf("old1"), "nav", "an admin may change it, and does not take it away");
  await sessions.stop();
});

Deno.test(
  "limits of tokens and networks, and what was read, hold over a restart",
  DISK,
  () =>
    inFolder(async (directory) => {
      {
        const sessions = await open({ directory });
        make(as(sessions, { token: "nav" }), { prefix: "n", count: 3 });
        make(as(sessions, { network: "192.0.2.9" }), { prefix: "w", count: 3 });
        for (const id of ["n1", "n2", "n3", "w1"]) await sessions.ack(id, 0);
        await sessions.stop();
      }
      const sessions = await open({ directory, limits: { ...LIMITS, maxSessions: 100 } });
      assert.deepEqual(make(as(sessions, { token: "nav" }), { prefix: "m", count: 1 }), ["owner-full"]);
      assert.deepEqual(make(as(sessions, { network: "192.0.2.9" }), { prefix: "v", count: 1 }), []);
      assert.deepEqual(ids(sessions, ["w1", "w2", "w3", "v1"]), ["w1", "w3", "v1"], "the oldest never read");
      assert.deepEqual(make(as(sessions, { network: "192.0.2.8" }), { prefix: "u", count: 3 }), []);
      await sessions.stop();
    }),
);

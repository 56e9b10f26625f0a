// A node is stopped while boats stream to it through a balancer: with -drain-time another node takes the boats over.
import assert from "node:assert/strict";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { DiagnosticEvents } from "../../src/cloud/mod.ts";
import { Authority, initAuthority } from "../../src/pki/mod.ts";
import { expectedFrame, Fleet, type FleetMember } from "../../src/simulation/fleet/mod.ts";
import { framesIn } from "../cloud/cloud_fixture.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { START_MS, TestProgram } from "../support/program.ts";
import { FLEET_SEED } from "../support/store_oracle.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

const ALL = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const BOATS = 5;
const VALIDITY = { days: 90, isForced: false };
const PATIENT = { graceMs: START_MS, signal: new AbortController().signal };

/** A folder with an authority, for nodes and boats. */
async function withAuthority(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "vbg_drain_" });
  try {
    await initAuthority(`${folder}/ca`, { name: "fleet", days: 180, clock: systemClock });
    {
      using authority = await Authority.open(`${folder}/ca`, { clock: systemClock });
      await authority.issueServer({ hosts: ["localhost"], ips: ["127.0.0.1"] }, VALIDITY);
    }
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A cloud as a process. */
class Node implements AsyncDisposable {
  readonly program: TestProgram;
  readonly directory: string;
  readonly url: string;
  /** For boats. */
  readonly port: number;

  private constructor(program: TestProgram, about: Pick<Node, "directory" | "url" | "port">) {
    this.program = program;
    this.directory = about.directory;
    this.url = about.url;
    this.port = about.port;
  }

  static async start(folder: string, { name, flags = [] }: { name: string; flags?: string[] }): Promise<Node> {
    const [server, directory] = [`${folder}/ca/server`, `${folder}/${name}`];
    const program = await TestProgram.start("cloud", () => [
      ...["-data-dir", directory, "-grpc-listen", "127.0.0.1:0", "-http-listen", "127.0.0.1:0"],
      ...["-tls-cert", `${server}/cert.pem`, "-tls-key", `${server}/key.pem`, "-tls-client-ca", `${server}/ca.pem`],
      ...flags,
    ]);
    const url = await program.url();
    const port = await eventually("the port", () => /"listening for boats".*"port":(\d+)/.exec(program.log)?.[1]);
    return new Node(program, { directory, url, port: Number(port) });
  }

  /** Status and body of a path. */
  async get(path: string): Promise<[status: number, body: Record<string, unknown>]> {
    const answer = await fetch(this.url + path);
    return [answer.status, await answer.json()];
  }

  /** Through which number it has acknowledged a boat's frames; 0: it does not know the boat. */
  async acknowledged({ id }: FleetMember): Promise<number> {
    const [status, { ack_seq }] = await this.get(`/instances/${id}/status`);
    return status === 200 ? Number(ack_seq) : 0;
  }

  /** When it ended the streams of the boats because it drained, milliseconds since 1970. */
  async drainTimes({ boats }: Fleet): Promise<number[]> {
    const events = await Promise.all(boats.map(({ id }) => {
      const directory = `${this.directory}/${id}`;
      return new DiagnosticEvents({ id, directory, clock: systemClock, log: silentLogger }).list();
    }));
    return events.flat()
      .filter(({ type, detail }) => type === "live_stop" && detail.endsWith("the node is draining"))
      .map(({ timeMs }) => timeMs);
  }

  /** Checks that it has the first frames of a boat on its disk, as they were fed, through at least `least`. */
  async assertFrames({ id, epoch, head }: FleetMember, least: number): Promise<void> {
    const found = (await framesIn(`${this.directory}/${id}`)).map(({ seq, timeUs, id, data }) => ({
      seq,
      timeUs,
      id,
      data,
    }));
    assert.ok(least > 0 && found.length >= least && found.length <= head, `${id}: ${found.length} of ${least}`);
    const wanted = found.map((_, index) => {
      const { seq, timeUs, canId, data } = expectedFrame(index + 1, { seed: FLEET_SEED, boat: id, epoch });
      return { seq, timeUs, id: canId, data: data.toHex() };
    });
    assert.deepEqual(found, wanted);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
  }
}

/** Boats that stream to `port`; the node has acknowledged frames of each. */
async function startFleet(folder: string, { node, port }: { node: Node; port: number }): Promise<Fleet> {
  const fleet = await Fleet.start({
    target: `127.0.0.1:${port}`,
    ids: Array.from({ length: BOATS }, (_, index) => `boat-${index + 1}`),
    trust: { kind: "authority", directory: `${folder}/ca` },
    seed: FLEET_SEED,
    rate: 100,
    collectMs: 20,
    clock: systemClock,
    signal: PATIENT.signal,
  });
  await fleet.connect(PATIENT);
  fleet.begin();
  for (const boat of fleet.boats) {
    await eventually(`frames of ${boat.id}`, async () => await node.acknowledged(boat) > 0);
  }
  return fleet;
}

/** Through which number a node has acknowledged each boat's frames. */
function acknowledgedOf(node: Node, { boats }: Fleet): Promise<number[]> {
  return Promise.all(boats.map((boat) => node.acknowledged(boat)));
}

/** Follows a node until it has stopped; gives the highest acknowledged number of each boat, from `before` on. */
async function acknowledgedUntilStop(
  node: Pick<Node, "program" | "acknowledged">,
  { fleet: { boats }, before }: { fleet: Fleet; before: readonly number[] },
): Promise<number[]> {
  const acknowledged = [...before];
  let isOver = false;
  void node.program.exitCode().then(() => isOver = true);
  await eventually("the end of the node", async () => {
    for (const [i, boat] of boats.entries()) {
      const now = await node.acknowledged(boat).catch(() => 0);
      acknowledged[i] = Math.max(acknowledged[i] ?? 0, now);
    }
    return isOver;
  });
  return acknowledged;
}

Deno.test(
  "with -drain-time a node hands its boats over one after the other, and keeps what it acknowledged",
  ALL,
  () =>
    withAuthority(async (folder) => {
      await using first = await Node.start(folder, { name: "first", flags: ["-drain-time", "3s"] });
      await using second = await Node.start(folder, { name: "second" });
      await using balancer = await TcpProxy.start(first.port);
      await using fleet = await startFleet(folder, { node: first, port: balancer.port });
      assert.equal((await first.get("/readyz"))[0], 200);
      // A node may stop before it has answered once more.
      const before = await acknowledgedOf(first, fleet);
      first.program.signal("SIGTERM");
      const [, ready] = await eventually("the node not to be ready", async () => {
        const answer = await first.get("/readyz");
        return answer[0] === 503 && answer;
      });
      balancer.targetPort = second.port;
      assert.equal(ready.status, "draining");
      assert.deepEqual(await first.get("/livez"), [200, { status: "ok" }]);
      const [status, health] = await first.get("/healthz");
      assert.deepEqual([status, health.status], [200, "degraded"]);
      assert.match(JSON.stringify(health), /"drain":\{"status":"degraded","message":"the node is draining"\}/);
      (await Deno.connect({ hostname: "127.0.0.1", port: first.port })).close();
      const acknowledged = await acknowledgedUntilStop(first, { fleet, before });
      assert.equal(await first.program.exitCode(), 0, first.program.log);
      assert.doesNotMatch(first.program.log, /at the deadline/);
      const times = await first.drainTimes(fleet);
      assert.equal(times.length, BOATS);
      assert.ok(new Set(times).size > 1, `not all at once: ${times}`);
      await eventually("all boats at the other node", () => fleet.sample().connected === BOATS);
      assert.deepEqual([...fleet.errors], [["replication disconnected: UNAVAILABLE: the node is draining", BOATS]]);
      fleet.silence();
      for (const [i, boat] of fleet.boats.entries()) {
        await first.assertFrames(boat, acknowledged[i] ?? 0);
        await eventually(`all frames of ${boat.id}`, async () => await second.acknowledged(boat) === boat.head);
      }
      assert.equal(fleet.sample().lost, 0);
    }),
);

Deno.test(
  "without -drain-time a node ends all streams at once, and is ready until it stops",
  ALL,
  () =>
    withAuthority(async (folder) => {
      await using node = await Node.start(folder, { name: "node" });
      await using fleet = await startFleet(folder, { node, port: node.port });
      const before = await acknowledgedOf(node, fleet);
      node.program.signal("SIGTERM");
      const states = new Set<number>();
      const acknowledged = await acknowledgedUntilStop({
        program: node.program,
        acknowledged: async (boat: FleetMember) => {
          states.add((await node.get("/readyz"))[0]);
          return await node.acknowledged(boat);
        },
      }, { fleet, before });
      assert.equal(await node.program.exitCode(), 0);
      assert.ok(!states.has(503));
      assert.doesNotMatch(node.program.log, /drain/);
      assert.deepEqual(await node.drainTimes(fleet), []);
      assert.equal(fleet.errors.get("replication disconnected: UNAVAILABLE: the server is stopping"), BOATS);
      for (const [i, boat] of fleet.boats.entries()) await node.assertFrames(boat, acknowledged[i] ?? 0);
    }),
);

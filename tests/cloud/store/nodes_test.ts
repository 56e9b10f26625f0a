// Several nodes have one store: where boats are live, and which of them a node lets go of.
import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { type BoatAtNode, boatsText, type FrameStore, Nodes, ObjectCache } from "../../../src/cloud/mod.ts";
import { openStore } from "../../../src/object_store/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { needs } from "../../support/needs.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";
import { batch, BOAT, CloudFixture, framesOfStore, statusWith, wanted } from "../cloud_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });
const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const URLS = ["https://10.0.0.1:9444", "https://10.0.0.2:9444", "https://10.0.0.3:9444"];

/** Nodes of one store that ask each other without a network; what each has of boats may be changed. */
class Cluster {
  readonly clock = new FakeClock();
  readonly boats = new Map<string, BoatAtNode[]>(URLS.map((url) => [url, []]));
  readonly silent = new Set<string>();
  readonly nodes: Nodes[];

  constructor(store: WrappedStore) {
    const { clock, boats, silent } = this;
    store.nowMs = () => clock.wallUs() / 1000;
    const ask = (url: string, from: string) => {
      if (silent.has(url)) return Promise.reject(new Error("no answer"));
      this.nodes?.[URLS.indexOf(url)]?.met(from);
      return Promise.resolve(boatsText(boats.get(url) ?? []));
    };
    this.nodes = URLS.map((url) => {
      const boat = (id: string) => boats.get(url)?.find((each) => each.id === id);
      return new Nodes({ url, store, boat, ask: (other) => ask(other, url), clock, log: silentLogger });
    });
  }

  /** Lets seconds pass until a condition holds. */
  async until(what: string, isTrue: () => boolean): Promise<void> {
    await eventually(what, () => {
      if (isTrue()) return true;
      this.clock.advance(1000);
      for (const node of this.nodes) node.runHousekeeping();
      return false;
    });
  }

  /** Lets a few seconds pass, in which each node asks the others. */
  async pass(): Promise<void> {
    const endMs = this.clock.monoMs() + 3000;
    await this.until("some seconds", () => this.clock.monoMs() >= endMs);
  }
}

async function withCluster(work: (cluster: Cluster) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    using disk = await openStore({ url: `file://${folder}/store` });
    const cluster = new Cluster(new WrappedStore(disk));
    for (const node of cluster.nodes) await node.start();
    await cluster.until("all nodes to be found", () => cluster.nodes.every(({ others }) => others.length === 2));
    await work(cluster);
    for (const node of cluster.nodes) await node.stop();
  });
}

const boat = (init: Partial<BoatAtNode> = {}): BoatAtNode => ({ id: BOAT, isLive: true, idleMs: 0, ...init });

Deno.test(
  "nodes of a store find each other, and one that does not answer is left out until it answers",
  DISK,
  () =>
    withCluster(async (cluster) => {
      const others = () => cluster.nodes.map((node) => node.others.toSorted());
      assert.deepEqual(others(), URLS.map((url) => URLS.filter((one) => one !== url)));
      const signal = cluster.nodes[0]!.signalOf(URLS[2]!);
      cluster.silent.add(URLS[2]!);
      await cluster.until("it to be away", () => cluster.nodes[0]!.away === 1);
      assert.deepEqual(others()[0], [URLS[1]]);
      assert.equal(cluster.nodes[0]!.away, 1);
      assert.equal(signal?.aborted, true, "what waits for it ends");
      cluster.silent.clear();
      await cluster.until("it to be back", () => cluster.nodes[0]!.others.length === 2);
      assert.deepEqual(others()[0], [URLS[1], URLS[2]]);
      assert.equal(cluster.nodes[0]!.signalOf(URLS[2]!)?.aborted, false);
    }),
);

Deno.test(
  "a node that has ended is forgotten, and one that meets another need not wait for the list",
  DISK,
  () =>
    withCluster(async (cluster) => {
      const [first, second] = cluster.nodes;
      await second!.stop();
      cluster.silent.add(URLS[1]!);
      await cluster.until("it to be away", () => first!.away === 1);
      await cluster.until("it to be forgotten", () => first!.away === 0);
      assert.equal(first!.away, 0, "it is not announced any more");
      cluster.silent.delete(URLS[1]!);
      first!.met(URLS[1]!);
      await cluster.pass();
      assert.ok(first!.others.includes(URLS[1]!));
    }),
);

Deno.test(
  "a boat is answered for by the node to which it streams, the newest of several, else by one with unstored frames, else by one that all choose",
  DISK,
  () =>
    withCluster(async (cluster) => {
      const [one, two] = [URLS[0]!, URLS[1]!];
      const answers = () => cluster.nodes.map((node, at) => node.nodeOf(BOAT) ?? URLS[at]);
      const all = (url: string | undefined) => [url, url, url];
      const [chosen] = answers();
      assert.deepEqual(answers(), all(chosen), "all frames are in the store");
      cluster.boats.set(one, [boat()]);
      await cluster.pass();
      assert.deepEqual(answers(), all(one));
      assert.deepEqual(cluster.nodes.map((node) => node.isLiveElsewhere(BOAT)), [false, true, true]);
      // The first node has not noticed that the boat is gone.
      cluster.boats.set(one, [boat({ idleMs: 9000 })]);
      cluster.boats.set(two, [boat({ idleMs: 100 })]);
      await cluster.pass();
      assert.deepEqual(answers(), all(two));
      assert.equal(cluster.nodes[0]!.isLiveElsewhere(BOAT), true);
      cluster.boats.set(one, [boat({ isLive: false, idleMs: 9000 })]);
      cluster.boats.set(two, []);
      await cluster.pass();
      assert.deepEqual(answers(), all(one));
      assert.equal(cluster.nodes[1]!.isLiveElsewhere(BOAT), false);
      cluster.boats.set(one, []);
      await cluster.pass();
      assert.deepEqual(answers(), all(chosen));
    }),
);

Deno.test(
  "boats that no node has are shared among the nodes, and those of a node that is away go to the others",
  DISK,
  () =>
    withCluster(async (cluster) => {
      const ids = Array.from({ length: 60 }, (_, i) => `boat-${i}`);
      const answers = (at: number) => ids.map((id) => cluster.nodes[at]!.nodeOf(id) ?? URLS[at]);
      const before = answers(0);
      assert.deepEqual([answers(1), answers(2)], [before, before], "all nodes choose alike");
      for (const url of URLS) assert.ok(before.filter((each) => each === url).length > 5, url);
      cluster.silent.add(URLS[2]!);
      await cluster.until("it to be away", () => cluster.nodes[0]!.away === 1 && cluster.nodes[1]!.away === 1);
      const after = answers(0);
      assert.deepEqual(answers(1), after);
      assert.ok(after.every((url, i) => before[i] === URLS[2] ? url !== URLS[2] : url === before[i]));
    }),
);

Deno.test(
  "a node closes the files of a boat that is live at another one, and has all of it again when that is gone",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using store = await openStore({ url: `file://${folder}/store` });
      const frameStore: FrameStore = { store, cache: new ObjectCache({ store }), node: "one" };
      let isElsewhere = false;
      const nodes = { isLiveElsewhere: () => isElsewhere, hasSeen: () => true, arrivals: 0 };
      await using one = await CloudFixture.start(`${folder}/one`, { frameStore, nodes });
      const live = (await one.greeted({ headSeq: 1 })).client.live();
      await live.send(batch(1, 300));
      await eventually("all to be durable", () => one.boat.acknowledge() === 300);
      {
        await using two = await CloudFixture.start(`${folder}/two`, { frameStore });
        isElsewhere = true;
        await eventually("its files to be closed", () => {
          one.instances.runHousekeeping();
          return !one.boat.isOpen && !one.boat.hasUnstored;
        });
        await assert.rejects(statusWith(live, () => false), /the boat is live at another node/);
        assert.deepEqual(await framesOfStore(store, { folder }), range(1, 300).map(wanted));
        const { client, response } = await two.greeted({ headSeq: 300 });
        assert.deepEqual([response.holes, response.storedThrough], [[], 300]);
        const further = client.live();
        await further.send(batch(301, 500));
        await eventually("all to be durable", () => two.boat.acknowledge() === 500);
        await two.boat.ship();
        further.end();
      }
      isElsewhere = false;
      await one.boat.withFiles(() => {});
      assert.deepEqual(one.boat.received.record().durable, [{ start: 1, end: 501 }]);
      assert.deepEqual(await framesOfStore(store, { folder }), range(1, 500).map(wanted));
    }),
);

Deno.test(
  "when a node is found, others look at the store again for boats that it may have had",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using store = await openStore({ url: `file://${folder}/store` });
      const frameStore: FrameStore = { store, cache: new ObjectCache({ store }), node: "one" };
      const nodes = { isLiveElsewhere: () => false, hasSeen: () => true, arrivals: 0 };
      const feed = async (cloud: CloudFixture, last: number) => {
        const live = (await cloud.greeted({ headSeq: last })).client.live();
        await live.send(batch(last - 99, last));
        await eventually("all to be durable", () => cloud.boat.acknowledge() === last);
        await cloud.boat.ship();
        live.end();
        await eventually("the stream to end", () => !cloud.boat.connected);
      };
      await using one = await CloudFixture.start(`${folder}/one`, { frameStore, nodes });
      await feed(one, 100);
      {
        // The first node cannot reach it.
        await using two = await CloudFixture.start(`${folder}/two`, { frameStore });
        await feed(two, 200);
      }
      await one.boat.withFiles(() => {});
      assert.equal(one.boat.received.last, 100);
      nodes.arrivals++;
      one.instances.runHousekeeping();
      await eventually("the boat as it is in the store", async () => {
        await one.boat.withFiles(() => {});
        return one.boat.received.last === 200;
      });
    }),
);

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Logger } from "../../src/base/mod.ts";
import { MdnsAnnouncer, type MdnsOptions } from "../../src/integrations/mdns/mdns.ts";
import { signalkServices, vesselOf } from "../../src/http/mod.ts";
import { findBoats } from "../../src/integrations/mdns/browse.ts";
import { openMulticast, PEER_SERVICE } from "../../src/integrations/mdns/socket.ts";
import { eventually } from "../support/eventually.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const NEEDS = needs({ permissions: ["net", "sys"] });
const LOOPBACK = "127.0.0.1";
const FAST = { retry: { firstMs: 20, capMs: 20 }, networkCheckMs: 20 };

/** A network of the test's own: the machine alone, and a port that nobody else has. */
class Sea implements AsyncDisposable {
  readonly multicast: { port: number; interface: string };
  readonly #held = HeldPort.take();
  readonly lines: string[] = [];
  readonly #boats: MdnsAnnouncer[] = [];
  readonly #log = new Logger({ level: "debug", write: (line) => this.lines.push(line) });

  constructor() {
    this.multicast = { port: this.#held.port, interface: LOOPBACK };
  }

  add(options: Partial<MdnsOptions> = {}): MdnsAnnouncer {
    const boat = new MdnsAnnouncer({
      name: "aurora",
      listening: { hostname: "0.0.0.0", port: 8089 },
      tls: false,
      version: "1.2.3",
      log: this.#log,
      multicast: this.multicast,
      addresses: () => ["192.0.2.1"],
      ...FAST,
      ...options,
    });
    this.#boats.push(boat);
    return boat;
  }

  async names(): Promise<string[]> {
    return (await findBoats({ multicast: this.multicast, timeoutMs: 300 })).map(({ name }) => name);
  }

  /** Waits until these boats are found, and no others. */
  async finds(...names: string[]): Promise<void> {
    await eventually(names.join(), async () => (await this.names()).join() === names.join());
  }

  count(pattern: RegExp): number {
    return this.lines.filter((line) => pattern.test(line)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const boat of this.#boats) await boat.stop();
    this.#held[Symbol.dispose]();
  }
}

const nameOf = ({ state }: MdnsAnnouncer) => state.type === "announced" ? state.name : undefined;
const isNamed = (boat: MdnsAnnouncer) => eventually("the announcement", () => nameOf(boat));

Deno.test("a boat is found by its name with all that it says of itself", NEEDS, async () => {
  await using sea = new Sea();
  await isNamed(sea.add({ instance: "boat-7", tls: true, listening: { hostname: "0.0.0.0", port: 4443 } }));
  for (const name of ["aurora", "AURORA", "boat-7"]) {
    const [boat, ...rest] = await findBoats({ name, multicast: sea.multicast });
    assert.ok(boat && rest.length === 0);
    const { id, ...txt } = boat.txt;
    assert.match(id ?? "", /^[0-9a-f]{8}$/);
    assert.deepEqual(txt, { version: "1.2.3", path: "/", boat: "aurora", tls: "1", api: "1", instance: "boat-7" });
    assert.equal(boat.name, "aurora");
    assert.equal(boat.host, "vbg-aurora.local");
    assert.match(boat.url, /^https:\/\/.*:4443$/);
  }
  assert.deepEqual(await findBoats({ name: "borealis", multicast: sea.multicast, timeoutMs: 50 }), []);
});

Deno.test(
  "clients of lplex and of Signal K find a boat, too, under the same name, until it stops",
  NEEDS,
  async () => {
    await using sea = new Sea();
    await isNamed(sea.add({ name: "borealis" }));
    const signalk = signalkServices(vesselOf({ name: "Aurora", mmsi: "230012345" }, "aurora"), { tls: false });
    const services = [{ type: PEER_SERVICE }, ...signalk];
    const boat = sea.add({ services, listening: { hostname: "0.0.0.0", port: 4711 } });
    await isNamed(boat);
    await using client = await openMulticast({ ...sea.multicast, onError: () => {} });
    const browsers = ["lplex", "signalk-http", "signalk-ws"].map((type) => client.bonjour.find({ type }));
    const asking = setInterval(() => browsers.forEach((browser) => browser.update()), 50);
    try {
      const found = () =>
        browsers.flatMap(({ services }) => services.map(({ port, fqdn, txt }) => ({ port, fqdn, txt })));
      await eventually("the boat", () => found().length === 3);
      assert.deepEqual(found().map(({ port, fqdn }) => [port, fqdn]), [
        [4711, "aurora._lplex._tcp.local"],
        [4711, "aurora._signalk-http._tcp.local"],
        [4711, "aurora._signalk-ws._tcp.local"],
      ]);
      assert.deepEqual(found().map(({ txt: { self, vname, vmmsi } = {} }) => [self, vname, vmmsi]), [
        [undefined, undefined, undefined],
        ["urn:mrn:imo:mmsi:230012345", "Aurora", "230012345"],
        ["urn:mrn:imo:mmsi:230012345", "Aurora", "230012345"],
      ]);
      await sea.finds("aurora", "borealis");
      await boat.stop();
      await eventually("its goodbye", () => found().length === 0);
    } finally {
      clearInterval(asking);
      for (const browser of browsers) browser.stop();
    }
  },
);

Deno.test("a boat that comes later with a taken name gets a new one, and says so", NEEDS, async () => {
  await using sea = new Sea();
  assert.equal(await isNamed(sea.add()), "aurora");
  const later = sea.add({ name: "Aurora" });
  await eventually("its name", () => nameOf(later) === "Aurora (2)");
  await sea.finds("aurora", "Aurora (2)");
  assert.equal(sea.count(/name="Aurora \(2\)" wanted=Aurora/), 1, sea.lines.join("\n"));
});

Deno.test("boats that start at the same moment with one name agree on different names", NEEDS, async () => {
  await using sea = new Sea();
  const boats = Array.from({ length: 4 }, () => sea.add());
  const wanted = ["aurora", "aurora (2)", "aurora (3)", "aurora (4)"];
  await eventually("four names", () => wanted.every((name) => boats.some((boat) => nameOf(boat) === name)));
  await sea.finds(...wanted);
});

Deno.test("a stranger that takes our name later keeps it, and we get another", NEEDS, async () => {
  await using sea = new Sea();
  const boat = sea.add();
  await isNamed(boat);
  await using stranger = await openMulticast({ ...sea.multicast, onError: () => {} });
  stranger.bonjour.publish({ name: "aurora", type: "vbg", port: 1234, host: "stranger.local", probe: false });
  await eventually("the new name", () => nameOf(boat) === "aurora (2)");
  assert.equal(sea.count(/WARN .*same mDNS name/), 1);
  await eventually("both", async () => {
    const found = await findBoats({ multicast: sea.multicast, timeoutMs: 300 });
    return found.map(({ name, port }) => `${name} ${port}`).join() === "aurora 1234,aurora (2) 8089";
  });
});

Deno.test("a boat that stops says goodbye to those who have seen it", NEEDS, async () => {
  await using sea = new Sea();
  const boat = sea.add();
  await isNamed(boat);
  await using other = await openMulticast({ ...sea.multicast, onError: () => {} });
  const seen: string[] = [];
  const browser = other.bonjour.find({ type: "vbg" }, ({ name }) => seen.push(`up ${name}`));
  browser.on("down", ({ name }: { name: string }) => seen.push(`down ${name}`));
  await eventually("the boat is seen", () => seen.includes("up aurora"));
  await boat.stop();
  await eventually("the goodbye", () => seen.includes("down aurora"));
  assert.deepEqual(boat.state, { type: "off", reason: "stopped" });
  assert.deepEqual(await sea.names(), []);
});

Deno.test("no network is told once, and one that comes later is used", NEEDS, async () => {
  await using sea = new Sea();
  let addresses: string[] = [];
  let looks = 0;
  const boat = sea.add({ addresses: () => (looks++, addresses) });
  await eventually("several tries", () => looks > 20);
  assert.deepEqual(boat.state, { type: "waiting", reason: "no network" });
  assert.equal(sea.count(/WARN .*no network/), 1);
  addresses = ["192.0.2.1"];
  assert.equal(await isNamed(boat), "aurora");
  addresses = ["198.51.100.7"];
  await eventually("the announcement on the new network", () => boat.state.type === "waiting");
  assert.equal(await isNamed(boat), "aurora");
  addresses = [];
  await eventually("the network is gone", () => boat.state.type === "waiting" && boat.state.reason === "no network");
});

Deno.test("a port that another keeps for itself is told once, and used when it is given back", NEEDS, async () => {
  await using sea = new Sea();
  const selfish = createSocket({ type: "udp4", reuseAddr: false });
  await new Promise<void>((resolve) => selfish.bind(sea.multicast.port, "0.0.0.0", resolve));
  const boat = sea.add();
  await eventually("the failure", () => boat.state.type === "waiting" && /EADDRINUSE/.test(boat.state.reason));
  await eventually("it is told", () => sea.count(/WARN .*EADDRINUSE/) === 1);
  await new Promise<void>((resolve) => selfish.close(() => resolve()));
  assert.equal(await isNamed(boat), "aurora");
  assert.equal(sea.count(/WARN/), 1, sea.lines.join("\n"));
});

Deno.test("a responder that shares the port is no trouble", NEEDS, async () => {
  await using sea = new Sea();
  await using _other = await openMulticast({ ...sea.multicast, onError: () => {} });
  assert.equal(await isNamed(sea.add()), "aurora");
  assert.equal(sea.count(/WARN/), 0);
});

Deno.test("a server that only its own machine can reach is not announced", NEEDS, async () => {
  await using sea = new Sea();
  for (const hostname of ["127.0.0.1", "::1", "localhost"]) {
    assert.equal(sea.add({ listening: { hostname, port: 8089 } }).state.type, "off");
  }
  assert.deepEqual(await sea.names(), []);
});

Deno.test(
  "a boat that is stopped at any moment of its start ends at once and leaves nothing behind",
  NEEDS,
  async () => {
    await using sea = new Sea();
    for (const ms of [0, 1, 5, 20, 100, 400, 800]) {
      const boat = sea.add();
      await new Promise((resolve) => setTimeout(resolve, ms));
      await boat.stop();
      await boat.stop();
      assert.equal(boat.state.type, "off");
    }
    assert.deepEqual(await sea.names(), []);
  },
);

Deno.test("fuzz: broken and odd packets leave a boat as it was", NEEDS, async () => {
  await using sea = new Sea();
  const boat = sea.add();
  await isNamed(boat);
  const heard: Uint8Array[] = [];
  const ear = createSocket({ type: "udp4", reuseAddr: true });
  ear.on("message", (bytes: Uint8Array) => heard.push(bytes.slice()));
  await new Promise<void>((resolve) => ear.bind(sea.multicast.port, "0.0.0.0", resolve));
  ear.addMembership("224.0.0.251", LOOPBACK);
  ear.setMulticastInterface(LOOPBACK);
  await eventually("packets to break", async () => (await sea.names(), heard.length > 2));
  const templates = heard.slice();
  const random = new Random(20_260_601);
  for (let i = 0; i < 3000; i++) {
    const packet = random.pick(templates).slice();
    for (let n = random.int(6); n >= 0; n--) packet[random.int(packet.length)] = random.int(256);
    const bytes = random.int(8) === 0 ? packet.subarray(0, random.int(packet.length)) : packet;
    await new Promise<void>((resolve) => ear.send(bytes, sea.multicast.port, "224.0.0.251", () => resolve()));
  }
  await new Promise<void>((resolve) => ear.close(() => resolve()));
  await eventually("it is found", async () => (await sea.names()).includes(await isNamed(boat)));
});

import assert from "node:assert/strict";
import { chooseServer, type Discover } from "../../cli/client/boat_choice.ts";
import { type ClientConfig, EMPTY_CONFIG, readClientConfig } from "../../cli/client/client_config.ts";
import type { ServerChoice } from "../../cli/client/client_options.ts";
import { LiveView } from "../../cli/commands/dump/live.ts";
import { DumpView } from "../../cli/commands/dump/view.ts";
import { BufferedOutput } from "../../cli/program/terminal.ts";
import { findBoats, MdnsAnnouncer } from "../../src/integrations/mod.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { Reader } from "../client/reader.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";

const NET = needs({ permissions: ["net"] });
const MDNS = needs({ permissions: ["net", "sys"] });
const NOTHING: ServerChoice = {
  server: undefined,
  boat: undefined,
  token: undefined,
  cloud: false,
  config: undefined,
  mdnsTimeoutMs: undefined,
};

const configOf = (tree: unknown) => readClientConfig(tree, "vbg.conf");

/** A network on which boats are found by name at these addresses; what it was asked is kept. */
function network(boats: Record<string, string>) {
  const asked: (string | undefined)[] = [];
  const discover: Discover = ({ name }) => {
    asked.push(name);
    const found = Object.entries(boats).filter(([each]) => name === undefined || each === name);
    return Promise.resolve(
      found.map(([each, url]) => ({ name: each, url, host: "", port: 0, addresses: [], txt: {} })),
    );
  };
  return { boats, asked, discover };
}

/** How the choice comes out. */
async function choose(
  choice: Partial<ServerChoice>,
  { config = EMPTY_CONFIG, boats = {}, environment = {} }: {
    config?: ClientConfig;
    boats?: Record<string, string>;
    environment?: Record<string, string>;
  } = {},
) {
  const { discover, asked } = network(boats);
  const { label, serverText, exclusions } = await chooseServer({ ...NOTHING, ...choice }, {
    ...{ config, discover, environment },
    localServers: [],
  });
  return { label, serverText: serverText(), exclusions, asked };
}

const TWO = configOf({
  "exclude-pgn": 60928,
  boats: {
    aurora: { mdns: "aurora-gateway", cloud: "https://cloud.example.com", "exclude-pgn": [126993] },
    borealis: { cloud: "https://cloud.example.com/instances/b2/", "exclude-name": "c0509635e772ee1f" },
  },
});
const SEA = { "aurora-gateway": "http://10.0.0.5:8089" };

Deno.test("the server that is named is asked, whatever the configuration and the network have", async () => {
  const chosen = await choose({ server: "http://10.0.0.1:8089" }, { config: TWO, environment: { VBG_BOAT: "aurora" } });
  assert.deepEqual(chosen, {
    label: "http://10.0.0.1:8089",
    serverText: "http://10.0.0.1:8089",
    exclusions: { exclude_pgn: [60928] },
    asked: [],
  });
});

Deno.test("a boat of the configuration is looked for by its name on the network, with both exclusions", async () => {
  assert.deepEqual(await choose({ boat: "aurora" }, { config: TWO, boats: SEA }), {
    label: "aurora",
    serverText: "aurora (http://10.0.0.5:8089)",
    exclusions: { exclude_pgn: [60928, 126993] },
    asked: ["aurora-gateway"],
  });
});

Deno.test("a boat that is not on the network is asked for in its cloud, at once when it has nothing else", async () => {
  const { serverText, asked } = await choose({ boat: "aurora" }, { config: TWO });
  assert.deepEqual([serverText, asked], [
    "aurora in the cloud (https://cloud.example.com/instances/aurora)",
    ["aurora-gateway"],
  ]);
  const other = await choose({ boat: "borealis" }, { config: TWO, boats: SEA });
  assert.deepEqual([other.serverText, other.asked, other.exclusions.exclude_name], [
    "borealis in the cloud (https://cloud.example.com/instances/b2)",
    [],
    ["c0509635e772ee1f"],
  ]);
  const forced = await choose({ boat: "aurora", cloud: true }, { config: TWO, boats: SEA });
  assert.deepEqual([forced.serverText, forced.asked], [serverText, []]);
});

Deno.test("without -boat it is VBG_BOAT, then default-boat, then the only boat, then the only one on the network", async () => {
  const only = configOf({ boats: { solo: { mdns: "aurora-gateway" } } });
  const preferring = configOf({ "default-boat": "b", boats: { a: { mdns: "a" }, b: { mdns: "aurora-gateway" } } });
  const environment = { VBG_BOAT: "aurora" };
  assert.equal((await choose({}, { config: preferring, boats: SEA })).label, "b");
  assert.equal((await choose({}, { config: only, boats: SEA })).label, "solo");
  assert.equal((await choose({}, { config: TWO, boats: SEA, environment })).label, "aurora");
  assert.equal((await choose({}, { boats: SEA })).serverText, "aurora-gateway (http://10.0.0.5:8089)");
});

Deno.test("what cannot be chosen is told with what there is", async () => {
  const failure = (...args: Parameters<typeof choose>) => choose(...args).then(() => "", (error) => error.message);
  assert.equal(
    await failure({}),
    "No boat server was found on the network within 2 s: -server names one",
  );
  assert.equal(
    await failure({}, { boats: { one: "http://a", two: "http://b" } }),
    'There are several boats on the network, "one", "two": -boat names one',
  );
  assert.equal(
    await failure({ boat: "ghost", mdnsTimeoutMs: 500 }, { config: TWO }),
    'Boat "ghost" was not found on the network within 0.5 s, and the configuration does not know it, but "aurora", "borealis"',
  );
  assert.equal(
    await failure({ boat: "solo" }, { config: configOf({ boats: { solo: { mdns: "s" } } }) }),
    'Boat "solo" (mdns "s") was not found on the network within 2 s, and the configuration names no cloud for it',
  );
  assert.equal(await failure({ boat: "ghost", cloud: true }, { config: TWO }), 'Boat "ghost" has no cloud in vbg.conf');
});

Deno.test("looking for a boat ends when the command is stopped", async () => {
  const stopping = new AbortController();
  const discover: Discover = () => new Promise(() => {});
  const choosing = chooseServer(NOTHING, { config: EMPTY_CONFIG, discover, signal: stopping.signal });
  stopping.abort(new Error("Stopped"));
  await assert.rejects(choosing, /Stopped/);
});

Deno.test("a boat that has moved is found again when its stream is lost, and given its token", NET, async () => {
  const first = await TestBoat.start();
  await using second = await TestBoat.start({ tokens: [accessToken("reader", "secret", ["read"])] });
  const sea = network({ aurora: first.url });
  const config = configOf({ boats: { aurora: { mdns: "aurora", token: "secret" } } });
  const { client, serverText } = await chooseServer({ ...NOTHING, boat: "aurora" }, {
    config,
    discover: sea.discover,
    options: { retry: { firstMs: 1, capMs: 10 } },
  });
  const reader = new Reader(client.subscribe().events());
  await reader.connections(1);
  first.say();
  await reader.atLeast(1);
  sea.boats.aurora = second.url;
  await first[Symbol.asyncDispose]();
  await reader.connections(2);
  for (let i = 0; i < 3; i++) second.say();
  await reader.atLeast(3);
  assert.equal(serverText(), `aurora (${second.url})`);
  await reader.leave();
});

Deno.test("a boat that is off is read from its cloud, by the same client", NET, async () => {
  const boat = await TestBoat.start();
  const cloudPaths: string[] = [];
  await using cloud = await TestBoat.start();
  const sea = network({ aurora: boat.url });
  const config = configOf({ boats: { aurora: { mdns: "aurora", cloud: "http://cloud.invalid/instances/a1" } } });
  const { client, serverText } = await chooseServer({ ...NOTHING, boat: "aurora" }, {
    config,
    discover: sea.discover,
    options: {
      retry: { firstMs: 1, capMs: 10 },
      fetch: (url, init) => {
        if (!url.startsWith("http://cloud.invalid/")) return fetch(url, init);
        cloudPaths.push(new URL(url).pathname);
        return fetch(cloud.url + new URL(url).pathname.replace("/instances/a1", ""), init);
      },
    },
  });
  const reader = new Reader(client.subscribe().events());
  await reader.connections(1);
  delete sea.boats.aurora;
  await boat[Symbol.asyncDispose]();
  await reader.connections(2);
  assert.equal(serverText(), "aurora in the cloud (http://cloud.invalid/instances/a1)");
  await client.devices();
  await client.pgns();
  assert.deepEqual(cloudPaths, ["/instances/a1/events", "/instances/a1/devices", "/pgns"]);
  await reader.leave();
});

Deno.test("frames that a cloud has later than its boat gave them are shown once", NET, async () => {
  const clock = new FakeClock();
  const boat = await TestBoat.start({ clock });
  await using cloud = await TestBoat.start({ clock });
  const sea = network({ aurora: boat.url });
  const config = configOf({ boats: { aurora: { mdns: "aurora", cloud: "http://cloud.invalid/instances/a1" } } });
  const { client, serverText } = await chooseServer({ ...NOTHING, boat: "aurora" }, {
    config,
    discover: sea.discover,
    options: {
      retry: { firstMs: 1, capMs: 10 },
      fetch: (url, init) => fetch(url.replace("http://cloud.invalid/instances/a1", cloud.url), init),
    },
  });
  const lines: string[] = [];
  const sink = {
    write: (bytes: Uint8Array) => {
      lines.push(...new TextDecoder().decode(bytes).trimEnd().split("\n"));
      return Promise.resolve(bytes.length);
    },
  };
  const output = new BufferedOutput(sink, { isTerminal: false, hasColor: false, columns: () => 80 });
  const view = new DumpView({ output, json: true, decode: false, where: undefined, changes: false });
  const notes: string[] = [];
  const live = new LiveView({ client, view, serverText, filter: {}, note: (text) => notes.push(text) });
  const stopping = new AbortController();
  const running = live.run(client.subscribe().events(), stopping.signal);
  const connections = (count: number) =>
    eventually(`connection ${count}`, () => notes.filter((note) => note.startsWith("connected")).length === count);
  await connections(1);
  for (let i = 0; i < 5; i++) boat.say();
  await eventually("the boat's frames", () => lines.length === 5);
  delete sea.boats.aurora;
  await boat[Symbol.asyncDispose]();
  await connections(2);
  for (let i = 0; i < 7; i++) cloud.say();
  await eventually("the newest frame", () => lines.some((line) => line.startsWith('{"seq":7,')));
  assert.deepEqual(lines.map((line) => JSON.parse(line).seq), [1, 2, 3, 4, 5, 6, 7]);
  stopping.abort();
  await running;
});

Deno.test("of two boats on the network the one that is named is asked", MDNS, async () => {
  using held = HeldPort.take();
  const multicast = { port: held.port, interface: "127.0.0.1" };
  await using aurora = await TestBoat.start();
  await using borealis = await TestBoat.start();
  const announcers = Object.entries({ aurora, borealis }).map(([name, { boat }]) =>
    new MdnsAnnouncer({
      name,
      listening: { hostname: "0.0.0.0", port: boat.address.port },
      tls: false,
      version: "1.2.3",
      log: silentLogger,
      multicast,
      addresses: () => ["127.0.0.1"],
      retry: { firstMs: 20, capMs: 20 },
      networkCheckMs: 20,
    })
  );
  try {
    // The servers of this test listen on the loopback alone, whatever addresses the machine has.
    const discover: Discover = async (options) => {
      const found = await findBoats({ ...options, multicast });
      return found.map((each) => ({ ...each, url: `http://127.0.0.1:${each.port}` }));
    };
    await eventually("both boats", async () => (await discover({ timeoutMs: 300 })).length === 2);
    for (const [name, boat] of Object.entries({ aurora, borealis })) {
      const choice = { ...NOTHING, boat: name, mdnsTimeoutMs: 30_000 };
      const { client, serverText } = await chooseServer(choice, { config: EMPTY_CONFIG, discover });
      assert.equal(serverText(), `${name} (${boat.url})`);
      assert.deepEqual(await client.devices(), []);
    }
    const choosing = () => chooseServer({ ...NOTHING, mdnsTimeoutMs: 300 }, { config: EMPTY_CONFIG, discover });
    await eventually(
      "both to be told",
      () =>
        choosing().then(
          () => false,
          ({ message }: Error) => message.startsWith('There are several boats on the network, "aurora", "borealis"'),
        ),
    );
  } finally {
    for (const announcer of announcers) await announcer.stop();
  }
});

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { encode } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { packageFolder } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { needs } from "../support/needs.ts";
import { tokenOf } from "../http/auth_server.ts";

const PACKAGE = "@signalk/client";
const CLIENT = needs({
  permissions: ["env", "net", "read", "sys"],
  others: { [`npm package "${PACKAGE}"`]: packageFolder(PACKAGE) !== undefined },
});

interface Update {
  values?: { path: string; value: unknown }[];
  meta?: { path: string; value: { units?: string } }[];
}
interface Delta {
  context: string;
  updates: Update[];
}
interface Api {
  get(path: string): Promise<unknown>;
  self(): Promise<Record<string, unknown>>;
  vessels(): Promise<Record<string, unknown>>;
  navigation(path?: string): Promise<unknown>;
  getMeta(path: string): Promise<unknown>;
}
interface OtherClient {
  readonly self: string;
  on(event: "delta", listener: (delta: Delta) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  connect(): Promise<unknown>;
  subscribe(subscriptions: unknown): void;
  unsubscribe(): void;
  disconnect(): unknown;
  API(): Promise<Api>;
}

const MMSI = "230012345";
const OWN = `vessels.urn:mrn:imo:mmsi:${MMSI}`;
const SHIP = 211_000_001;
const TOKEN = "reader-secret";

/** The client of the Signal K project, as it is on npm. */
class Client implements AsyncDisposable {
  readonly deltas: Delta[] = [];
  readonly errors: string[] = [];
  readonly other: OtherClient;

  constructor(boat: TestBoat, options: Record<string, unknown>) {
    const require = createRequire(join(packageFolder(PACKAGE) ?? "", "package.json"));
    const { Client: Other }: { Client: new (options: Record<string, unknown>) => OtherClient } = require(
      packageFolder(PACKAGE) ?? "",
    );
    const { hostname, port } = new URL(boat.url);
    this.other = new Other({ hostname, port: Number(port), useTLS: false, reconnect: false, ...options });
    this.other.on("delta", (delta) => this.deltas.push(delta));
    this.other.on("error", ({ message }) => this.errors.push(message));
  }

  static async connect(boat: TestBoat, options: Record<string, unknown>): Promise<Client> {
    const client = new Client(boat, options);
    await client.other.connect();
    return client;
  }

  /** Contexts and paths that it got values of. */
  get heard(): Set<string> {
    return new Set(
      this.deltas.flatMap(({ context, updates }) =>
        updates.flatMap(({ values = [] }) => values.map(({ path }) => `${context} ${path}`))
      ),
    );
  }

  get units(): Map<string, string | undefined> {
    return new Map(
      this.deltas.flatMap(({ updates }) =>
        updates.flatMap(({ meta = [] }) =>
          meta.map(({ path, value }): [string, string | undefined] => [path, value.units])
        )
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.other.disconnect();
    await new Promise((resolve) => setTimeout(resolve));
  }
}

function sayAll(boat: TestBoat): void {
  boat.say({ pgn: 127250, src: 35, data: encode(127250, { heading: 1.25, heading_reference: 0 }) });
  boat.say({ pgn: 128267, src: 36, data: encode(128267, { depth: 12.5, offset: 0.5 }) });
  const position = { latitude: 54.5, longitude: 10.25 };
  boat.say({ pgn: 129025, src: 37, data: encode(129025, position) });
  boat.say({ pgn: 129038, src: 38, data: encode(129038, { user_id: SHIP, ...position, sog: 5, cog: 1 }) });
}

Deno.test(
  "@signalk/client subscribes to the own vessel, to all, and to nothing until it names paths",
  CLIENT,
  async () => {
    const clock = new FakeClock();
    await using boat = await TestBoat.start({ signalk: { name: "Aurora", mmsi: MMSI }, clock });
    sayAll(boat);
    const heading = `${OWN} navigation.headingTrue`;
    const ship = `vessels.urn:mrn:imo:mmsi:${SHIP} navigation.speedOverGround`;
    await using self = await Client.connect(boat, {
      deltaStreamBehaviour: "self",
      sendMeta: "all",
      notifications: false,
    });
    await using all = await Client.connect(boat, { deltaStreamBehaviour: "all", notifications: false });
    await using none = await Client.connect(boat, { deltaStreamBehaviour: "none", notifications: false });
    assert.equal(self.other.self, OWN);
    await eventually("all values", () => self.heard.has(heading) && all.heard.has(heading) && all.heard.has(ship));
    assert.ok(!self.heard.has(ship));
    await eventually("metadata", () => self.units.get("environment.depth.belowTransducer") === "m");
    assert.equal(self.units.get("navigation.headingTrue"), "rad");
    assert.equal(all.units.size, 0);
    assert.equal(none.deltas.length, 0);
    none.other.subscribe({ context: "vessels.self", subscribe: [{ path: "environment.depth.*", policy: "instant" }] });
    await eventually("what it subscribed to", () => none.heard.has(`${OWN} environment.depth.belowTransducer`));
    assert.ok([...none.heard].every((each) => each.startsWith(`${OWN} environment.depth.`)));
    none.other.unsubscribe();
    none.other.subscribe({ context: "vessels.*", subscribe: [{ path: "navigation.speedOverGround", period: 1 }] });
    await eventually("other vessels", () => {
      clock.advance(10);
      return none.heard.has(ship);
    });
    assert.deepEqual([...self.errors, ...all.errors, ...none.errors], []);
  },
);

Deno.test("@signalk/client reads the API: vessels, the own one, a path, and metadata", CLIENT, async () => {
  await using boat = await TestBoat.start({ signalk: { name: "Aurora", mmsi: MMSI }, clock: new FakeClock() });
  sayAll(boat);
  await using client = await Client.connect(boat, { notifications: false });
  const api = await client.other.API();
  assert.deepEqual(
    Object.keys(await api.vessels()),
    [OWN, `vessels.urn:mrn:imo:mmsi:${SHIP}`].map((id) => id.slice(8)),
  );
  const self = await api.self();
  assert.deepEqual([self.name, self.mmsi], ["Aurora", MMSI]);
  assert.equal(await api.get("vessels/self/navigation/headingTrue/value"), 1.25);
  assert.deepEqual(await api.get("/vessels/self/navigation/position/value"), { latitude: 54.5, longitude: 10.25 });
  assert.deepEqual(
    await api.getMeta("vessels.self.environment.depth.belowTransducer"),
    await boat.get("/signalk/v1/api/vessels/self/environment/depth/belowTransducer/meta"),
  );
  await assert.rejects(api.get("vessels/self/navigation/nothing"), /404/);
  assert.deepEqual(client.errors, []);
});

Deno.test(
  "@signalk/client logs in with a token as its password and reads the API; without it gets nothing",
  CLIENT,
  async () => {
    await using boat = await TestBoat.start({
      signalk: { mmsi: MMSI },
      tokens: [tokenOf("chart table", TOKEN, ["read"])],
      clock: new FakeClock(),
    });
    sayAll(boat);
    const options = {
      useAuthentication: true,
      username: "anybody",
      notifications: false,
      deltaStreamBehaviour: "self",
    };
    await using wrong = new Client(boat, { ...options, password: "wrong" });
    await assert.rejects(wrong.other.connect(), /auth\/login: 401/);
    await using right = new Client(boat, { ...options, password: TOKEN });
    const connected = right.other.connect().then(() => true, () => false);
    const api = await right.other.API();
    assert.equal(await api.get("vessels/self/navigation/headingTrue/value"), 1.25);
    // It opens its WebSocket without the token.
    assert.equal(await connected, false);
    assert.deepEqual(right.errors, ["Unexpected server response: 401"]);
    assert.deepEqual([...right.deltas, ...wrong.deltas], []);
  },
);

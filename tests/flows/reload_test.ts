import assert from "node:assert/strict";
import { boatLimits } from "../../cli/boat.ts";
import { cloudLimits } from "../../cli/commands/cloud/server.ts";
import { boatOptions } from "../../cli/settings/boat_options.ts";
import { cloudOptions } from "../../cli/settings/cloud_options.ts";
import { type Option, resolveSettings } from "../../cli/settings/options.ts";
import type { QuantitySources } from "../../src/client/mod.ts";
import type { Device } from "../../src/frame/mod.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

const PROGRAM = needs({ permissions: ["env", "net", "read", "run", "write"] });
/** What the test sends goes to the second bus; the first is silent. */
const HEADING = { pgn: 127250, data: "00", bus: "can1" };
/** NAME of the boat's virtual device. */
const OWN_NAME = "0xc0328200ffe00007";
const TRUE_HEADING = { pgn: 127250, fields: { heading: 1, heading_reference: "true" }, bus: "can1" };
const ORIGIN = "https://chart.example";
const DIGEST = "0".repeat(64);

/** A program with a configuration file, and the routes of one boat. */
interface Server {
  program: TestProgram;
  url: string;
  /** Prefix of the boat's routes. */
  boat: string;
  /** Settings that all turns have, beside the one that a turn changes. */
  base: string;
  /** Makes the boat receive a frame. */
  send: () => Promise<unknown>;
}

/** What a client sees of a setting: `before` with the base settings, `after` once `line` is in the file as well. */
interface Effect {
  line: string;
  read: (server: Server) => unknown;
  before: unknown;
  after: unknown;
}

async function status(url: string, init: RequestInit = {}): Promise<number> {
  const reply = await fetch(url, init);
  await reply.body?.cancel();
  return reply.status;
}

function post(path: string, body: unknown): (server: Server) => Promise<number> {
  return ({ url }) => status(url + path, { method: "POST", body: JSON.stringify(body) });
}

let sessions = 0;
function putSession({ boat }: Server, headers: Record<string, string> = {}): Promise<Response> {
  const body = JSON.stringify({ buffer_timeout: "PT1H" });
  return fetch(`${boat}/clients/s${sessions++}`, { method: "PUT", body, headers });
}

async function metrics({ url }: Server): Promise<string> {
  return await (await fetch(`${url}/metrics`)).text();
}

async function twoStreams({ boat }: Server): Promise<number[]> {
  const aborts = [new AbortController(), new AbortController()];
  const replies = await Promise.all(aborts.map(({ signal }) => fetch(`${boat}/events`, { signal })));
  for (const abort of aborts) abort.abort();
  await Promise.allSettled(replies.map((reply) => reply.text()));
  return replies.map((reply) => reply.status).sort();
}

/** Settings of every server. */
const COMMON: Record<string, Effect> = {
  maxStreams: { line: "max-streams = 1", read: twoStreams, before: [200, 200], after: [200, 503] },
  maxHistory: {
    line: "history.max-limit = 1",
    read: ({ boat }) => status(`${boat}/history?from=2020-01-01T00:00:00Z&limit=2`),
    before: 200,
    after: 400,
  },
  maxSeriesPoints: {
    line: "series.max-points = 1",
    read: ({ boat }) => status(`${boat}/series?field=128267.depth&from=2020-01-01T00:00:00Z&points=2`),
    before: 200,
    after: 400,
  },
  maxSeriesScan: {
    line: "series.max-scan = 1",
    read: ({ boat }) => status(`${boat}/series?field=128267.depth&from=2020-01-01T00:00:00Z`),
    before: 200,
    after: 400,
  },
  maxHistoryRequests: {
    line: "max-history-requests = 1",
    read: async ({ boat }) => {
      const all = await Promise.all(
        Array.from({ length: 60 }, () => status(`${boat}/history?from=2020-01-01T00:00:00Z&limit=1`)),
      );
      return all.includes(503);
    },
    before: false,
    after: true,
  },
  maxBufferDurationMs: {
    line: "max-buffer-duration = 1s",
    read: async (server) => (await (await putSession(server)).json()).buffer_timeout,
    before: "PT1H",
    after: "PT1S",
  },
  maxSessions: {
    line: "max-sessions = 1",
    read: async (server) => {
      const replies = [await putSession(server), await putSession(server)];
      for (const reply of replies) await reply.body?.cancel();
      return replies.at(-1)?.status;
    },
    before: 200,
    after: 503,
  },
  maxSessionsPerOwner: {
    line: "max-sessions-per-owner = 1",
    read: async (server) => {
      await (await putSession(server)).body?.cancel();
      return /^vbg_sessions_replaced_total(?:\{.*\})? [1-9]/m.test(await metrics(server));
    },
    before: false,
    after: true,
  },
  allowOrigins: {
    line: `allow-origins = ["${ORIGIN}"]`,
    read: async (server) => {
      const reply = await putSession(server, { Origin: ORIGIN });
      await reply.body?.cancel();
      return reply.status;
    },
    before: 403,
    after: 200,
  },
  deviceIdleTimeoutMs: {
    line: "device.idle-timeout = 1ms",
    read: async ({ boat, send }) => {
      await send();
      const devices: Device[] = await (await fetch(`${boat}/devices`)).json();
      return devices.filter(({ bus }) => bus === "can0").length;
    },
    before: 1,
    after: 0,
  },
  apiKey: { line: "api-key = secret", read: ({ boat }) => status(`${boat}/devices`), before: 200, after: 401 },
  authFile: { line: "auth-file = tokens.json", read: ({ boat }) => status(`${boat}/devices`), before: 200, after: 401 },
  // The other setting shows when it is done: the line about this reload is not written.
  logLevel: { line: "log-level = warn, max-streams = 1", read: twoStreams, before: [200, 200], after: [200, 503] },
};

/** How often the log of alerts says this of the bus. */
function alerts(summary: RegExp): (server: Server) => boolean {
  return ({ program }) => program.log.split("\n").some((line) => line.includes('"alert"') && summary.test(line));
}

const BOAT: Record<string, Effect> = {
  sendEnabled: { line: "send.enabled = false", read: post("/send", HEADING), before: 202, after: 403 },
  readOnly: { line: "read-only = true", read: post("/send", HEADING), before: 202, after: 403 },
  sendRules: { line: 'send.rules = ["!pgn:127250"]', read: post("/send", HEADING), before: 202, after: 403 },
  sendRateBurst: { line: "send.rate-burst = 1", read: post("/send", [HEADING, HEADING]), before: 202, after: 429 },
  sendRateLimit: {
    line: "send.rate-limit = 0.001",
    read: async (server) => {
      for (let i = 0; i < 11; i++) if (await post("/send", HEADING)(server) === 429) return 429;
    },
    before: undefined,
    after: 429,
  },
  queryMaxTimeoutMs: {
    line: "query-max-timeout = 5ms",
    read: post("/query", { pgn: 126996, dst: 9, timeout: "10ms" }),
    before: 504,
    after: 400,
  },
  maxQueries: {
    line: "max-queries = 1",
    read: async (server) => {
      const query = post("/query", { pgn: 126996, dst: 9, timeout: "50ms" });
      return (await Promise.all([query(server), query(server)])).sort();
    },
    before: [504, 504],
    after: [503, 504],
  },
  busSilenceThresholdMs: {
    line: "health.bus-silence-threshold = 1ms",
    read: async ({ url }) => (await (await fetch(`${url}/healthz`)).json()).components.can0.status,
    before: "ok",
    after: "degraded",
  },
  preferredSources: {
    line: `preferred-source = ["heading.true=${OWN_NAME}"]`,
    read: async (server) => {
      await status(`${server.url}/send`, { method: "POST", body: JSON.stringify(TRUE_HEADING) });
      const quantities: QuantitySources[] = await (await fetch(`${server.boat}/sources`)).json();
      return quantities.find(({ quantity }) => quantity === "heading.true")?.by;
    },
    before: "first_heard",
    after: "setting",
  },
  // Order matters: the end of this alert waits for the window, which the next row sets to 0.
  busSilenceTimeoutMs: {
    line: "bus-silence-timeout = 1ms",
    read: alerts(/can1 has had no frames/),
    before: false,
    after: true,
  },
  alertDedupWindowMs: {
    line: "alert.dedup-window = 0",
    read: async (server) => {
      await server.send();
      return alerts(/can1 has frames again/)(server);
    },
    before: false,
    after: true,
  },
  ...COMMON,
};

/** Rows without a turn: their effect takes a second boat or minutes. The test of all rows below covers them. */
const WITHOUT_TURN = {
  boat: [
    "replicationMaxLiveLag",
    "replicationLagCheckInterval",
    "replicationMinLagReconnectMs",
    "replicationMaxReconnectMs",
  ],
  cloud: [
    "maxInstances",
    "rateLimit",
    "rateBurst",
    "collectMs",
    "maxLiveLagFrames",
    "copyRefuseMs",
    "scrubBytesPerSecond",
    "brokerIdleTimeoutMs",
    "maxIdleBrokers",
  ],
};

function reloadableNames(table: Record<string, Pick<Option<unknown>, "reloadable">>): string[] {
  return Object.keys(table).filter((name) => table[name]?.reloadable).sort();
}

/** Changes one setting after the other in the file, has it read, and looks for the effect. */
async function changeEach(server: Server, effects: Record<string, Effect>, file: string): Promise<void> {
  const { program, base } = server;
  const reload = async (text: string) => {
    await Deno.writeTextFile(`${program.folder}/${file}`, text);
    program.signal("SIGHUP");
  };
  for (const [name, { line, read, before, after }] of Object.entries(effects)) {
    const sees = async (expected: unknown) => JSON.stringify(await read(server)) === JSON.stringify(expected);
    await reload(base);
    await eventually(`${name} as at the start`, () => sees(before));
    await reload(`${base}\n${line}\n`);
    await eventually(`the effect of ${line}`, () => sees(after));
    assert.doesNotMatch(program.log, /settings refused|need a restart/, line);
  }
  await reload(base);
  const withLevel = () => program.log.match(/"changed":"[^"]*log-level/g) ?? [];
  await eventually("the line about the last reload", () => withLevel().length > 0);
  assert.equal(withLevel().length, 1, "log-level = warn hides the line about itself");
}

async function writeTokens(folder: string): Promise<void> {
  const tokens = [{ name: "one", sha256: DIGEST, scopes: ["read"] }];
  await Deno.writeTextFile(`${folder}/tokens.json`, JSON.stringify(tokens), { mode: 0o600 });
}

/** Starts a program whose settings are in its file, but for those that need a free port or its folder. */
async function start(
  name: "boat" | "cloud",
  { base, file, flags }: { base: string; file: string; flags: (folder: string) => string[] },
): Promise<TestProgram> {
  return await TestProgram.start(name, async (folder) => {
    await writeTokens(folder);
    await Deno.writeTextFile(`${folder}/${file}`, base);
    return flags(folder);
  });
}

const COMMON_BASE = "max-history-requests = 1000";
const BOAT_BASE = `${COMMON_BASE}
send { enabled = true, rate-limit = 100000 }
alert.dedup-window = 1h`;

Deno.test(
  "SIGHUP applies the reloadable settings of a boat and of its cloud, one after the other",
  PROGRAM,
  async () => {
    await using cloud = await start("cloud", {
      base: COMMON_BASE,
      file: "vbg-cloud.conf",
      flags: (folder) => [
        ...["-data-dir", `${folder}/data`, "-insecure"],
        ...["-grpc-listen", "127.0.0.1:0", "-http-listen", "127.0.0.1:0"],
      ],
    });
    const cloudUrl = await cloud.url();
    const target = await eventually(
      "the port for boats",
      () => /"listening for boats".*"port":(\d+)/.exec(cloud.log)?.[1],
    );
    await using boat = await start("boat", {
      base: BOAT_BASE,
      file: "vbg-boat.conf",
      flags: (folder) => [
        ...[
          "-interface",
          "can0,can1",
          "-loopback",
          "-virtual-device",
          "-virtual-device-name",
          OWN_NAME,
          "-listen",
          "127.0.0.1:0",
          "-mdns=false",
        ],
        ...["-state-dir", `${folder}/state`, "-journal-dir", `${folder}/journal`],
        ...[
          "-replication-target",
          `127.0.0.1:${target}`,
          "-replication-instance-id",
          "aurora",
          "-replication-insecure",
        ],
      ],
    });
    const url = await boat.url();
    const send = () => status(`${url}/send`, { method: "POST", body: JSON.stringify(HEADING) });
    const boatServer = { program: boat, url, boat: url, base: BOAT_BASE, send };
    const cloudServer = {
      program: cloud,
      url: cloudUrl,
      boat: `${cloudUrl}/instances/aurora`,
      base: COMMON_BASE,
      send,
    };
    await eventually(
      "the boat in the cloud",
      async () => await status(`${cloudServer.boat}/history?from=2020-01-01T00:00:00Z&limit=2`) === 200,
    );
    await changeEach(cloudServer, COMMON, "vbg-cloud.conf");
    await changeEach(boatServer, BOAT, "vbg-boat.conf");
  },
);

Deno.test("every reloadable setting has a turn in the test of SIGHUP, or is known to have none", () => {
  assert.deepEqual([...Object.keys(BOAT), ...WITHOUT_TURN.boat].sort(), reloadableNames(boatOptions));
  assert.deepEqual([...Object.keys(COMMON), ...WITHOUT_TURN.cloud].sort(), reloadableNames(cloudOptions));
});

/** Another value of a setting than this. */
function otherThan(value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  if (typeof value === "string") return `${value}x`;
  if (Array.isArray(value)) return [...value, "x"];
  return Number(value ?? 0) + 1;
}

Deno.test("a change of any reloadable setting changes the limits of the server", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await writeTokens(folder);
    const boat = resolveSettings(boatOptions, {}).settings;
    const cloud = resolveSettings(cloudOptions, { flags: new Map([["insecure", ["true"]]]) }).settings;
    assert.ok(boat && cloud);
    const other = (settings: object, name: string) => ({
      [name]: name === "authFile" ? `${folder}/tokens.json` : otherThan(Reflect.get(settings, name)),
    });
    // The program itself applies the level of the log.
    const names = (table: Parameters<typeof reloadableNames>[0]) =>
      reloadableNames(table).filter((name) => name !== "logLevel");
    for (const name of names(boatOptions)) {
      assert.notDeepEqual(boatLimits({ ...boat, ...other(boat, name) }), boatLimits(boat), name);
    }
    for (const name of names(cloudOptions)) {
      assert.notDeepEqual(cloudLimits({ ...cloud, ...other(cloud, name) }), cloudLimits(cloud), name);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

import assert from "node:assert/strict";
import { defaultStreamMemory, streamMemoryOf } from "../../cli/settings/session_options.ts";
import { boatProgram } from "../../cli/boat.ts";
import { boatChecks, boatOptions, type BoatSettings, listenAddress } from "../../cli/settings/boat_options.ts";
import packageFile from "../../cli/deno.json" with { type: "json" };
import rootFile from "../../deno.json" with { type: "json" };
import { formatHelp } from "../../cli/program/help.ts";
import {
  environmentName,
  limitsInForce,
  type Option,
  parseCommandLine,
  resolveSettings,
  settingNames,
} from "../../cli/settings/options.ts";
import { pages } from "../../scripts/docs.ts";
import { needs } from "../support/needs.ts";

const rows = settingNames(boatOptions).map((name): Option<unknown> => boatOptions[name]);

function read(...args: string[]): BoatSettings {
  const { settings, problems } = resolve(...args);
  assert.ok(settings, problems.map(({ message }) => message).join("\n"));
  return settings;
}

function resolve(...args: string[]) {
  const { flags, error } = parseCommandLine(args, boatOptions);
  assert.equal(error, undefined);
  return resolveSettings(boatOptions, { flags, checks: boatChecks });
}

function onlyMessage(...args: string[]): string {
  const { problems } = resolve(...args);
  assert.equal(problems.length, 1);
  return problems[0]!.message;
}

function assertUnique(names: string[]): void {
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
}

Deno.test("names of flags, variables and keys are unique", () => {
  const flags = rows.flatMap(({ name, aliases }) => [name, ...aliases]);
  assertUnique(flags);
  assertUnique(flags.map(environmentName));
  assertUnique(rows.flatMap(({ keys }) => keys));
});

Deno.test("every default passes its own row, and is written so that it reads back", () => {
  for (const row of rows) {
    const value = row.default({ HOME: "/home/sailor" });
    const written = row.format(value);
    if (written !== undefined) assert.deepEqual(row.fromFlags([written]), value, row.name);
    if (written !== undefined && row.keys.length > 0) assert.deepEqual(row.fromConfig(written), value, row.name);
  }
});

Deno.test("every row has words for help and follows the naming rules", () => {
  for (const { name, aliases, keys, help, group } of rows) {
    for (const flag of [name, ...aliases]) assert.match(flag, /^[a-z]+(0183)?(-[a-z]+)*$/);
    for (const key of keys) assert.match(key, /^[a-z]+(0183)?([-.][a-z]+)*$/);
    assert.match(help, /\.$/, name);
    assert.notEqual(group, "", name);
  }
});

const DEFAULTS: BoatSettings = {
  interfaces: ["can0"],
  canDriver: "ffi",
  loopback: false,
  demo: false,
  discovery: true,
  deviceIdleTimeoutMs: 300_000,
  maxAssemblies: 4096,
  listen: undefined,
  port: 8089,
  maxConnections: undefined,
  maxHandshakes: 1024,
  maxHandshakesPerAddress: 64,
  handshakeTimeoutMs: 10_000,
  connectionIdleTimeoutMs: 120_000,
  trustedProxies: [],
  maxStreams: 1000,
  streamBufferBytes: 1_048_576,
  ringFrames: 65_536,
  maxValues: 65_536,
  doctor: true,
  doctorMaxStreams: 4096,
  preferredSources: [],
  busSilenceThresholdMs: undefined,
  authFile: "",
  apiKey: "",
  allowOrigins: [],
  tlsCert: "",
  tlsKey: "",
  sendEnabled: false,
  readOnly: false,
  sendRules: [],
  sendRateLimit: 0,
  sendRateBurst: 10,
  queryMaxTimeoutMs: 60_000,
  maxQueries: 64,
  sendQueueMessages: 64,
  sendFramesPerSecond: 400,
  vesselMmsi: "",
  vesselName: "",
  virtualDevice: false,
  webApps: "",
  virtualDeviceName: undefined,
  virtualDeviceUniqueNumber: undefined,
  virtualDeviceManufacturer: 2046,
  virtualDeviceInstance: 0,
  virtualDeviceModelId: "Vessel Bus Gateway",
  virtualDeviceClaimHeartbeatMs: 60_000,
  virtualDeviceProductInfoHeartbeatMs: 300_000,
  virtualDeviceAnswerRate: 100,
  virtualDeviceMaxInbound: 16,
  requests: [],
  requestsGlobalMinIntervalMs: 100,
  mqttBroker: "",
  mqttTopicPrefix: "vbg",
  mqttClientId: "vbg-boat",
  mqttUsername: "",
  mqttPassword: "",
  mqttPasswordFile: "",
  mqttCaFile: "",
  mqttCert: "",
  mqttKey: "",
  mqttQos: 0,
  mqttBufferFrames: 128,
  mqttRetryMs: 5000,
  mqttPgnTopics: false,
  mqttDecode: false,
  mqttFilter: [],
  mqttHomeAssistant: false,
  nmea0183Listen: [],
  nmea0183Talker: "",
  nmea0183Sentences: [],
  nmea0183Rates: [],
  nmea0183TagSource: "",
  nmea0183MaxClients: 32,
  nmea0183BufferBytes: 16_384,
  gatewayListen: [],
  gatewayMaxClients: 32,
  gatewayBufferBytes: 262_144,
  mdns: true,
  mdnsName: "",
  mdnsLplex: false,
  alertWebhookUrls: [],
  alertWebhookSecret: "",
  alertDedupWindowMs: 300_000,
  alertTimeoutMs: 10_000,
  alertMaxAgeMs: 86_400_000,
  alertQueueSize: 256,
  busSilenceTimeoutMs: undefined,
  replicationTarget: "",
  replicationInstanceId: "",
  replicationTlsCert: "",
  replicationTlsKey: "",
  replicationTlsCa: "",
  replicationInsecure: false,
  replicationMaxLiveLag: 10_000,
  replicationLagCheckInterval: 1000,
  replicationMinLagReconnectMs: 30_000,
  replicationMaxReconnectMs: 60_000,
  maxSessions: 1000,
  maxSessionsPerOwner: 100,
  maxBufferDurationMs: 604_800_000,
  maxBodyBytes: 65_536,
  bodyTimeoutMs: 30_000,
  blackBoxBytes: 200_000_000,
  sourceHistoryBytes: 8_000_000,
  signalk: true,
  slots: [],
  journalDir: "",
  journalPrefix: "nmea2k",
  journalBlockBytes: 262_144,
  journalCompression: "zstd",
  journalRotateDurationMs: 3_600_000,
  journalRotateBytes: 0,
  journalSyncIntervalMs: 1000,
  journalBacklogBytes: 33_554_432,
  journalPackAfterMs: 30_000,
  journalEvidence: true,
  journalEvidenceKey: "",
  retentionMaxAgeMs: 0,
  retentionMinKeepMs: 0,
  retentionMaxBytes: 0,
  retentionSoftPercent: 80,
  retentionOverflow: "delete-unarchived",
  keepUnacknowledged: undefined,
  archiveCommand: "",
  archiveTrigger: "disabled",
  maxHistory: 1_000_000,
  seriesPgns:
    ("127245,127250,127251,127257,128000,128259,128267,128275,129025,129026,129029,129283,129291,65359,127258,130577,130306,130310,130311,130312," +
      "130313,130314,130316,127488,127489,127493,127497,127505,127506,127508").split(","),
  maxSeriesPoints: 10_000,
  maxSeriesScan: 20_000_000,
  streamMemoryBytes: defaultStreamMemory(),
  maxHistoryRequests: 4,
  stateDir: "/home/sailor/.local/state/vbg",
  logLevel: "info",
  logFormat: "json",
  otelEndpoint: undefined,
  otelSampleRatio: 1,
  config: undefined,
  validateConfig: false,
  version: false,
  help: false,
};

Deno.test("the defaults of the boat server", () => {
  const settings = resolveSettings(boatOptions, { environment: { HOME: "/home/sailor" }, checks: boatChecks }).settings;
  assert.deepEqual(settings, DEFAULTS);
});

Deno.test("the state directory is systemd's, else under home, else the system's", () => {
  const dir = (environment: Record<string, string>) => boatOptions.stateDir.default(environment);
  assert.equal(dir({ STATE_DIRECTORY: "/var/lib/vbg:/var/lib/other", HOME: "/root" }), "/var/lib/vbg");
  assert.equal(dir({ HOME: "/root" }), "/root/.local/state/vbg");
  assert.equal(dir({ HOME: "/root", XDG_STATE_HOME: "/xdg" }), "/xdg/vbg");
  assert.equal(dir({ HOME: "/root", XDG_STATE_HOME: "relative" }), "/root/.local/state/vbg");
  assert.equal(dir({ STATE_DIRECTORY: "/var/lib/vbg", XDG_STATE_HOME: "/xdg" }), "/var/lib/vbg");
  assert.equal(dir({}), "/var/lib/vbg");
});

Deno.test("the limits in force are the rows that say what happens beyond them, with their values as they are written", () => {
  const limits = new Map(limitsInForce(boatOptions, read("-max-streams", "7")).map((each) => [each.name, each]));
  assert.deepEqual([...limits.keys()], rows.filter(({ beyond }) => beyond !== undefined).map(({ name }) => name));
  assert.equal(limits.get("max-streams")?.value, "7");
  assert.match(limits.get("max-streams")?.beyond ?? "", /503/);
});

Deno.test("-listen wins over -port, which stands for all addresses", () => {
  assert.deepEqual(listenAddress(read()), { hostname: "::", port: 8089 });
  assert.deepEqual(listenAddress(read("-port", "0")), { hostname: "::", port: 0 });
  assert.deepEqual(listenAddress(read("-listen", "[::1]:8089", "-port", "1")), { hostname: "::1", port: 8089 });
  assert.deepEqual(
    resolve("-listen", ":8089", "-port", "1").problems.map(({ severity, message }) => [severity, message]),
    [
      ["warning", "Not used: -listen [::]:8089 overrides it"],
    ],
  );
  assert.match(onlyMessage("-port", "65536"), /"65536": expected a whole number from 0 to 65535/);
});

Deno.test("interfaces are few, different, and named as Linux names them", () => {
  assert.deepEqual(read("-interface", "can0,can1", "-interface", "vcan0").interfaces, ["can0", "can1", "vcan0"]);
  assert.deepEqual(read("-interface", "can0", "-interfaces", "can1,can2").interfaces, ["can1", "can2"]);
  assert.match(onlyMessage("-interface", "can0", "-interface", "can0"), /Cannot read the interface "can0" twice/);
  assert.match(onlyMessage("-interfaces", "a,b,c,d,e,f,g,h,i"), /Cannot read 9 interfaces: expected at most 8/);
  assert.match(onlyMessage("-interfaces="), /Cannot start without an interface: .*-demo/);
  assert.match(onlyMessage("-interface", "a/b"), /Cannot use the interface "a\/b"/);
  assert.match(onlyMessage("-interface", "0123456789abcdef"), /at most 15 characters/);
  assert.deepEqual(read("-loopback", "-can-driver", "socketcan").canDriver, "socketcan");
});

Deno.test("the ring is a power of two from 16 frames on", () => {
  assert.equal(read("-ring-size", "16").ringFrames, 16);
  assert.equal(read("-ring-size", String(2 ** 22)).ringFrames, 2 ** 22);
  for (const value of ["0", "8", "100", String(2 ** 23), "-65536"]) {
    assert.match(onlyMessage("-ring-size", value), /expected a power of two from 16 to 4194304/);
  }
});

Deno.test("a silence threshold of 0 is none", () => {
  assert.equal(read("-bus-silence-threshold", "30s").busSilenceThresholdMs, 30_000);
  for (const value of ["0", "PT0S", ""]) {
    assert.equal(read("-bus-silence-threshold", value).busSilenceThresholdMs, undefined, value);
  }
});

Deno.test("help shows every flag with its variable, key and default", () => {
  const help = formatHelp(boatProgram, { all: true }).replace(/\s+/g, " ");
  for (const { name, aliases, keys, defaultText, inEnvironment, onCommandLine } of rows) {
    if (!onCommandLine) continue;
    for (const flag of [name, ...aliases]) assert.match(help, new RegExp(`[ ,]-${flag}[ ,]`), flag);
    if (inEnvironment) assert.match(help, new RegExp(`\\b${environmentName(name)}\\b`), name);
    if (keys.length > 0) assert.ok(help.includes(keys[0]!), name);
    assert.ok(help.includes(defaultText), name);
  }
  assert.ok(formatHelp(boatProgram, { all: true }).split("\n").every((line) => line.length <= 100));
});

Deno.test("the programs have the version of the gateway", () => {
  assert.equal(packageFile.version, rootFile.version);
});

Deno.test("reference pages are those that deno task docs prints", needs({ permissions: ["read"] }), async () => {
  for (const [path, print] of Object.entries(pages)) {
    const written = await Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
    assert.equal(written, await print(), `${path} is stale: run deno run -A scripts/docs.ts`);
  }
});

Deno.test("settings that another one makes useless are warned of", () => {
  const warnings = (...flags: string[]) =>
    resolve(...flags).problems.map(({ severity, message }) => `${severity}: ${message}`);
  assert.deepEqual(warnings("-demo"), []);
  assert.deepEqual(warnings("-demo", "-interface", "can1"), ["warning: Not used: -demo brings a bus of its own"]);
  assert.deepEqual(warnings("-loopback", "-can-driver", "socketcan"), ["warning: Not used: -loopback needs no driver"]);
});

Deno.test("a journal that cannot be written as asked is refused with a reason", () => {
  assert.match(onlyMessage("-journal-compression", "zstd-dict"), /Cannot write zstd-dict/);
  const many = ["-interface", "a,b,c,d,e"];
  assert.match(onlyMessage("-journal-dir", "/j", ...many), /Cannot record 5 interfaces/);
  const large = ["-journal-block-size", "16777216", "-journal-backlog-size", "31MiB"];
  assert.match(onlyMessage(...large), /Cannot keep waiting frames in 32505856 bytes: that is less than 2 blocks/);
  assert.deepEqual(resolve(...many).problems, []);
  assert.match(onlyMessage("-journal-block-size", "5000"), /5000/);
  assert.match(onlyMessage("-journal-archive-trigger", "on-rotate"), /Cannot archive on-rotate without/);
  assert.match(onlyMessage("-journal-archive-command", "x"), /Not used: -journal-archive-trigger is disabled/);
  assert.match(onlyMessage("-journal-prefix", "a/b"), /Cannot name files after "a\/b"/);
});

Deno.test("streams may use a sixteenth of the least memory that is known, within 32 MiB and 1 GiB", () => {
  const mib = 2 ** 20;
  assert.equal(streamMemoryOf([8192 * mib, undefined, undefined]), 512 * mib);
  assert.equal(streamMemoryOf([8192 * mib, 1024 * mib]), 64 * mib);
  assert.equal(streamMemoryOf([8192 * mib, 128 * mib]), 32 * mib);
  assert.equal(streamMemoryOf([65_536 * mib, 2 ** 63]), 1024 * mib);
  assert.equal(streamMemoryOf([undefined]), 32 * mib);
});

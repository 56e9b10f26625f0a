import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { assembleRecording } from "../../src/can/mod.ts";
import { readAnalyzed } from "../support/analyzer.ts";
import { encode } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { packageFolder } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { needs } from "../support/needs.ts";
import { readAll, sampleBytes, SAMPLES } from "../support/recordings.ts";

const PACKAGE = "@signalk/signalk-schema";
const SCHEMA = needs({
  permissions: ["env", "net", "read"],
  others: { [`npm package "${PACKAGE}"`]: packageFolder(PACKAGE) !== undefined },
});

/** What the schema refuses: where, with `*` for ids and numbers, and why. */
interface Refusal {
  dataPath: string;
  message: string;
  schemaPath: string;
}
interface Schema {
  validateFull(tree: unknown): { errors: Refusal[] };
  validateDelta(delta: unknown): { errors: Refusal[]; missing: string[] };
  getMetadata(path: string): { units?: string } | undefined;
}
interface Delta {
  context?: string;
  self?: string;
  updates?: {
    values?: { path: string; value: unknown }[];
    meta?: { path: string; value: { units?: string } }[];
  }[];
}

function schema(): Schema {
  const folder = packageFolder(PACKAGE) ?? "";
  return createRequire(join(folder, "package.json"))(folder);
}

async function* streamOf<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) yield await Promise.resolve(item);
}

/** A vessel that is in no recording. */
const LAST_MMSI = 244999001;

/** What a boat says of all recordings of tests/data: its deltas, and its tree afterwards. */
async function hear(): Promise<{ deltas: Delta[]; tree: unknown }> {
  // Time stands still: nothing becomes stale.
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ signalk: { name: "Aurora", mmsi: "230012345" }, discovery: false, clock });
  const { broker } = boat.boat;
  const socket = new WebSocket(`${boat.url.replace("http", "ws")}/signalk/v1/stream?subscribe=all&sendMeta=all`);
  const deltas: Delta[] = [];
  socket.onmessage = ({ data }) => deltas.push(JSON.parse(String(data)));
  await eventually("the greeting", () => deltas[0]?.self !== undefined);
  for (const { file } of SAMPLES) {
    const { items } = await readAll([sampleBytes(file)]);
    for await (const message of assembleRecording(streamOf(items))) broker.publish({ ...message, bus: 0 });
  }
  for (const [index, { pgn, hex }] of (await readAnalyzed()).entries()) {
    const data = Uint8Array.fromHex(hex);
    const id = 0x0c000000 | pgn << 8 | index % 250;
    broker.publish({ id, pgn, bus: 0, timeUs: index * 1e6, monoMs: 0, data, offset: 0, length: data.length });
    if (index % 500 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  const tree = await boat.get("/signalk/v1/api/");
  // Another vessel comes last.
  boat.say({ pgn: 129039, data: encode(129039, { user_id: LAST_MMSI, latitude: 54, longitude: 10 }) });
  await eventually("the last vessel", () => deltas.some(({ context }) => context?.endsWith(`:${LAST_MMSI}`)));
  socket.close();
  return { deltas: deltas.filter(({ updates }) => updates), tree };
}

/** What the schema does not have, and why we do: the first row that fits. */
const REASONS: readonly [reason: string, fits: (refusal: Refusal) => boolean][] = [
  [
    "of a choice of schemas one fits: the validator tells of the others, too",
    ({ schemaPath }) => /\/anyOf\/\d+\/required\/\d+$/.test(schemaPath),
  ],
  ["sources are described as signalk-server does", ({ dataPath }) => dataPath.startsWith("/sources/")],
  ["base stations are at the path of signalk-server", ({ dataPath }) => dataPath === "/shore"],
  [
    "a vessel of AIS has an MMSI that no vessel may have",
    ({ dataPath, message }) =>
      /^\/vessels\/urn:mrn:imo:mmsi:[0189]\d{8}$/.test(dataPath) && message === "Additional properties not allowed",
  ],
  [
    "values of several sources: the schema forbids them where it lists words, and of notifications",
    ({ dataPath }) => /\/values$|\/design\/length\/values\/.*\/value$/.test(dataPath),
  ],
  [
    "AC by line is at the path of signalk-server, without `phase`",
    ({ dataPath }) => /\/electrical\/(ac|inverters)\/\d+\/[ABC1]$/.test(dataPath),
  ],
  [
    "settings and states of chargers and inverters are at the paths of signalk-server",
    ({ dataPath, message }) =>
      /\/electrical\/(chargers|inverters)\/\d+\/\w+$/.test(dataPath) && message.startsWith("Unknown property"),
  ],
  [
    "words of NMEA 2000 that the schema does not list",
    ({ dataPath, message }) =>
      message.startsWith("No enum match") && /\/inverterMode\/value$|\/gnss\/type\/value$/.test(dataPath),
  ],
  [
    "paths of signalk-server's mapper",
    ({ dataPath }) =>
      /\/(electrical\/switches|generic|hydraulic|gnss\/satellitesInView|specialManeuver)$/.test(dataPath) ||
      /\/(speedThroughWaterReferenceType|propulsion\/\w+\/trip)$/.test(dataPath),
  ],
  [
    "the course by messages of navigation is at the paths of signalk-server: values one by one",
    ({ dataPath }) => /\/navigation\/courseRhumbline\/(nextPoint|previousPoint|activeRoute\/name)/.test(dataPath),
  ],
];

/** Paths of which the schema knows no unit, though they have one. */
const WITHOUT_UNIT = ["navigation.gnss.geoidalSeparation", "sensors.ais.fromBow", "sensors.ais.fromCenter"];

Deno.test(
  "the schema of Signal K accepts tree, deltas and units of recordings, or refuses them for a reason",
  SCHEMA,
  async () => {
    const official = schema();
    const { deltas, tree } = await hear();
    assert.ok(deltas.length > 50, `${deltas.length} deltas`);
    for (const delta of deltas) {
      const { errors, missing } = official.validateDelta(delta);
      assert.deepEqual([errors, missing], [[], []], JSON.stringify(delta));
    }

    const reasons = new Set<string>();
    const unexplained: string[] = [];
    for (const refusal of official.validateFull(tree).errors) {
      const reason = REASONS.find(([, fits]) => fits(refusal))?.[0];
      if (reason === undefined) unexplained.push(`${refusal.dataPath}: ${refusal.message}`);
      else reasons.add(reason);
    }
    assert.deepEqual(unexplained, []);
    assert.deepEqual(REASONS.map(([reason]) => reason).filter((reason) => !reasons.has(reason)), []);

    const units = new Map(
      deltas.flatMap(({ context = "", updates = [] }) =>
        updates.flatMap(({ meta = [] }) =>
          meta.map((
            { path, value },
          ): [string, string | undefined] => [`${context.split(".")[0]}.*.${path}`, value.units])
        )
      ),
    );
    assert.ok(units.size > 300, `${units.size} paths`);
    const different = [...units].flatMap(([path, ours]) => {
      const theirs = official.getMetadata(path);
      return !theirs || theirs.units === ours
        ? []
        : [`${path.split(".").slice(2).join(".")}: ${ours}, not ${theirs.units}`];
    });
    assert.deepEqual(
      new Set(different),
      new Set(WITHOUT_UNIT.map((path) => `${path}: m, not undefined`)),
    );
  },
);

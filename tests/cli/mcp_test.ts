import assert from "node:assert/strict";
import type {
  DecodedLastValue,
  LastValues,
  PastDevice,
  Proof,
  QuantitySources,
  SeriesReply,
} from "../../src/client/mod.ts";
import { buildCanId } from "../../src/frame/mod.ts";
import { encode } from "../../src/pgn/mod.ts";
import { MAX_ANSWER_BYTES } from "../../cli/commands/mcp/answer.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { HttpProxy } from "../support/http_proxy.ts";
import { McpProgram } from "../support/mcp.ts";
import { needs } from "../support/needs.ts";

const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const TOOLS = ["devices", "values", "series_summary", "voyages", "health", "gaps"];
const KNOT = 1852 / 3600;
const START = "2026-01-02T03:04:05.000Z";
const after = (seconds: number) => new Date(Date.parse(START) + 1000 * seconds).toISOString();
/** Seconds after which wind and pressure, the heading, and everything ends. */
const [WIND_ENDS, HEADING_ENDS, END] = [30, 62, 70] as const;

/**
 * A depth sounder, which also has two engines, at address 35, and a compass at 4, which falls silent. In second `i` the depth
 * is `i / 10` m, the heading 1 rad, and the wind `i` kn from 30° to port.
 */
async function recordedBoat(folder: string): Promise<TestBoat> {
  const clock = new FakeClock();
  const journal = { directory: `${folder}/journal`, stateDirectory: folder };
  const boat = await TestBoat.start({ clock, journal, stateDirectory: folder, sendEnabled: true });
  boat.claim(35, { manufacturerCode: 135, deviceClass: 60, uniqueNumber: 35 });
  boat.product(35, "DST810");
  boat.claim(4, { manufacturerCode: 1855, deviceClass: 60, deviceInstance: 3, uniqueNumber: 4 });
  let head = 3;
  const say = (src: number, pgn: number, fields: Parameters<typeof encode>[1]) => {
    boat.say({ pgn, src, data: encode(pgn, fields) });
    head++;
  };
  for (let i = 1; i <= END; i++) {
    clock.advance(1000);
    say(35, 128267, { depth: i / 10, offset: 0.5 });
    say(35, 127488, { engine_instance: i % 2, engine_speed: 1000 + i % 2 });
    if (i <= HEADING_ENDS) say(4, 127250, { heading: 1, heading_reference: "magnetic" });
    if (i <= WIND_ENDS) {
      say(4, 130306, { wind_speed: i * KNOT, wind_angle: 2 * Math.PI - Math.PI / 6, wind_reference: "apparent" });
      say(4, 130314, { instance: 0, pressure_source: "atmospheric", pressure: 101_300 });
    }
    await eventually("the messages", () => boat.boat.broker.head === head);
    const ending = i === WIND_ENDS ? 130306 : i === HEADING_ENDS ? 127250 : undefined;
    if (ending === undefined) continue;
    // Ages begin when the server has read the values, which time must not overtake.
    await eventually("the last value", async () => {
      const quantities = await boat.get<QuantitySources[]>("/sources");
      return quantities.some(({ pgn, sources: [source] }) => pgn === ending && source?.ts === after(i));
    });
  }
  // The first frame of a fast packet, twice.
  const id = buildCanId({ prio: 6, pgn: 126996, src: 35, dst: 255 });
  for (let i = 0; i < 2; i++) boat.buses[0]!.inject(id, Uint8Array.of(0, 134, 1, 2, 3, 4, 5, 6));
  return boat;
}

Deno.test(
  "vbg mcp: each tool shows what the server's own routes say, and asks for nothing but that",
  RUN,
  (t) =>
    inFolder(async (folder) => {
      await using boat = await recordedBoat(folder);
      await using proxy = await HttpProxy.start(boat.url);
      await using mcp = await McpProgram.start(["-server", proxy.endpoint]);
      const heard = boat.listen();
      await t.step("tools are listed, and each says that it only reads", () => showsTools(mcp));
      await t.step("devices", () => showsDevices(mcp, boat));
      await t.step("values", () => showsQuantities(mcp, boat));
      await t.step("values of a PGN and of a device", () => showsMessages(mcp, boat));
      await t.step("devices and values at a time", () => showsPast(mcp, boat));
      await t.step("series_summary", () => showsSeries(mcp, boat));
      await t.step("health and gaps", () => showsHealth(mcp, boat));
      assert.deepEqual([...new Set(proxy.requests)], ["GET"]);
      assert.deepEqual(heard, []);
      assert.equal(mcp.log, "");
    }),
);

async function showsTools({ client }: McpProgram): Promise<void> {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name), TOOLS);
  for (const { name, description, annotations, inputSchema } of tools) {
    assert.equal(annotations?.readOnlyHint, true, name);
    assert.match(description ?? "", /^[A-Z][^]*\.$/);
    assert.deepEqual([inputSchema.type, inputSchema.additionalProperties], ["object", false]);
  }
  assert.match(client.getInstructions() ?? "", /cannot send or change anything/);
  assert.deepEqual(Object.keys(client.getServerCapabilities() ?? {}), ["tools"]);
}

async function showsDevices(mcp: McpProgram, boat: TestBoat): Promise<void> {
  const [four, airmar] = await boat.get<PastDevice[]>("/devices");
  const lineOf4 = `4 Furuno, Navigation, instance 3, NAME ${four!.name}, last message ${four!.last_seen}`;
  const lineOf35 = `35 Airmar DST810, Navigation, instance 0, NAME ${airmar!.name}, last message ${airmar!.last_seen}`;
  assert.deepEqual(await mcp.read("devices"), ["2 devices now, by bus and address", lineOf4, lineOf35]);
  for (const device of ["35", "airmar", "DST", airmar!.name!, airmar!.name!.slice(2).toUpperCase()]) {
    const expected = ["1 of 2 devices now, by bus and address", lineOf35];
    assert.deepEqual(await mcp.read("devices", { device }), expected, device);
  }
  assert.deepEqual(await mcp.read("devices", { device: "3" }), ["0 of 2 devices now, by bus and address"]);
}

/** Text of each quantity by its name. */
const TEXTS: Readonly<Record<string, string>> = {
  "Heading, magnetic": "057.3°M (stale)",
  "Depth below transducer": "7.0 m",
  "Transducer offset": "0.5 m",
  "Apparent wind speed": "30.0 kn (stale)",
  "Apparent wind angle": "30° port (stale)",
  "Atmospheric pressure": "1013.0 hPa (stale)",
  "Engine 0 speed": "1000 rpm",
  "Engine 1 speed": "1001 rpm",
};

async function showsQuantities(mcp: McpProgram, boat: TestBoat): Promise<void> {
  const quantities = await boat.get<QuantitySources[]>("/sources");
  assert.deepEqual(quantities.map(({ label }) => label), Object.keys(TEXTS));
  const expected = quantities.map(({ label, field, sources: [source] }) => {
    const { ts, age_ms, pgn, src, stale } = source!;
    assert.equal(stale, src === 4);
    const from = src === 4 ? "4 Furuno" : "35 Airmar DST810";
    return `${label}: ${TEXTS[label]}, ${ts}, age ${(age_ms / 1000).toFixed(1)} s, from ${from}, field ${pgn}.${field}`;
  });
  const head = `Newest values at ${after(END)} (now)`;
  assert.deepEqual(await mcp.read("values"), [head, ...expected]);
  const some = (...parts: string[]) => [head, ...expected.filter((line) => parts.some((part) => line.includes(part)))];
  assert.deepEqual(await mcp.read("values", { quantity: "wind" }), some("wind"));
  assert.deepEqual(await mcp.read("values", { quantity: "engine.1" }), some("Engine 1"));
  assert.deepEqual(await mcp.read("values", { quantity: "e", device: "4" }), some("4 Furuno"));
  const known = Object.keys(TEXTS).join(", ");
  const none = [`No such values at ${after(END)} (now); known are: ${known}`];
  assert.deepEqual(await mcp.read("values", { quantity: "tank" }), none);
}

/** What is expected of a message: its time, and whether it is stale. */
function messageLine({ pgn, ts, description }: DecodedLastValue, from: string, fields: string): string {
  const ageMs = Date.parse(after(END)) - Date.parse(ts);
  // Product information has no interval, so that it cannot be too old.
  const stale = ageMs > 3000 && pgn !== 126996 && pgn !== 60928 ? " (stale)" : "";
  return `${from}, PGN ${pgn} ${description}, ${ts}, age ${(ageMs / 1000).toFixed(1)} s${stale}: ${fields}`;
}

async function showsMessages(mcp: McpProgram, boat: TestBoat): Promise<void> {
  const [four, airmar] = await boat.get<LastValues<DecodedLastValue>[]>("/values/decoded");
  const of = (pgn: number) => [...four!.values, ...airmar!.values].find((value) => value.pgn === pgn)!;
  const [head, depth, ...others] = await mcp.read("values", { pgn: 128267 });
  assert.equal(head, `Newest values at ${after(END)} (now)`);
  assert.equal(depth, messageLine(of(128267), "35 Airmar DST810", "depth 7.0 m, offset 0.5 m"));
  assert.deepEqual(others, []);
  const [, heading] = await mcp.read("values", { pgn: 127250 });
  assert.equal(heading, messageLine(of(127250), "4 Furuno", "heading 057.3°M"));
  const lines = await mcp.read("values", { device: "airmar" });
  assert.equal(lines.length, 1 + airmar!.values.length);
  airmar!.values.forEach(({ pgn, ts }, index) => {
    const line = lines[index + 1]!;
    assert.ok(line.startsWith(`35 Airmar DST810, PGN ${pgn} `) && line.includes(`, ${ts}, age `), line);
  });
  assert.deepEqual(await mcp.read("values", { pgn: 127250, device: "35" }), [
    `No such values at ${after(END)} (now)`,
  ]);
}

async function showsPast(mcp: McpProgram, boat: TestBoat): Promise<void> {
  const at = after(10);
  const [, ...devices] = await mcp.read("devices", { at });
  const then = await boat.get<PastDevice[]>(`/devices?at=${at}`);
  assert.deepEqual(devices.map((line) => line.slice(-24)), then.map(({ last_seen }) => last_seen));
  const [head, ...lines] = await mcp.read("values", { at });
  assert.equal(head, `Newest values at ${at}; of several instances in one device, the one that was sent last`);
  const numbers = new Map(lines.map((line) => [line.split(": ")[0], line.split(": ")[1]?.split(", ")[0]]));
  assert.deepEqual(numbers.get("Depth below transducer"), "1.0 m");
  assert.deepEqual(numbers.get("Apparent wind speed"), "10.0 kn");
  assert.deepEqual(numbers.get("Engine 0 speed"), "1000 rpm");
  // In the past the compass was alive; later it was not.
  assert.ok(lines.every((line) => !line.includes("(stale)") && line.includes(", age 0.0 s, ")), lines.join("\n"));
  // How often the device sends is not known in the past.
  for (const [seconds, stale] of [[5, ""], [15, " (stale)"]] as const) {
    const [, wind] = await mcp.read("values", { at: after(WIND_ENDS + seconds), quantity: "wind speed" });
    const age = `${after(WIND_ENDS)}, age ${seconds}.0 s`;
    assert.equal(wind, `Apparent wind speed: 30.0 kn${stale}, ${age}, from 4 Furuno, field 130306.wind_speed`);
  }
  const [, message] = await mcp.read("values", { at, pgn: 128267 });
  assert.ok(message!.endsWith(`${at}, age 0.0 s: depth 1.0 m, offset 0.5 m`), `${message}`);
}

async function showsSeries(mcp: McpProgram, boat: TestBoat): Promise<void> {
  const [from, to] = [START, after(END)];
  for (
    const [field, unit, size, device] of [["128267.depth", "m", 1, "airmar"], ["130306.wind_speed", "kn", KNOT, "4"]]
  ) {
    const query = `field=${field}&from=${from}&to=${to}&points=20`;
    const { series: [series], bucket_ms } = await boat.get<SeriesReply>(`/series?${query}`);
    const { time, min, avg, max, last, count } = series!;
    const text = (value: unknown) => `${(Number(value) / Number(size)).toFixed(1)} ${unit}`;
    const [head, title, ...lines] = await mcp.read("series_summary", { field, from, to, device });
    const width = `${(bucket_ms / 1000).toFixed(1)} s`;
    assert.equal(head, `${field} from ${from} to ${to}; buckets of ${width}, of which each line has the start`);
    assert.match(title!, field === "128267.depth" ? /^35 Airmar DST810:$/ : /^4 Furuno, apparent:$/);
    assert.ok(time.length > 2 && time.length <= 20);
    assert.deepEqual(
      lines,
      time.map((ms, i) =>
        `${new Date(ms).toISOString()} min ${text(min?.[i])}, avg ${text(avg?.[i])}, max ${text(max?.[i])}, ` +
        `last ${text(last[i])}, count ${count[i]}`
      ),
    );
    const none = await mcp.read("series_summary", { field, from, to, device: "99" });
    assert.deepEqual(none, [`No values of ${field} were recorded from ${from} to ${to} from this device`]);
  }
  const [, , bucket] = await mcp.read("series_summary", { field: "127250.heading", from, to });
  assert.match(bucket!, /Z avg 057\.3°M, last 057\.3°M, count \d+$/);
}

async function showsHealth(mcp: McpProgram, boat: TestBoat): Promise<void> {
  // From now on the counts stand still.
  const proof = await eventually("all frames on disk", async () => {
    const found = await boat.get<Proof>("/proof");
    return found.recorded === found.seen && found;
  });
  const { seen, recorded, as_of } = proof;
  const frames = `frames: ${seen} received, ${recorded} on the boat's disk (0 more on the way), ` +
    "not replicated; 0 missing, 0 of earlier runs";
  const { components, status, broker, last_frame_at } = await boat.get<{
    status: string;
    broker: { device_count: number };
    last_frame_at: string;
    components: Record<string, { status: string; message?: string }>;
  }>("/healthz");
  const health = await mcp.read("health");
  assert.equal(health[0]?.split("; ")[1], `counts of frames as of ${as_of}`);
  assert.equal(health[1], `server: ${status}, ${broker.device_count} devices, newest frame ${last_frame_at}`);
  assert.deepEqual(
    health.slice(2, -1),
    Object.entries(components).map(([name, { status, message }]) =>
      `${name}: ${status}${message ? `, ${message}` : ""}`
    ),
  );
  assert.equal(health.at(-1), frames);
  const reason = "the next message began before the last part";
  assert.deepEqual(await mcp.read("gaps"), [
    `Missing frames as of ${as_of}; frames are counted from number 1 of epoch ${proof.epoch}`,
    frames,
    `1 CAN frames of can0 never got a number: ${reason}`,
  ]);
}

/** Devices that each send seven messages with quantities. */
const MANY = 250;

Deno.test(
  "vbg mcp: no answer is longer than 4 kB, and each says how many items it leaves out",
  RUN,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ clock, journal, stateDirectory: folder });
      for (let src = 0; src < MANY; src++) {
        boat.claim(src, { manufacturerCode: 135, deviceClass: 60, uniqueNumber: 1 + src });
        boat.product(src, `Sensor ${src} \u2026\u0007`);
        boat.say({ pgn: 128267, src, data: encode(128267, { depth: src }) });
      }
      await eventually("all depths", async () => {
        const quantities = await boat.get<QuantitySources[]>("/sources");
        return quantities[0]?.sources.length === MANY && boat.boat.broker.head === 3 * MANY;
      });
      clock.advance(60_000);
      await using mcp = await McpProgram.start(["-server", boat.url]);
      const at = after(1);
      const series = { field: "128267.depth", from: START, to: after(1) };
      for (
        const [tool, input, count, narrow] of [
          ["devices", {}, MANY, "narrow with device"],
          ["devices", { at }, MANY, "narrow with device"],
          ["values", { quantity: "depth" }, MANY, "narrow with quantity, pgn or device"],
          ["values", { pgn: 126996 }, MANY, "narrow with quantity, pgn or device"],
          ["values", { device: "airmar", at }, 3 * MANY, "narrow with quantity, pgn or device"],
          ["series_summary", series, 2 * MANY, "narrow with device"],
        ] as const
      ) {
        const lines = await mcp.read(tool, input);
        const bytes = new TextEncoder().encode(lines.join("\n")).length;
        assert.ok(bytes <= MAX_ANSWER_BYTES && bytes > MAX_ANSWER_BYTES / 2, `${tool}: ${bytes} bytes`);
        const [, more, how] = /^… and (\d+) more: (.*)$/.exec(lines.at(-1)!) ?? [];
        assert.equal(lines.length - 2 + Number(more), count, `${tool} ${JSON.stringify(input)}`);
        assert.ok(how?.startsWith(narrow), `${how}`);
      }
      const [, preferred] = await mcp.read("values");
      assert.match(preferred!, /^Depth below transducer: 0\.0 m \(stale\), .*; 249 more with quantity "depth"$/);
      // What devices call themselves is shown in one line.
      const [, one] = await mcp.read("devices", { device: "Sensor 77" });
      assert.match(one!, /^77 Airmar Sensor 77 …\\u0007, /);
    }),
);

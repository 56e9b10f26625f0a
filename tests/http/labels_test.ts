import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { SessionClient } from "../support/session.ts";
import type { PgnDescription, PgnSummary } from "../../src/pgn/mod.ts";

const DISK = needs({ permissions: ["net", "read", "write"] });
const TANK = [0x15, 0x19, 0xd0, 7, 0, 0, 0xff, 0xff];
const LABELS = { fluid_type: "Water" };
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];

type Labelled = { pgn: number; decoded?: object; labels?: object };

/** A recording boat on which a device has named itself, and told of a tank and of its heading. */
function withTank(test: (boat: TestBoat) => Promise<void>): () => Promise<void> {
  return () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ stateDirectory: folder, journal });
      boat.claim(9, { manufacturerCode: 229, deviceClass: 60, deviceFunction: 145 });
      boat.say({ src: 9, pgn: 127505, data: TANK });
      boat.say({ src: 9, data: HEADING });
      await eventually("all messages", () => boat.boat.broker.head === 3);
      await test(boat);
    });
}

/** The same without what `labels=true` adds. */
function without<T extends object>(each: T): Omit<T, "labels"> {
  const { labels: _, ...rest } = { labels: undefined, ...each };
  return rest;
}

Deno.test(
  "labels=true adds the labels of codes to values, devices and the history, and changes nothing else",
  DISK,
  withTank(async (boat) => {
    const [device] = await boat.get<{ values: Labelled[] }[]>("/values/decoded?labels=true&exclude_pgn=60928");
    assert.deepEqual(device?.values.map(({ pgn, labels }) => [pgn, labels]), [[127250, undefined], [127505, LABELS]]);
    const [plain] = await boat.get<{ values: Labelled[] }[]>("/values/decoded?exclude_pgn=60928");
    assert.deepEqual(device?.values.map(without), plain?.values);
    const devices = await boat.get<Labelled[]>("/devices?labels=true");
    const words = { device_class: "Navigation", device_function: "Ownship Position (GNSS)" };
    assert.deepEqual(devices.map(({ labels }) => labels), [words]);
    assert.deepEqual(devices.map(without), await boat.get("/devices"));
    const from = "from=2000-01-01T00:00:00Z&exclude_pgn=60928";
    const frames = await boat.get<Labelled[]>(`/history?${from}&labels=true`);
    assert.deepEqual(frames.map(({ pgn, labels }) => [pgn, labels]), [[127505, LABELS], [127250, undefined]]);
    assert.deepEqual(frames.map(without), await boat.get(`/history?${from}&decode=true`));
  }),
);

Deno.test(
  "labels=true adds decoded fields and labels to event streams, WebSockets and sessions",
  DISK,
  withTank(async (boat) => {
    await using decoding = await boat.events("?decode=true");
    await using labelling = await boat.events("?labels=true");
    await using socket = await boat.ws("?labels=true");
    await eventually("the socket", async () => await boat.metric(`vbg_streams{kind="websocket"}`) === 1);
    const session = new SessionClient(boat.url);
    await session.put();
    boat.say({ src: 9, pgn: 127505, data: TANK });
    boat.say({ src: 9, data: HEADING });
    for (const each of [decoding, labelling]) await each.atLeast(2);
    const [tank = "", heading = ""] = decoding.texts;
    assert.deepEqual(labelling.texts, [`${tank.slice(0, -1)},"labels":${JSON.stringify(LABELS)}}`, heading]);
    const frames = await socket.atLeast<Labelled>("frame", 2);
    assert.deepEqual(frames, labelling.texts.map((text) => JSON.parse(text)));
    await using events = await session.events("?labels=true");
    await events.atLeast(2);
    assert.deepEqual(events.texts, labelling.texts);
  }),
);

Deno.test(
  "vbg values, history and devices print with -labels what the server answers with labels=true",
  DISK,
  withTank(async (boat) => {
    const answer = async (...args: string[]) =>
      JSON.parse((await runCommand([...args, "-labels", "-server", boat.url])).out);
    assert.deepEqual(await answer("values"), await boat.get("/values/decoded?labels=true"));
    const printed = await runCommand(["history", "-labels", "-server", boat.url, "-pgn", "127505"]);
    assert.deepEqual(JSON.parse(printed.out).labels, LABELS);
    const [device] = await answer("devices");
    assert.equal(device.labels.device_class, "Navigation");
  }),
);

Deno.test("/pgns lists every PGN that is described, ascending, with name, framing and number of layouts", async () => {
  await using boat = await TestBoat.start();
  const pgns = await boat.get<PgnSummary[]>("/pgns");
  assert.ok(pgns.length > 200);
  const numbers = pgns.map(({ pgn }) => pgn);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  for (const { pgn, description, framing, layouts } of pgns) {
    assert.ok(description !== "" && layouts >= 1, `PGN ${pgn}`);
    assert.match(framing, /^(single|fast|either)$/);
  }
  const position = pgns.find(({ pgn }) => pgn === 129025);
  assert.deepEqual(Object.keys(position ?? {}), ["pgn", "description", "framing", "interval_ms", "layouts"]);
  assert.deepEqual([position?.framing, position?.interval_ms, position?.layouts], ["single", 100, 1]);
  assert.equal(pgns.find(({ pgn }) => pgn === 129029)?.framing, "fast");
  assert.equal(pgns.find(({ pgn }) => pgn === 127510)?.framing, "either");
});

Deno.test("/pgns/{pgn} describes the very fields that a frame of it is decoded to", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events("?decode=true");
  const wind = await boat.get<PgnDescription>("/pgns/130306");
  boat.say({ pgn: 130306, data: Uint8Array.fromHex("012602393002ffff") });
  await events.atLeast(1);
  const { decoded } = JSON.parse(events.texts[0] ?? "");
  assert.deepEqual(decoded, { sid: 1, wind_speed: 5.5, wind_angle: 1.2345, wind_reference: "apparent" });
  const [layout] = wind.layouts;
  assert.deepEqual(layout?.fields.map(({ name }) => name), Object.keys(decoded));
  const [, speed, , reference] = layout?.fields ?? [];
  const { tolerance: _, ...rest } = { tolerance: 0, ...speed };
  const expected = { name: "wind_speed", type: "number", unit: "m/s", bits: 16, min: 0, max: 655.34, resolution: 0.01 };
  assert.deepEqual(rest, expected);
  assert.ok(reference?.type === "enum" && reference.labels?.["2"] === "apparent");
});

Deno.test("every PGN of the list has a description of its own, and both agree", async () => {
  await using boat = await TestBoat.start();
  for (const summary of await boat.get<PgnSummary[]>("/pgns")) {
    const { layouts, ...head } = await boat.get<PgnDescription>(`/pgns/${summary.pgn}`);
    assert.deepEqual({ ...head, layouts: layouts.length }, summary);
  }
});

Deno.test("a PGN that nobody has described is 404", async () => {
  await using boat = await TestBoat.start();
  for (const pgn of ["0", "1", "262144", "4294967295"]) {
    const reply = await boat.raw(`/pgns/${pgn}`);
    assert.equal(reply.status, 404);
    assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
    const problem = JSON.parse(await reply.text());
    assert.deepEqual([problem.status, problem.title], [404, "Not Found"]);
    assert.equal(problem.detail, `PGN ${pgn} is not described: see /pgns`);
  }
});

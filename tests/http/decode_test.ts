import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import type { DeviceValues, Health } from "../../src/http/mod.ts";
import type { Decoded } from "../../src/pgn/mod.ts";
import { OWN_SUBSCRIPTIONS, TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";

type DecodedFrame = Frame & { decoded?: Decoded };

/** A boat that decodes every payload to its number of bytes, but for PGN 127245, which it does not know. */
function boatThatCounts(): Promise<TestBoat> & { calls: number[] } {
  const calls: number[] = [];
  const decode = (pgn: number, payload: Uint8Array) => {
    calls.push(pgn);
    return pgn === 127245 ? undefined : { bytes: payload.length };
  };
  return Object.assign(TestBoat.start({ decode }), { calls });
}

Deno.test("decode=true adds the decoded object as the last key, and decode=false or nothing does not", async () => {
  await using boat = await boatThatCounts();
  await using decoding = await boat.events("?decode=true");
  await using refusing = await boat.events("?decode=false");
  await using plain = await boat.events();
  boat.say({ data: [1, 2, 3] });
  boat.say({ pgn: 127245 });
  for (const each of [decoding, refusing, plain]) await each.atLeast(2);
  assert.deepEqual(refusing.texts, plain.texts);
  assert.match(plain.texts[0] ?? "", /,"data":"010203"\}$/);
  assert.equal(decoding.texts[0], plain.texts[0]?.slice(0, -1) + `,"decoded":{"bytes":3}}`);
  assert.equal(decoding.texts[1], plain.texts[1], "what nothing describes has no key");
});

Deno.test("a WebSocket decodes as an event stream does", async () => {
  await using boat = await boatThatCounts();
  await using decoding = await boat.ws("?decode=true");
  await using plain = await boat.ws();
  await eventually("both sockets", async () => await boat.metric(`vbg_streams{kind="websocket"}`) === 2);
  boat.say({ data: [1, 2, 3] });
  boat.say({ pgn: 127245 });
  const frames = await decoding.atLeast<DecodedFrame>("frame", 2);
  assert.deepEqual(frames.map(({ decoded }) => decoded), [{ bytes: 3 }, undefined]);
  assert.deepEqual((await plain.atLeast<DecodedFrame>("frame", 2)).map((frame) => "decoded" in frame), [false, false]);
});

Deno.test("two clients with the same filter, one decoding and one not, each get their flavour", async () => {
  await using boat = await boatThatCounts();
  await using decoding = await boat.events("?pgn=127250&decode=true");
  await using plain = await boat.events("?pgn=127250");
  await using decodingToo = await boat.events("?pgn=127250&decode=true");
  assert.equal(await boat.metric("vbg_subscriptions"), OWN_SUBSCRIPTIONS + 2, "one for each flavour");
  for (let i = 0; i < 50; i++) boat.say({ data: [i] });
  for (const each of [decoding, plain, decodingToo]) await each.atLeast(50);
  assert.deepEqual(decoding.texts, decodingToo.texts);
  assert.deepEqual(plain.frames.map((frame) => "decoded" in frame), Array(50).fill(false));
  assert.deepEqual(decoding.frames, plain.frames.map((frame) => ({ ...frame, decoded: { bytes: 1 } })));
});

Deno.test("a filter that depends on devices decodes too", async () => {
  await using boat = await boatThatCounts();
  boat.claim(1, { uniqueNumber: 1, manufacturerCode: 229 });
  await using events = await boat.events("?manufacturer=garmin&pgn=127250&decode=true");
  boat.say({ src: 2 });
  boat.say({ src: 1 });
  assert.match((await events.atLeast(1), events.texts[0] ?? ""), /"src":1,.*,"decoded":\{"bytes":8\}\}$/);
});

/** No quantities, whose messages the server decodes for its sources. */
const [HEARTBEAT, HEAVE] = [126993, 127252];

Deno.test("a frame is decoded once for ten clients of several filters, and never when nobody asks", async () => {
  const starting = boatThatCounts();
  await using boat = await starting;
  await using plain = await boat.events();
  for (let i = 0; i < 20; i++) boat.say({ pgn: HEAVE });
  await plain.atLeast(20);
  assert.deepEqual(starting.calls, []);
  const queries = ["?decode=true", "?decode=true&pgn=127252", "?decode=true&exclude_pgn=1", "?pgn=127252&decode=true"];
  const clients = await Promise.all(Array.from({ length: 10 }, (_, i) => boat.events(queries[i % queries.length])));
  for (let i = 0; i < 100; i++) boat.say({ pgn: HEAVE });
  for (const client of clients) {
    await client.atLeast(100);
    for (const text of client.texts) assert.match(text, /"decoded":/);
    await client.close();
  }
  await plain.atLeast(120);
  assert.equal(starting.calls.length, 100);
});

Deno.test("a fault of decoding costs nothing but the key: it is counted, and health tells it", async () => {
  await using boat = await TestBoat.start({
    decode: (pgn) => {
      if (pgn === HEAVE) throw new TypeError("no such table");
      return { fine: 1 };
    },
  });
  assert.equal(await boat.metric("vbg_decode_faults_total"), 0);
  await using decoding = await boat.events("?decode=true");
  await using plain = await boat.events();
  boat.say({ pgn: HEAVE });
  boat.say({ pgn: 127245 });
  boat.say({ pgn: HEAVE });
  for (const each of [decoding, plain]) await each.atLeast(3);
  assert.deepEqual(decoding.texts.map((text) => text.includes(`"decoded"`)), [false, true, false]);
  assert.equal(decoding.texts[0], plain.texts[0]);
  assert.deepEqual(decoding.events, [], "nothing is dropped");
  assert.equal(await boat.metric("vbg_decode_faults_total"), 2);
  const { status, components } = await boat.get<Health>("/healthz");
  assert.equal(status, "degraded");
  assert.deepEqual(components, {
    can0: { status: "ok" },
    decoder: {
      status: "degraded",
      message: "2 payloads not decoded because of a fault: PGN 127252: TypeError: no such table",
    },
  });
  await boat.buses[0]?.close();
  assert.equal((await boat.raw("/healthz")).status, 503, "all buses down is unhealthy, whatever the decoder does");
});

/** A position and a wind as real devices send them, and what is in them. */
const POSITION = {
  pgn: 129025,
  data: Uint8Array.fromHex("3021601c589a15b7"),
  decoded: { latitude: 47.6062, longitude: -122.3321 },
};
const WIND = {
  pgn: 130306,
  data: Uint8Array.fromHex("012602393002ffff"),
  decoded: { sid: 1, wind_speed: 5.5, wind_angle: 1.2345, wind_reference: "apparent" },
};
/** Of a maker that nobody has. */
const STRANGER = { pgn: 126720, data: [0xff, 0xff, 1, 2, 3] };

Deno.test("the server decodes by the definitions, on event streams and WebSockets", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events("?decode=true");
  await using socket = await boat.ws("?decode=true");
  await eventually("the socket", async () => await boat.metric(`vbg_streams{kind="websocket"}`) === 1);
  for (const said of [POSITION, WIND, STRANGER]) boat.say(said);
  const texts = (await events.atLeast(3), events.texts);
  const decoded = [POSITION.decoded, WIND.decoded, undefined];
  assert.deepEqual(texts.map((text) => JSON.parse(text).decoded), decoded);
  const frames = await socket.atLeast<DecodedFrame>("frame", 3);
  assert.deepEqual(frames.map((frame) => frame.decoded), decoded);
});

Deno.test("/values/decoded is /values with description and decoded fields, each left out when it is not known", async () => {
  await using boat = await TestBoat.start();
  assert.deepEqual(await boat.get("/values/decoded"), []);
  boat.claim(1, { uniqueNumber: 1, manufacturerCode: 229 });
  boat.say(POSITION);
  boat.say({ ...WIND, src: 2 });
  boat.say({ src: 2, pgn: 65535, data: [1] });
  await eventually("the values", () => boat.boat.broker.head === 4);
  const plain = await boat.get<DeviceValues[]>("/values");
  const decoded = await boat.get<DeviceValues[]>("/values/decoded");
  const bare = decoded.map(({ values, ...device }) => ({
    ...device,
    values: values.map(({ decoded: _, description: __, ...value }) => value),
  }));
  assert.deepEqual(bare, plain);
  const [gps, wind] = decoded;
  const [claim, position] = gps?.values ?? [];
  assert.match(claim?.description ?? "", /^ISO address claim$/i);
  assert.deepEqual(Object.keys(position ?? {}), ["pgn", "description", "ts", "data", "seq", "decoded"]);
  assert.match(position?.description ?? "", /^Position/);
  assert.deepEqual(position?.decoded, POSITION.decoded);
  const [unknown, speed] = wind?.values ?? [];
  assert.deepEqual(speed?.decoded, WIND.decoded);
  assert.deepEqual(Object.keys(unknown ?? {}), ["pgn", "ts", "data", "seq"]);
});

Deno.test("/values/decoded takes the filters of /values", async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  boat.claim(1, { uniqueNumber: 1, manufacturerCode: 229 });
  boat.say(POSITION);
  boat.say(WIND);
  boat.say({ ...WIND, src: 2, bus: 1 });
  await eventually("the values", () => boat.boat.broker.head === 4);
  const queries = [
    "",
    "?pgn=130306",
    "?exclude_pgn=130306",
    "?manufacturer=garmin",
    "?instance=0",
    "?bus=can1",
    "?pgn=1",
  ];
  for (const query of queries) {
    const keys = async (path: string) =>
      (await boat.get<DeviceValues[]>(path + query)).map((
        { bus, src, values },
      ) => [bus, src, values.map((v) => v.pgn)]);
    assert.deepEqual(await keys("/values/decoded"), await keys("/values"), query);
  }
});

Deno.test("a fault of decoding leaves the value in /values/decoded, without its fields", async () => {
  await using boat = await TestBoat.start({
    decode: () => {
      throw new RangeError("out of reach");
    },
  });
  boat.say({ pgn: HEARTBEAT });
  boat.say({ pgn: HEAVE });
  await eventually("the values", () => boat.boat.broker.head === 2);
  const [device] = await boat.get<DeviceValues[]>("/values/decoded");
  assert.deepEqual(device?.values.map(({ pgn, decoded }) => [pgn, decoded]), [[HEARTBEAT, undefined], [
    HEAVE,
    undefined,
  ]]);
  assert.equal(await boat.metric("vbg_decode_faults_total"), 2);
});

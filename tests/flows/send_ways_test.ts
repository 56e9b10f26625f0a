// What becomes of messages and queries that are taken. What is refused: send_test.ts.
import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import { parseSendRules } from "../../src/transmit/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { allowed } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { accessToken, auditLog, type PostReply } from "../support/sending.ts";
import { TpReceiver } from "../support/tp_receiver.ts";

const NET = { ignore: !allowed("net") };
const OPEN: TestBoatOptions = { sendEnabled: true, names: ["can0", "can1"] };
const HEADING = { pgn: 127250, data: "00102700007ffd" };
const NAME = 0xc0328200ffc00001n;
const PEER = 20;

async function accepted(boat: TestBoat, body: unknown): Promise<void> {
  const { status, text } = await boat.post("/send", body);
  assert.equal(status, 202, text);
}

/** The one frame of a query. */
function frameOf({ status, text }: PostReply): Frame & { decoded?: Record<string, unknown> } {
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

Deno.test("source 254, destination 255 and priority 6 are taken when nothing is said", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  await accepted(boat, HEADING);
  await accepted(boat, { ...HEADING, src: 7, dst: 5, prio: 2 });
  await accepted(boat, { pgn: 126208, src: 0, dst: 5, prio: 0, data: "00" });
  await eventually("the frames", () => boat.heard[0]?.length === 3);
  const { data } = HEADING;
  assert.deepEqual(boat.heard[0]?.map(({ data: _, ...head }) => head), [
    { pgn: 127250, src: 254, dst: 255, prio: 6 },
    { pgn: 127250, src: 7, dst: 255, prio: 2 },
    { pgn: 126208, src: 0, dst: 5, prio: 0 },
  ]);
  assert.deepEqual(boat.heard[0]?.slice(0, 2).map((each) => each.data), [data, data]);
});

Deno.test("what is sent is heard on the streams, with a number like any other frame", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  await using events = await boat.events();
  boat.say();
  await accepted(boat, { ...HEADING, bus: "can1" });
  const [, sent] = await events.atLeast(2);
  assert.deepEqual([sent?.seq, sent?.src, sent?.bus, sent?.data], [2, 254, "can1", HEADING.data]);
});

Deno.test("a claimed address replaces whatever source is asked for, on each bus its own", NET, async () => {
  await using boat = await TestBoat.start({ ...OPEN, virtualDevice: { name: NAME } });
  // Somebody whose NAME is lower has the first address of one bus.
  boat.claim(252, { uniqueNumber: 1 }, { bus: 1 });
  for (const bus of ["can0", "can1"]) {
    const send = async () => (await boat.post("/send", { ...HEADING, src: 7, bus })).status === 202;
    await eventually(`an address on ${bus}`, send);
  }
  await using socket = await boat.ws();
  socket.socket.send(JSON.stringify({ type: "send", data: HEADING }));
  const sources = () => boat.heard.map((each) => each.filter(({ pgn }) => pgn === HEADING.pgn).map(({ src }) => src));
  await eventually("the frames", () => sources().flat().length === 3);
  assert.deepEqual(sources(), [[252, 252], [251]]);
});

Deno.test(
  "a conflict of the virtual device: a higher NAME does not get its address, a lower one does",
  NET,
  async () => {
    await using boat = await TestBoat.start({ ...OPEN, virtualDevice: { name: NAME } });
    const claims = () => boat.heard[0]!.filter(({ pgn, data }) => pgn === 60928 && data === "0100c0ff008232c0");
    const source = async () => {
      const heard = boat.heard[0]!.length;
      await accepted(boat, HEADING);
      const sent = () => boat.heard[0]!.slice(heard).find(({ pgn }) => pgn === HEADING.pgn);
      await eventually("the message", () => sent() !== undefined);
      return sent()?.src;
    };
    await eventually("an address", async () => (await boat.post("/send", HEADING)).status === 202);
    assert.equal(await source(), 252);
    const before = claims().length;
    boat.say({ pgn: 60928, src: 252, prio: 6, data: new Uint8Array(8).fill(0xff) });
    await eventually("the defence", () => claims().length > before);
    assert.equal(await source(), 252);
    boat.say({ pgn: 60928, src: 252, prio: 6, data: new Uint8Array(8).with(0, 1) });
    await eventually("another address", async () => (await boat.post("/send", HEADING)).status === 202);
    assert.equal(await source(), 251);
    const own = (await boat.get<{ name?: string; src: number; bus: string }[]>("/devices"))
      .filter(({ name, bus }) => name === "0xc0328200ffc00001" && bus === "can0");
    assert.deepEqual(own.map(({ src }) => src), [251]);
  },
);

Deno.test(
  "a send queue that is full answers 503 on every way, and that of another bus takes messages",
  NET,
  async () => {
    const transmit = { queueMessages: 2, framesPerSecond: 1, burstFrames: 32 };
    await using boat = await TestBoat.start({ ...OPEN, transmit });
    await using socket = await boat.ws();
    const long = { pgn: 129029, data: "00".repeat(200) };
    await accepted(boat, long);
    await eventually("the queue to be full", async () => (await boat.post("/send", long)).status === 503);
    const { status, detail = "", headers } = await boat.post("/send", HEADING);
    assert.equal(status, 503);
    assert.match(detail, /^Cannot send on bus "can0": /);
    assert.ok(Number(headers.get("Retry-After")) >= 1);
    assert.equal((await boat.post("/query", { pgn: 126996, dst: PEER })).status, 503);
    assert.equal(await socket.errorTo(JSON.stringify({ type: "send", data: HEADING })), detail);
    assert.ok((await boat.metric('vbg_send_refused_total{reason="full"}') ?? 0) >= 4);
    await accepted(boat, { ...HEADING, bus: "can1" });
  },
);

Deno.test("fields are encoded as they are decoded", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  await using events = await boat.events("?decode=true");
  const fields = { sid: 7, heading: 1.5708, heading_reference: "magnetic" };
  await accepted(boat, { pgn: 127250, fields });
  const [frame] = await events.atLeast(1);
  const { decoded }: { decoded: Record<string, unknown> } = JSON.parse(events.texts[0] ?? "");
  assert.equal(frame?.data, "075c3dff7fff7ffd", "0.0001 rad little-endian; deviation and variation not available");
  assert.deepEqual({ ...decoded, ...fields }, decoded);
});

Deno.test("messages of an array leave in its order, and those of other clients not between them", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  const array = (src: number) => Array.from({ length: 32 }, (_, i) => ({ ...HEADING, src, data: `0${i % 10}` }));
  await Promise.all([accepted(boat, array(1)), accepted(boat, array(2))]);
  await eventually("all", () => boat.heard[0]?.length === 64);
  const [first = 0] = boat.heard[0]?.map(({ src }) => src) ?? [];
  const expected = [...array(first), ...array(3 - first)].map(({ src, data }) => [src, data]);
  assert.deepEqual(boat.heard[0]?.map(({ src, data }) => [src, data]), expected);
});

Deno.test("of an array with one bad message nothing is sent, and no rate is used up", NET, async () => {
  await using boat = await TestBoat.start({ ...OPEN, sendRateLimit: 0.001, sendRateBurst: 2 });
  assert.equal((await boat.post("/send", [HEADING, { ...HEADING, dst: 254 }])).status, 400);
  assert.equal((await boat.post("/send", [HEADING, { ...HEADING, bus: "can9" }])).status, 400);
  await accepted(boat, [HEADING, HEADING]);
  await eventually("both", () => boat.heard[0]?.length === 2);
  assert.deepEqual(boat.heard[1], []);
});

Deno.test("a message goes out on the bus that is named, the first when none is, and on no other", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  assert.equal((await boat.post("/send", { ...HEADING, bus: "CAN0" })).status, 400);
  assert.equal((await boat.post("/query", { pgn: 126996, bus: "can2" })).status, 400);
  await accepted(boat, { ...HEADING, src: 1, bus: "can1" });
  await accepted(boat, { ...HEADING, src: 2, bus: "can0" });
  await accepted(boat, { ...HEADING, src: 3 });
  await eventually("all", () => boat.heard.flat().length === 3);
  assert.deepEqual(boat.heard.map((each) => each.map(({ src }) => src)), [[2, 3], [1]]);
});

Deno.test("one frame, a fast packet or a transport session is chosen by PGN and length", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  await using events = await boat.events("?pgn=126208&pgn=127250");
  const peer = new TpReceiver({ address: PEER });
  boat.buses[0]?.attach(({ id, data, offset, length }) => {
    const frame = { id, data: data.slice(offset, offset + length) };
    for (const said of peer.hear(frame, performance.now())) boat.buses[0]?.inject(said.id, Uint8Array.from(said.data));
  });
  const random = new Random(1785);
  const payloads = [1, 8, 9, 223, 224, 1785].map((length) => random.bytes(length).toHex());
  for (const data of payloads) await accepted(boat, { pgn: 126208, dst: PEER, data });
  await accepted(boat, { pgn: 127250, data: payloads[1] });
  const frames = await events.atLeast(7);
  assert.deepEqual(new Set(frames.map(({ data }) => data)), new Set(payloads));
  const count = (wanted: number) => boat.heard[0]?.filter(({ pgn, src }) => pgn === wanted && src === 254).length;
  assert.equal(count(126208), 1 + 2 + 2 + 32, "of a fast packet 6 bytes, then 7 in each frame");
  assert.equal(count(127250), 1);
  assert.equal(count(60160), 32 + 255, "7 bytes in each packet of a session");
  const received = peer.messages.map(({ data }) => Uint8Array.from(data).toHex());
  assert.deepEqual(received.sort(), payloads.slice(4).sort(), "as a plain receiver of sessions has it");
});

Deno.test("a query takes the PGN from who was asked, on the bus that was asked, and nothing else", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  boat.answerRequests(PEER, ({ pgn }) => {
    boat.claim(PEER, { uniqueNumber: 9 });
    boat.say({ pgn: 127250, src: PEER });
    boat.product(21, "another source");
    boat.product(PEER, "another bus", { bus: 1 });
    if (pgn === 126996) boat.product(PEER, "the answer");
  });
  const frame = frameOf(await boat.post("/query", { pgn: 126996, dst: PEER, decode: true }));
  assert.deepEqual([frame.pgn, frame.src, frame.bus, frame.decoded?.model_id], [126996, PEER, "can0", "the answer"]);
  const plain = frameOf(await boat.post("/query", { pgn: 126996, dst: PEER }));
  assert.deepEqual(Object.keys(plain), ["seq", "ts", "prio", "pgn", "src", "dst", "bus", "data"]);
  const claim = frameOf(await boat.post("/query", { pgn: 60928, dst: PEER }));
  assert.deepEqual([claim.pgn, claim.src], [60928, PEER], "a frame, though the device table tells of it too");
  assert.deepEqual(boat.heard[1]?.filter(({ pgn }) => pgn === 59904), [], "nobody is asked on the other bus");
});

Deno.test("a query of the other bus is answered there", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  boat.answerRequests(PEER, () => {
    boat.product(PEER, "can0");
    boat.product(PEER, "can1", { bus: 1 });
  }, { bus: 1 });
  const { bus, dst } = frameOf(await boat.post("/query", { pgn: 126996, bus: "can1" }));
  assert.deepEqual([bus, dst], ["can1", 255]);
  assert.deepEqual(boat.heard[1]?.[0], { pgn: 59904, src: 254, dst: 255, prio: 6, data: "14f001" });
});

Deno.test("destination 0 is the device at address 0", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  boat.answerRequests(0, ({ dst }) => {
    boat.product(5, "not asked");
    boat.product(dst, "asked");
  });
  assert.equal(frameOf(await boat.post("/query", { pgn: 126996, dst: 0 })).src, 0);
  assert.equal(boat.heard[0]?.[0]?.dst, 0);
});

Deno.test("when everybody is asked, one who refuses does not end the query", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  boat.answerRequests(PEER, () => {
    boat.say({ pgn: 59392, src: 21, data: [1, 255, 255, 255, 254, 0x14, 0xf0, 1] });
    boat.product(PEER, "here");
  });
  assert.equal(frameOf(await boat.post("/query", { pgn: 126996 })).src, PEER);
});

Deno.test("a refusal of another device, or of another PGN, is not the answer", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  boat.answerRequests(PEER, () => {
    const refuse = (src: number, low: number) =>
      boat.say({ pgn: 59392, src, data: [1, 255, 255, 255, 254, low, 0xf0, 1] });
    refuse(21, 0x14);
    refuse(PEER, 0x16);
    boat.product(PEER, "here");
  });
  assert.equal(frameOf(await boat.post("/query", { pgn: 126996, dst: PEER })).src, PEER);
});

Deno.test("the request of a query, which is heard too, is not the answer", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  assert.equal((await boat.post("/query", { pgn: 59904, timeout: "50ms" })).status, 504);
  boat.answerRequests(PEER, ({ src }) => {
    if (src !== PEER) boat.say({ pgn: 59904, src: PEER, data: [0, 0xee, 0] });
  });
  assert.equal(frameOf(await boat.post("/query", { pgn: 59904 })).src, PEER);
});

Deno.test("a query waits two seconds unless it says how long", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  const ended: string[] = [];
  const ask = async (timeout?: string) => {
    const { status } = await boat.post("/query", { pgn: 126996, ...(timeout && { timeout }) });
    assert.equal(status, 504);
    ended.push(timeout ?? "default");
  };
  const queries: Promise<void>[] = [];
  for (const timeout of ["PT1.5S", undefined, "2500ms"]) {
    queries.push(ask(timeout));
    // Each begins behind the one before: only what ends too early or too late can change their order.
    await eventually("the request", () => boat.heard[0]?.length === queries.length);
  }
  await Promise.all(queries);
  assert.deepEqual(ended, ["PT1.5S", "default", "2500ms"]);
});

Deno.test("queries at once get each its own answer", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  const asked: (() => void)[] = [];
  for (const address of [PEER, 21]) {
    boat.answerRequests(address, ({ pgn }) => {
      asked.push(() => pgn === 60928 ? boat.claim(address, { uniqueNumber: address }) : boat.product(address, "x"));
      if (asked.length === 4) { for (const answer of asked.splice(0)) answer(); }
    });
  }
  const wanted = [PEER, 21].flatMap((dst) => [60928, 126996].map((pgn) => ({ pgn, dst })));
  const frames = (await Promise.all(wanted.map((each) => boat.post("/query", { ...each, timeout: "PT1M" })))).map(
    frameOf,
  );
  assert.deepEqual(frames.map(({ pgn, src }) => ({ pgn, dst: src })), wanted);
});

Deno.test("a query is judged by the PGN that is asked for, not by that of the request", NET, async () => {
  await using boat = await TestBoat.start({ ...OPEN, sendRules: parseSendRules("!pgn:59904; pgn:126996") });
  boat.answerRequests(PEER, () => boat.product(PEER, "here"));
  assert.equal(frameOf(await boat.post("/query", { pgn: 126996, dst: PEER })).src, PEER);
  assert.equal((await boat.post("/query", { pgn: 126998, dst: PEER })).status, 403);
  assert.equal((await boat.post("/send", { pgn: 59904, dst: PEER, data: "14f001" })).status, 403);
});

Deno.test("settings that are read again hold for the next message, on open sockets too", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  await using socket = await boat.ws();
  const envelope = JSON.stringify({ type: "send", data: HEADING });
  const refusal = async () => {
    const { detail = "" } = await boat.post("/send", HEADING);
    assert.equal(await socket.errorTo(envelope), detail);
    return detail;
  };
  await accepted(boat, HEADING);
  boat.boat.reload({ sendEnabled: false });
  assert.equal(await refusal(), "send is disabled");
  boat.boat.reload({ sendEnabled: true, readOnly: true });
  assert.equal(await refusal(), "the server is in read-only mode");
  boat.boat.reload({ readOnly: false, sendRules: parseSendRules("pgn:126996; !pgn:127250 name:1") });
  assert.match(await refusal(), /^send denied by rule 2/);
  boat.boat.reload({ sendRules: [], sendRateLimit: 0.001, sendRateBurst: 1 });
  await accepted(boat, HEADING);
  assert.match(await refusal(), /^more than 0.001 messages a second/);
  boat.boat.reload({ sendRateLimit: 0 });
  for (let i = 0; i < 20; i++) await accepted(boat, HEADING);
  assert.deepEqual(socket.of("error").length, 4);
});

Deno.test("a query for our own virtual device is answered by it, with a frame like any other", NET, async () => {
  await using boat = await TestBoat.start({ ...OPEN, virtualDevice: { name: NAME, modelId: "our own" } });
  await eventually("an address", async () => (await boat.post("/send", HEADING)).status === 202);
  const ask = (pgn: number, dst = 252) => boat.post("/query", { pgn, dst, decode: true });
  const product = frameOf(await ask(126996));
  assert.deepEqual([product.src, product.pgn, product.decoded?.["model_id"]], [252, 126996, "our own"]);
  const heard = boat.heard[0]!.find(({ pgn, src }) => pgn === 59904 && src === 252);
  assert.deepEqual([heard?.dst, heard?.data], [252, "14f001"]);
  const claim = frameOf(await ask(60928));
  assert.deepEqual([claim.src, claim.data], [252, "0100c0ff008232c0"]);
  const refused = await ask(127250);
  assert.deepEqual([refused.status, refused.detail], [502, "Device 252 refused the request: PGN not available"]);
  boat.answerRequests(PEER, ({ dst }) => dst === 255 && boat.product(PEER, "peer"));
  assert.equal(frameOf(await ask(126996, 255)).src, PEER, "what everybody is asked, others answer");
});

Deno.test("messages and queries, by whatever way, use up one rate", NET, async () => {
  await using boat = await TestBoat.start({ ...OPEN, sendRateLimit: 0.001, sendRateBurst: 3 });
  boat.answerRequests(PEER, () => boat.product(PEER, "here"));
  await using socket = await boat.ws();
  socket.socket.send(JSON.stringify({ type: "send", data: HEADING }));
  await eventually("the first", () => boat.heard[0]?.length === 1);
  assert.equal((await boat.post("/query", { pgn: 126996 })).status, 200);
  await accepted(boat, HEADING);
  const replies = [await boat.post("/send", HEADING), await boat.post("/query", { pgn: 126996 })];
  assert.deepEqual(replies.map(({ status }) => status), [429, 429]);
  assert.equal(Number(replies[0]?.headers.get("Retry-After")) > 900, true, "a message each thousand seconds");
  assert.match(await socket.errorTo(JSON.stringify({ type: "send", data: HEADING })) ?? "", /-send-rate-limit/);
});

Deno.test("every message, query and refusal is a line of the audit log with the client's address", NET, async () => {
  const { log, lines } = auditLog();
  const tokens = [accessToken("pilot", "p", ["read", "send"]), accessToken("chart", "c", ["read"])];
  await using boat = await TestBoat.start({ ...OPEN, tokens, log, sendRules: parseSendRules("pgn:127250,126996") });
  const [pilot, chart] = [{ "X-API-Key": "p" }, { "X-API-Key": "c" }];
  await using mine = await boat.ws("", pilot);
  await using theirs = await boat.ws("", chart);
  const told = () => lines.splice(0).map(({ client, token, via, outcome }) => [client, token, via, outcome]);
  const from = (token: string | undefined, via: string, outcome: string) => ["127.0.0.1", token, via, outcome];
  await boat.post("/send", HEADING, pilot);
  await boat.post("/send", [HEADING, { ...HEADING, pgn: 127251 }], pilot);
  await boat.post("/query", { pgn: 126996, timeout: "1ms" }, pilot);
  await boat.post("/query", { pgn: 126998 }, pilot);
  assert.deepEqual(told(), [
    from("pilot", "/send", "accepted"),
    ...Array(2).fill(from("pilot", "/send", "policy")),
    from("pilot", "/query", "accepted"),
    from("pilot", "/query", "policy"),
  ]);
  for (const path of ["/send", "/query"]) {
    await boat.post(path, HEADING);
    await boat.post(path, HEADING, chart);
    await boat.post(path, HEADING, { ...pilot, Origin: "https://evil.example" });
    const outcomes = [["missing", undefined], ["scope", "chart"], ["origin", "pilot"]] as const;
    assert.deepEqual(told(), outcomes.map(([outcome, token]) => from(token, path, outcome)));
  }
  await boat.post("/send", { ...HEADING, prio: 9 }, pilot);
  await boat.post("/query", { timeout: "1s" }, pilot);
  await mine.errorTo(JSON.stringify({ type: "send", data: {} }));
  assert.deepEqual(told(), ["/send", "/query", "/ws"].map((via) => from("pilot", via, "bad-request")));
  boat.boat.reload({ maxQueries: 0 });
  await boat.post("/query", { pgn: 126996 }, pilot);
  const envelope = JSON.stringify({ type: "send", data: { ...HEADING, pgn: 127251 } });
  await mine.errorTo(envelope);
  await theirs.errorTo(envelope);
  boat.boat.reload({ readOnly: true });
  await boat.post("/send", HEADING, pilot);
  boat.boat.reload({ sendEnabled: false });
  await boat.post("/query", HEADING, pilot);
  await mine.errorTo(envelope);
  assert.deepEqual(told(), [
    from("pilot", "/query", "full"),
    from("pilot", "/ws", "policy"),
    from("chart", "/ws", "scope"),
    from("pilot", "/send", "read-only"),
    from("pilot", "/query", "disabled"),
    from("pilot", "/ws", "disabled"),
  ]);
});

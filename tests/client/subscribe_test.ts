import assert from "node:assert/strict";
import { connect, ConnectionError, type StreamEvent } from "../../src/client/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { range, seqs } from "../support/session.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { Reader } from "./reader.ts";

const NET = needs({ permissions: ["net"] });
/** Tries that follow each other quickly. */
const SOON = { firstMs: 1, capMs: 20 };

/** A boat behind a bad network. */
async function behindProxy(boat: TestBoat): Promise<{ proxy: TcpProxy; url: string }> {
  const proxy = await TcpProxy.start(boat.boat.address.port);
  return { proxy, url: `http://127.0.0.1:${proxy.port}` };
}

Deno.test(
  "live frames come in order, filtered and decoded as asked for, and leaving ends the stream",
  NET,
  async () => {
    await using boat = await TestBoat.start({ names: ["can0", "can1"] });
    const client = connect(boat.url);
    const reading = new Reader(client.subscribe({ pgn: [127250], bus: ["can1"] }, { decode: true }).events());
    await reading.connections(1);
    for (let i = 0; i < 5; i++) {
      boat.say({ bus: 1, data: [i, 0, 0xab, 0xcd, 1, 2, 3, 0xfd] });
      boat.say({ bus: 0 });
      boat.say({ bus: 1, pgn: 127245 });
    }
    const frames = await reading.atLeast(5);
    const expected = range(0, 4).map((sid) => ["can1", 127250, sid]);
    assert.deepEqual(frames.map(({ bus, pgn, decoded }) => [bus, pgn, decoded?.sid]), expected);
    assert.deepEqual(seqs(frames), seqs(frames).toSorted((a, b) => a - b));
    await reading.leave();
    await eventually("the place to be given back", async () => await boat.metric('vbg_streams{kind="sse"}') === 0);
  },
);

Deno.test("a plain loop sees frames alone, and may be left at any frame", NET, async () => {
  await using boat = await TestBoat.start();
  const says = setInterval(() => boat.say(), 5);
  const seen: number[] = [];
  try {
    for await (const { seq } of connect(boat.url).subscribe({}, { devices: true })) {
      seen.push(seq);
      if (seen.length === 10) break;
    }
  } finally {
    clearInterval(says);
  }
  assert.deepEqual(seen, range(seen[0] ?? 0, (seen[0] ?? 0) + 9));
});

Deno.test("changes of the device table are told where they are asked for", NET, async () => {
  await using boat = await TestBoat.start();
  const reading = new Reader(connect(boat.url).subscribe({}, { devices: true }).events());
  await reading.connections(1);
  boat.claim(5, { manufacturerCode: 229 });
  const told = await eventually("the device", () => reading.told("device").find(({ device }) => device.name));
  assert.deepEqual([told.device.src, told.device.manufacturer], [5, "Garmin"]);
  await reading.leave();
});

Deno.test(
  "after each lost connection reading goes on, in order, and says which numbers may be missing",
  NET,
  async () => {
    await using boat = await TestBoat.start();
    const { proxy, url } = await behindProxy(boat);
    await using _ = proxy;
    const reading = new Reader(connect(url, { retry: SOON }).subscribe().events());
    for (let round = 1; round <= 5; round++) {
      await reading.connections(round);
      const before = reading.frames.length;
      boat.say();
      boat.say();
      await reading.atLeast(before + 2);
      proxy.cut(round % 2 ? "rst" : "fin");
      await eventually("the loss to be told", () => reading.told("disconnected").length >= round);
      boat.say();
      await eventually("its number", () => boat.boat.broker.head === round * 3);
    }
    await reading.connections(6);
    boat.say();
    await eventually("the last frame", () => reading.frames.at(-1)?.seq === 16);
    const missed = reading.told("missed").flatMap(({ fromSeq, toSeq }) => range(fromSeq, toSeq));
    const got = seqs(reading.frames);
    assert.deepEqual(got, got.toSorted((a, b) => a - b));
    assert.deepEqual([...got, ...missed].toSorted((a, b) => a - b), range(1, 16));
    assert.ok(reading.told("missed").every(({ why }) => why === "away"));
    await reading.leave();
  },
);

Deno.test("a server that was started anew and counts anew is told as such", NET, async () => {
  using held = HeldPort.take();
  const { port } = held;
  const first = await TestBoat.start({ port });
  const reading = new Reader(connect(first.url, { retry: SOON }).subscribe().events());
  await reading.connections(1);
  for (let i = 0; i < 3; i++) first.say();
  await reading.atLeast(3);
  await first.boat.stop();
  await using second = await TestBoat.start({ port });
  await reading.connections(2);
  second.say();
  assert.deepEqual(seqs(await reading.atLeast(4)), [1, 2, 3, 1]);
  assert.deepEqual(reading.events.map(({ type }) => type).filter((type) => type !== "disconnected"), [
    ...["connected", "frame", "frame", "frame"],
    ...["connected", "new_epoch", "frame"],
  ]);
  await reading.leave();
});

Deno.test("a connection on which nothing comes any more is given up, and another one made", NET, async () => {
  await using boat = await TestBoat.start();
  const { proxy, url } = await behindProxy(boat);
  await using _ = proxy;
  const reading = new Reader(connect(url, { retry: SOON, silenceMs: 300, timeoutMs: 300 }).subscribe().events());
  await reading.connections(1);
  proxy.mode = "swallow";
  const errors = () => reading.told("disconnected").map(({ error: { name, message } }) => `${name}: ${message}`);
  await eventually(
    "the silence to be seen",
    () => errors().includes("ConnectionError: Nothing was received for 0.3 s"),
  );
  const before = reading.told("connected").length;
  proxy.mode = "pass";
  await reading.connections(before + 1);
  // On a busy machine this connection may seem silent, too.
  await eventually("a frame", () => {
    boat.say();
    return reading.frames.length > 0;
  });
  await reading.leave();
});

Deno.test("what a consumer that is too slow does not get is told, number by number", NET, async () => {
  await using boat = await TestBoat.start({ streamBufferBytes: 4096 });
  const events = connect(boat.url).subscribe().events();
  assert.deepEqual((await events.next()).value, { type: "connected" });
  let said = 0;
  await eventually("something to be dropped", async () => {
    boat.flood(500, 1000);
    said += 500;
    return await boat.metric('vbg_dropped_deliveries_total{reason="client_slow"}') ?? 0;
  });
  const types = new Set<StreamEvent["type"]>();
  for (let seen = 0; seen < said;) {
    const { value } = await events.next();
    if (value?.type === "frame") seen++;
    if (value?.type === "dropped") seen += value.count ?? 0;
    assert.ok(value && seen <= said);
    types.add(value.type);
  }
  assert.deepEqual(types, new Set(["frame", "dropped"]));
  await events.return();
});

Deno.test("silence counts only while something is waited for: a slow consumer loses no connection", NET, async () => {
  const silenceMs = 1000;
  await using boat = await TestBoat.start();
  const events = connect(boat.url, { silenceMs }).subscribe().events();
  await events.next();
  for (let seq = 1; seq <= 2; seq++) {
    boat.say();
    const { value } = await events.next();
    assert.equal(value?.type === "frame" && value.frame.seq, seq);
    await pause(silenceMs + 50);
  }
  await events.return();
});

Deno.test("without retries the first failure ends the stream with a ConnectionError", NET, async () => {
  const boat = await TestBoat.start();
  const client = connect(boat.url, { retry: { retries: 0 } });
  const reading = new Reader(client.subscribe().events());
  await reading.connections(1);
  await boat.boat.stop();
  await assert.rejects(reading.ended, ConnectionError);
  assert.deepEqual(reading.told("disconnected"), []);
  await assert.rejects(client.subscribe()[Symbol.asyncIterator]().next(), ConnectionError);
});

Deno.test("tries are counted in a row: what has come makes the next failure the first again", NET, async () => {
  await using boat = await TestBoat.start();
  const { proxy, url } = await behindProxy(boat);
  await using _ = proxy;
  const retry = { ...SOON, retries: 1 };
  const reading = new Reader(connect(url, { retry }).subscribe().events());
  for (let round = 1; round <= 4; round++) {
    await reading.connections(round);
    boat.say();
    await reading.atLeast(round);
    proxy.cut("rst");
  }
  await reading.connections(5);
  await reading.leave();
});

Deno.test(
  "a reading ends with the reason of its signal, or the client's, while it reads and while it waits",
  NET,
  async () => {
    await using boat = await TestBoat.start();
    const { proxy, url } = await behindProxy(boat);
    await using _ = proxy;
    const reason = new Error("enough");
    for (const which of ["own", "client"]) {
      for (const when of ["reading", "waiting"]) {
        const abort = new AbortController();
        const { signal } = abort;
        const client = connect(url, { retry: { firstMs: 60_000 }, ...(which === "client" && { signal }) });
        const reading = new Reader(client.subscribe({}, which === "own" ? { signal } : {}).events());
        await reading.connections(1);
        if (when === "waiting") {
          proxy.cut("rst");
          await eventually("the wait", () => reading.told("disconnected").length === 1);
        }
        abort.abort(reason);
        await assert.rejects(reading.ended, reason);
      }
    }
  },
);

Deno.test("what is no event stream is no connection, and events that nobody knows are passed over", NET, async () => {
  const frame = { seq: 1, ts: "", prio: 2, pgn: 1, src: 1, dst: 255, data: "" };
  const headers = { "Content-Type": "text/event-stream" };
  const replies = [
    new Response("<h1>Log in first</h1>", { headers: { "Content-Type": "text/html" } }),
    new Response("data: {\n\n", { headers }),
    new Response(`event: later\ndata: ?\n\n: alive\n\ndata: ${JSON.stringify(frame)}\n\n`, { headers }),
  ];
  const fetch = () => Promise.resolve(replies.shift() ?? new Response("", { status: 403 }));
  const reading = new Reader(connect("http://boat", { fetch, retry: SOON }).subscribe().events());
  await assert.rejects(reading.ended, { name: "ApiError", status: 403 });
  assert.deepEqual(reading.frames, [frame]);
  assert.deepEqual(reading.told("disconnected").map(({ error }) => error.message), [
    'Expected text/event-stream, got "text/html"',
    "Frame: expected JSON, got something else",
    "The server has ended the stream",
  ]);
});

Deno.test(
  "what was missed between two connections is reported before what the server has dropped since",
  NET,
  async () => {
    const frame = (seq: number) =>
      `data: ${
        JSON.stringify({ seq, ts: "2026-01-01T00:00:00.000Z", prio: 2, pgn: 127250, src: 1, dst: 255, data: "00" })
      }\n\n`;
    const dropped = 'event: dropped\ndata: {"from_seq":6,"to_seq":8,"count":3}\n\n';
    const connections = [frame(1) + frame(3), dropped + frame(9) + frame(12)];
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
      const text = connections.shift();
      return text === undefined
        ? new Response(null, { status: 410 })
        : new Response(text, { headers: { "Content-Type": "text/event-stream" } });
    });
    const told: string[] = [];
    const retry = { firstMs: 1, capMs: 1 };
    try {
      for await (const event of connect(`http://127.0.0.1:${server.addr.port}`, { retry }).subscribe().events()) {
        if (event.type === "frame") told.push(String(event.frame.seq));
        else if ("fromSeq" in event) told.push(`${event.type} ${event.fromSeq}-${event.toSeq}`);
      }
    } catch (error) {
      assert.match(String(error), /410/);
    }
    assert.deepEqual(told, ["1", "3", "missed 4-5", "dropped 6-8", "9", "12"]);
  },
);

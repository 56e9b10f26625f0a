import assert from "node:assert/strict";
import { buildName, type Device, formatName, type Frame } from "../../src/frame/mod.ts";
import type { Health } from "../../src/http/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { claim, nameFields } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { messages, record } from "../support/replay.ts";
import { range, seqs, SessionClient } from "../support/session.ts";
import { TestSimulation } from "../support/simulation.ts";
import { SseClient } from "../support/sse_client.ts";
import { WsClient } from "../support/ws_client.ts";

const DISK = needs({ permissions: ["net", "read", "write"] });
const NAME = buildName(nameFields({ uniqueNumber: 7, manufacturerCode: 229 }));
const OTHER = buildName(nameFields({ uniqueNumber: 8, manufacturerCode: 135 }));
const SLOT = { id: "slot", timeoutMs: 60_000, filter: {} };

/** A Deno test in a folder. */
function test(claim: string, run: (folder: string) => Promise<void>): void {
  Deno.test(claim, DISK, () => inFolder(run));
}

test("a slot gets every frame from the first one on, however late its client comes and however small the ring", async (folder) => {
  const files = [await record(folder, { messages: messages(5000) })];
  await using server = await TestSimulation.start({ files, slots: [SLOT], ringFrames: 16 });
  assert.deepEqual(await server.simulation.replayed, { kind: "ended", damaged: 0 });
  await using stream = await server.slot("slot");
  const frames = await stream.atLeast(5000);
  assert.deepEqual(seqs(frames), range(1, 5000));
  assert.equal(frames[0]?.ts, "2026-01-02T03:04:05.000Z");
  assert.deepEqual(stream.events, []);
});

test("the same recording gives the same lines, whoever reads them and when, also where addresses change hands", async (folder) => {
  // Address 1 is first nobody's, then the one's, then the other's; the first moves to 2.
  const said = [
    ...messages(300),
    claim(NAME, { src: 1, monoMs: 3000 }),
    ...messages(300, { fromMs: 3010 }),
    claim(OTHER, { src: 1, monoMs: 7000 }),
    claim(NAME, { src: 2, monoMs: 7000 }),
    ...messages(300, { fromMs: 7010 }),
    ...messages(300, { fromMs: 10_010, src: 2 }),
  ];
  const files = [await record(folder, { messages: said })];
  const slots = [SLOT, { ...SLOT, id: "garmin", filter: { manufacturer: ["Garmin"] } }, {
    ...SLOT,
    id: "name",
    filter: { exclude_name: [formatName(NAME)] },
  }];
  const texts: string[] = [];
  for (
    const [speed, ringFrames, isLate] of [[0, 16, true], [0, 65_536, false], [0, 65_536, true], [
      50,
      64,
      false,
    ]] as const
  ) {
    await using server = await TestSimulation.start({ files, slots, speed, ringFrames });
    if (isLate) await server.simulation.replayed;
    const streams = await Promise.all(slots.map(({ id }) => server.slot(id)));
    await server.simulation.replayed;
    await server.simulation.drained();
    await server.simulation.stop();
    await eventually("the end of the streams", () => streams.every(({ ended }) => ended));
    texts.push(streams.map((stream) => stream.texts.join("\n")).join("\n\n"));
  }
  assert.ok((texts[0]?.split("\n").length ?? 0) > 1500);
  assert.deepEqual(new Set(texts).size, 1);
});

test("live streams lose nothing at full speed while their clients read", async (folder) => {
  const files = [await record(folder, { messages: messages(2000) })];
  await using server = await TestSimulation.start({ files, loop: true });
  await using events = await SseClient.open(`${server.url}/events`);
  await using socket = await WsClient.open(`${server.url.replace("http", "ws")}/ws`);
  const frames = [...await events.atLeast(20_000)];
  assert.deepEqual(seqs(frames), range(frames[0]?.seq ?? 0, (frames[0]?.seq ?? 0) + frames.length - 1));
  assert.deepEqual(events.dropped, []);
  const heard = seqs(await socket.atLeast<Frame>("frame", 5000));
  assert.deepEqual(heard, range(heard[0] ?? 0, (heard[0] ?? 0) + heard.length - 1));
});

test("a client that takes nothing is waited for once, and then told what it missed", async (folder) => {
  const clock = new FakeClock();
  const files = [await record(folder, { messages: messages(2000) })];
  await using server = await TestSimulation.start({ files, loop: true, clock, streamBufferBytes: 16_384 });
  await using stream = await SseClient.open(`${server.url}/events`);
  await stream.atLeast(1);
  stream.pause();
  const head = async () => (await server.get<Health>("/healthz")).broker.head_seq;
  await eventually("the replay to wait", async () => {
    const before = await head();
    await new Promise((resolve) => setTimeout(resolve, 50));
    return await head() === before;
  });
  const waiting = await head();
  const missed = /^vbg_dropped_deliveries_total\{reason="client_slow"\} [1-9]/m;
  await eventually("the replay to go on", async () => {
    // More than once: on a busy machine it may not have waited yet.
    clock.advance(10_000);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    return await head() > waiting + 20_000 && missed.test(metrics);
  });
  stream.resume();
  await eventually("the account of what is missing", () => stream.dropped.length > 0);
});

test("history has what was played, under its numbers and by its recorded times, each frame once", async (folder) => {
  const files = [await record(folder, { messages: messages(500) })];
  await using server = await TestSimulation.start({ files });
  await server.simulation.replayed;
  const all = await server.get<Frame[]>("/history?from=2026-01-01T00:00:00Z");
  assert.deepEqual(seqs(all), range(1, 500));
  const some = await server.get<Frame[]>("/history?from=2026-01-02T03:04:06Z&to=2026-01-02T03:04:06.05Z");
  assert.deepEqual(seqs(some), range(101, 106));
  const pages: Frame[] = [];
  let url: URL | undefined = new URL(`${server.url}/history?from=2026-01-01T00:00:00Z&limit=77`);
  while (url) {
    const response: Response = await fetch(url);
    pages.push(...await response.json() as Frame[]);
    const [, next]: string[] = /^<(.*)>; rel="next"$/.exec(response.headers.get("Link") ?? "") ?? [];
    url = next === undefined ? undefined : new URL(next, response.url);
  }
  assert.deepEqual(pages, all);
});

test("devices, values and health are those of the replay", async (folder) => {
  const said = [claim(NAME, { src: 1 }), ...messages(50, { fromMs: 10 })];
  const files = [await record(folder, { messages: said })];
  await using server = await TestSimulation.start({ files });
  await server.simulation.replayed;
  const [device] = await server.get<Device[]>("/devices");
  assert.deepEqual([device?.manufacturer, device?.packet_count], ["Garmin", 51]);
  const values = await server.get<{ values: { pgn: number; seq: number }[] }[]>("/values/decoded");
  assert.deepEqual(values[0]?.values.map(({ pgn, seq }) => [pgn, seq]), [[60928, 1], [127250, 51]]);
  const health = await server.get<Health>("/healthz");
  assert.deepEqual([health.status, health.last_frame_at], ["ok", "2026-01-02T03:04:05.500Z"]);
  assert.deepEqual(health.components, { replay: { status: "ok", message: "ended" } });
});

test("nothing can be sent, and the answers say so", async (folder) => {
  await using server = await TestSimulation.start({ files: [await record(folder, { messages: messages(5) })] });
  for (const path of ["/send", "/query"]) {
    const response = await fetch(server.url + path, { method: "POST", body: "{}" });
    assert.deepEqual([response.status, (await response.json()).detail], [403, "send is disabled"]);
  }
  await using socket = await WsClient.open(`${server.url.replace("http", "ws")}/ws`);
  assert.equal(await socket.errorTo(JSON.stringify({ type: "send", data: {} })), "send is disabled");
});

test("a replay that cannot go on makes the server unhealthy, and what was played stays", async (folder) => {
  const files = [
    await record(folder, { messages: messages(500) }),
    await record(folder, { name: "b", messages: messages(5, { fromMs: 9000 }), firstSeq: 1 }),
  ];
  const clock = new FakeClock();
  await using server = await TestSimulation.start({ files, speed: 10, clock });
  await Deno.remove(files[1] ?? "");
  let end: string | undefined;
  void server.simulation.replayed.then(({ kind }) => end = kind);
  await eventually("the end of the replay", () => {
    clock.advance(100);
    return end;
  });
  assert.equal(end, "failed");
  const health: Health = await (await fetch(`${server.url}/healthz`)).json();
  assert.equal(health.status, "unhealthy");
  assert.match(health.components["replay"]?.message ?? "", /^failed: .*b\.lpj/);
  const played = await server.get<Frame[]>("/history?from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z");
  assert.equal(played.length, 500);
});

test("drained waits for a client that reads slowly, and for one that is away only as long as its session is kept", async (folder) => {
  const clock = new FakeClock();
  const files = [await record(folder, { messages: messages(20_000) })];
  const slots = [SLOT, { ...SLOT, id: "away", timeoutMs: 30_000 }];
  await using server = await TestSimulation.start({ files, slots, clock });
  await server.simulation.replayed;
  let isDrained = false;
  const drained = server.simulation.drained().then(() => isDrained = true);
  await using stream = await server.slot("slot");
  stream.pause();
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(!isDrained);
  stream.resume();
  await stream.atLeast(20_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(!isDrained, "the other one may still come");
  clock.advance(30_000);
  await drained;
});

test("a slot whose client comes after its timeout begins with the first frame again", async (folder) => {
  const clock = new FakeClock();
  const files = [await record(folder, { messages: messages(300) })];
  await using server = await TestSimulation.start({ files, slots: [SLOT], clock });
  await server.simulation.replayed;
  const client = new SessionClient(server.url, { id: "slot" });
  assert.equal(await client.ack(200), 204);
  assert.equal(await client.cursor(), 201);
  clock.advance(60_000);
  assert.equal(await client.cursor(), 1);
});

test("drained gives a client up that is connected and takes nothing", async (folder) => {
  const clock = new FakeClock();
  const files = [await record(folder, { messages: messages(100_000) })];
  await using server = await TestSimulation.start({ files, slots: [SLOT], clock });
  await using stream = await server.slot("slot");
  stream.pause();
  await server.simulation.replayed;
  let isDrained = false;
  const drained = server.simulation.drained().then(() => isDrained = true);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(!isDrained);
  await eventually("the end of the patience", () => {
    clock.advance(6000);
    return isDrained;
  });
  await drained;
});

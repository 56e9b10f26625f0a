// Clients of the gateway server that do not behave.
import assert from "node:assert/strict";
import { Logger, pause } from "../../src/base/mod.ts";
import { GATEWAY_FORMATS } from "../../src/integrations/mod.ts";
import { parseSendRules } from "../../src/transmit/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { connected, RawClient, SENDING, start } from "../support/gateway_clients.ts";
import { Random } from "../support/random.ts";

/** A line of `TestBoat.flood` with 1785 bytes. */
const FLOOD_LINE = "A000000.000 09FF6 1EF00 \r\n".length + 2 * 1785;

Deno.test("random bytes and lines without an end from a client harm nobody, in any format", async () => {
  for (const format of GATEWAY_FORMATS) {
    await using server = await start({ format, send: true }, SENDING);
    using client = await RawClient.open(server.port);
    using other = await RawClient.open(server.port);
    await connected(server.boat, 2);
    await client.writeBytes(new Random(5).bytes(200_000));
    await client.writeBytes(new Uint8Array(1_000_000).fill(65));
    await client.write("", "nonsense");
    const unreadable = `vbg_gateway_written_total{result="unreadable"}`;
    await eventually("unreadable lines", async () => (await server.boat.metric(unreadable) ?? 0) > 0);
    server.boat.say();
    await eventually("the frame", () => other.text !== "");
    assert.equal(await server.boat.metric("vbg_gateway_clients"), 2);
  }
});

Deno.test("a client that does not read: others get everything, its drops are counted, and it is disconnected", async () => {
  const clock = new FakeClock();
  await using server = await start({ format: "n2kascii" }, { clock, bufferBytes: 65_536 });
  const { boat, port } = server;
  using lazy = await RawClient.open(port, { reads: false });
  using eager = await RawClient.open(port);
  await connected(boat, 2);
  let fed = 0;
  const dropped = () => boat.metric("vbg_gateway_dropped_total");
  while (await dropped() === 0) {
    boat.flood(10, 1785);
    fed += 10;
    await eventually("the others", () => eager.text.length === fed * FLOOD_LINE);
  }
  await eventually("the end of the connection", async () => {
    clock.advance(1000);
    return await boat.metric("vbg_gateway_clients") === 1;
  });
  // The connection is closed without its unsent bytes: what it got are whole lines, and at most one that is cut.
  await lazy.read();
  const whole = lazy.lines;
  assert.equal(whole.every((line) => line.length === eager.lines[0]!.length && line.startsWith("A")), true);
  assert.equal(eager.lines.length, fed);
  assert.ok(whole.length < fed);
});

Deno.test("gaps of a slow client lie between lines, and every line is sent or counted as dropped", async () => {
  await using server = await start({ format: "n2kascii" }, { bufferBytes: 65_536 });
  const { boat, port } = server;
  using slow = await RawClient.open(port, { reads: false });
  using eager = await RawClient.open(port);
  await connected(boat, 2);
  let fed = 0;
  while (await boat.metric("vbg_gateway_dropped_total") === 0) {
    boat.flood(10, 1785);
    fed += 10;
    await eventually("the other client", () => eager.text.length === fed * FLOOD_LINE);
  }
  void slow.read();
  await eventually("the rest", async () => {
    const dropped = await boat.metric("vbg_gateway_dropped_total") ?? 0;
    return slow.text.length === (fed - dropped) * FLOOD_LINE;
  });
  assert.equal(slow.lines.every((line) => /^A\d{6}\.\d{3} 09FF6 1EF00 (00){1785}$/.test(line)), true);
});

Deno.test("a client that requests without end is answered at a bounded rate", async () => {
  await using server = await start({ format: "ydraw" }, { clock: new FakeClock() });
  using client = await RawClient.open(server.port);
  await client.write(...Array(200).fill("18eaffff 14 F0 01"));
  const written = (result: string) => server.boat.metric(`vbg_gateway_written_total{result="${result}"}`);
  await eventually("all requests", async () => await written("answered") === 50 && await written("unanswered") === 150);
});

Deno.test("requests of a client that takes no answers are counted as unanswered; none is made to be dropped", async () => {
  await using server = await start({ format: "n2kascii" }, { bufferBytes: 65_536 });
  using client = await RawClient.open(server.port, { reads: false });
  await connected(server.boat, 1);
  const dropped = () => server.boat.metric("vbg_gateway_dropped_total");
  // The system's buffer of the connection grows for a while.
  for (let [sent, same] = [-1, 0]; same < 20;) {
    server.boat.flood(10, 1785);
    await pause(10);
    const now = await server.boat.metric("vbg_gateway_sent_total") ?? 0;
    same = now === sent ? same + 1 : 0;
    sent = now;
  }
  const before = await dropped();
  await client.write("A000000.000 00FF6 0EA00 14F001");
  const written = (result: string) => server.boat.metric(`vbg_gateway_written_total{result="${result}"}`);
  await eventually("the request", async () => await written("unanswered") === 1);
  assert.deepEqual([await written("answered"), await dropped()], [0, before]);
});

Deno.test("equal refusals of a client have two audit lines: the first one, and one that counts the others", async () => {
  const logged: { component?: string; outcome?: string; pgn?: number; count?: number; client?: string }[] = [];
  const log = new Logger({ format: "json", write: (line) => logged.push(JSON.parse(line)) });
  const clock = new FakeClock();
  const rules = { ...SENDING, sendRules: parseSendRules("!pgn:127250-127251;pgn:0-131071") };
  await using server = await start({ format: "ydraw", send: true }, { ...rules, log, clock });
  const audits = () =>
    logged.filter(({ component }) => component === "audit")
      .map(({ outcome, pgn, count }) => ({ outcome, pgn, ...(count !== undefined && { count }) }));
  const refused = (count: number) =>
    eventually(`${count} refusals`, async () => {
      return await server.boat.metric(`vbg_gateway_written_total{result="refused"}`) === count;
    });
  {
    using client = await RawClient.open(server.port);
    const [denied, other, allowed] = ["09F11200 01", "09F11300 01", "09F11400 01"];
    await client.write(...Array(100).fill(denied), allowed, ...Array(10).fill(other), denied, allowed);
    await refused(111);
    const accepted = { outcome: "accepted", pgn: 127252 };
    const first = [{ outcome: "policy", pgn: 127250 }, accepted, { outcome: "policy", pgn: 127251 }, accepted];
    assert.deepEqual(audits().splice(0), first);
    logged.length = 0;
    // A minute later the counts are due, and the next refusal has a line of its own again.
    clock.advance(61_000);
    await eventually("the counts", () => audits().length === 2);
    await client.write(denied, denied, denied);
    await refused(114);
  }
  // Its end of input: it is disconnected when there was nothing to send for 30 s.
  await eventually("the end", () => {
    clock.advance(500);
    return audits().length === 4;
  });
  assert.deepEqual(audits(), [
    { outcome: "policy", pgn: 127250, count: 100 },
    { outcome: "policy", pgn: 127251, count: 9 },
    { outcome: "policy", pgn: 127250 },
    { outcome: "policy", pgn: 127250, count: 2 },
  ]);
});

Deno.test("a client that is refused as fast as it writes gets through its allowance, and no further", async () => {
  let audits = 0;
  const log = new Logger({ format: "json", write: (line) => audits += line.includes(`"audit"`) ? 1 : 0 });
  const clock = new FakeClock();
  await using server = await start({ format: "ydraw", send: true }, { ...SENDING, sendEnabled: false, log, clock });
  using client = await RawClient.open(server.port);
  // Each for another reason: an audit line each, so that few bytes take a second.
  const pgns = Array.from({ length: 256 }, (_, index) => (0xff00 + index).toString(16));
  const lines = pgns.map((pgn) => `08${pgn}00 01`);
  await client.write(...lines);
  const refused = async () => await server.boat.metric(`vbg_gateway_written_total{result="refused"}`) ?? 0;
  await eventually("a part", async () => await refused() > 0);
  assert.ok(await refused() < 220, `${await refused()}`);
  await eventually("the rest", async () => {
    clock.advance(100);
    return await refused() === 256;
  });
  // The cost of the last piece is not waited for.
  assert.ok(clock.monoMs() >= 300, `${clock.monoMs()}`);
  assert.equal(audits, 256);
});

Deno.test("a PGN of another protocol, with the bit above those of NMEA 2000, does not get onto the bus", async () => {
  await using server = await start({ format: "n2kascii", send: true }, SENDING);
  using client = await RawClient.open(server.port);
  await client.write("A000000.000 01FF2 3F112 1020", "A000000.000 01FF2 1F112 1020");
  const written = (result: string) => server.boat.metric(`vbg_gateway_written_total{result="${result}"}`);
  await eventually("both", async () => await written("accepted") === 1 && await written("refused") === 1);
  await eventually("the allowed one", () => server.boat.heard[0]!.length === 1);
});

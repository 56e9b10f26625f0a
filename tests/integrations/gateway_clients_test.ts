// Clients of the gateway server that do not behave.
import assert from "node:assert/strict";
import { GATEWAY_FORMATS } from "../../src/integrations/mod.ts";
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

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import type { Nmea0183Settings } from "../../src/integrations/mod.ts";
import { encode } from "../../src/pgn/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { RawClient } from "../support/gateway_clients.ts";
import { message } from "../support/messages.ts";
import { HeldPort } from "../support/held_port.ts";

/** The longest source of a tag block: long lines fill buffers soon. */
const TAG_SOURCE = "ABCDEFGHIJKLMNO";
const TAG_LENGTH = `\\s:${TAG_SOURCE},c:1767323045*00\\`.length;
/** Both lines of a report of type 5. */
const LINES_LENGTH = "!AIVDM,2,1,0,A,,0*00\r\n!AIVDM,2,2,0,A,,2*00\r\n".length + 71 + 2 * TAG_LENGTH;
const HEADING = { heading_reference: "magnetic" };

/** A boat with an NMEA 0183 server on one TCP port. */
async function start(
  settings: Partial<Nmea0183Settings> = {},
  options: TestBoatOptions = {},
): Promise<AsyncDisposable & { boat: TestBoat; port: number }> {
  const held = HeldPort.take();
  const target = { protocol: "tcp", hostname: "127.0.0.1", port: held.port } as const;
  const boat = await TestBoat.start({ nmea0183: { targets: [target], ...settings }, ...options });
  return {
    boat,
    port: held.port,
    async [Symbol.asyncDispose]() {
      await boat[Symbol.asyncDispose]();
      held[Symbol.dispose]();
    },
  };
}

function say(boat: TestBoat, heading: number): void {
  boat.say({ pgn: 127250, src: 7, data: encode(127250, { ...HEADING, heading }) });
}

Deno.test("a TCP client gets sentences of what the bus says, with the chosen talker, and what it sends is ignored", async () => {
  await using server = await start({ sentences: ["HDM"], talker: "EC", intervalsMs: new Map([["HDM", 100]]) });
  using client = await RawClient.open(server.port);
  await client.write("$PCONFIG,SET*00");
  await eventually("a sentence", () => {
    say(server.boat, 1);
    return client.lines.length > 2;
  });
  // 1 rad.
  for (const line of client.lines) assert.equal(line, "$ECHDM,57.3,M*15");
  assert.ok((await server.boat.metric("vbg_nmea0183_ignored_total") ?? 0) > 0);
  assert.equal(await server.boat.metric("vbg_nmea0183_clients"), 1);
});

Deno.test("a tag block with source and time precedes each sentence where that is wanted", async () => {
  await using server = await start({ sentences: ["HDM"], tagSource: "VBG1" });
  using client = await RawClient.open(server.port);
  await eventually("a sentence", () => {
    say(server.boat, 1);
    return client.lines.length > 0;
  });
  const [, tag = "", sum] = /^\\(s:VBG1,c:\d{10})\*([0-9A-F]{2})\\\$IIHDM,57\.3,M\*/.exec(client.lines[0] ?? "") ?? [];
  const expected = [...tag].reduce((xor, character) => xor ^ character.charCodeAt(0), 0);
  assert.equal(sum, expected.toString(16).toUpperCase().padStart(2, "0"));
});

Deno.test("datagrams are sent to an address, one sentence each", async () => {
  const datagrams: string[] = [];
  const socket = createSocket("udp4", (message) => datagrams.push(message.toString()));
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const { port } = socket.address();
  await using server = await start({
    targets: [{ protocol: "udp", hostname: "127.0.0.1", port }],
    sentences: ["HDM", "HDG"],
    intervalsMs: new Map([["HDM", 100], ["HDG", 100]]),
  });
  try {
    await eventually("two datagrams", () => {
      say(server.boat, 1);
      return datagrams.length >= 2;
    });
    assert.deepEqual(datagrams.slice(0, 2).map((each) => each.slice(0, 6)), ["$IIHDG", "$IIHDM"]);
    assert.ok(datagrams.every((each) => each.indexOf("\r\n") === each.length - 2));
  } finally {
    socket.close();
  }
});

Deno.test("a client that does not read: others get everything, its drops are counted, and it is disconnected", async () => {
  const clock = new FakeClock();
  await using server = await start({ sentences: ["AIS"], tagSource: TAG_SOURCE, bufferBytes: 1_048_576 }, { clock });
  const { boat, port } = server;
  using lazy = await RawClient.open(port, { reads: false });
  using eager = await RawClient.open(port);
  const clients = () => boat.metric("vbg_nmea0183_clients");
  await eventually("both", async () => await clients() === 2);
  const dropped = async () => await boat.metric("vbg_nmea0183_dropped_total") ?? 0;
  const data = encode(129794, { message_id: 5, user_id: 211_000_000, name: "AURORA" });
  const report = message({ pgn: 129794, src: 9, data });
  let fed = 0;
  while (await dropped() === 0) {
    for (let index = 0; index < 3000; index++) {
      fed++;
      boat.boat.broker.publish(report);
    }
    await eventually("the others", () => eager.text.length === fed * LINES_LENGTH);
  }
  const { components } = await boat.get<{ components: Record<string, { status: string }> }>("/healthz");
  assert.equal(components.nmea0183?.status, "ok");
  await eventually("the end of the connection", async () => {
    clock.advance(5000);
    return await clients() === 1;
  });
  await lazy.read();
  assert.ok(lazy.lines.length < 2 * fed);
  assert.ok(
    lazy.lines.every((line) =>
      /^\\s:[A-O]{15},c:\d{10}\*[0-9A-F]{2}\\!AIVDM,2,[12],\d,A,[0-W`-w]+,[02]\*[0-9A-F]{2}$/.test(line)
    ),
    "whole lines",
  );
});

import assert from "node:assert/strict";
import { GatewayBus, type RecordingFormat, splitFastPacket } from "../../../src/can/mod.ts";
import { tcpLink } from "../../../src/can/gateways/tcp_link.ts";
import { buildCanId } from "../../../src/frame/mod.ts";
import { GatewayPeer } from "../../support/gateway_peer.ts";
import { GatewaySink } from "../../support/gateway_sink.ts";
import { needs } from "../../support/needs.ts";
import { until } from "../../contract/recorder.ts";

const NET = needs({ permissions: ["net"] });
const FAST = buildCanId({ prio: 6, pgn: 129029, src: 0x23, dst: 255 });
const ADDRESSED = buildCanId({ prio: 6, pgn: 59904, src: 0x23, dst: 0x10 });
const LONG = Uint8Array.from({ length: 20 }, (_, i) => i + 7);

/** Runs a test with a bus, and gives what the gateway was told. */
async function toldTo(
  format: RecordingFormat,
  body: (parts: { bus: GatewayBus; sink: GatewaySink; peer: GatewayPeer }) => Promise<void>,
): Promise<Uint8Array> {
  const peer = new GatewayPeer();
  const bus = new GatewayBus("wifi0", { openLink: tcpLink({ hostname: "127.0.0.1", port: peer.port }), format });
  const sink = new GatewaySink();
  await bus.open(sink);
  try {
    await body({ bus, sink, peer });
  } finally {
    await bus.close();
    await until("the end is seen", () => peer.open === 0);
    await peer.stop();
  }
  return Uint8Array.from(peer.heard);
}

async function sendSome(bus: GatewayBus): Promise<void> {
  await bus.send(ADDRESSED, Uint8Array.of(0x10, 0xee, 0x00));
  for (const part of splitFastPacket(LONG, 3)) await bus.send(FAST, part);
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("a Yacht Devices gateway is told each frame in a line", NET, async () => {
  const told = await toldTo("ydwg", async ({ bus, peer }) => {
    await sendSome(bus);
    await until("all is told", () => peer.text.split("\r\n").length === 5);
  });
  assert.equal(
    text(told),
    "18EA1023 10 EE 00\r\n19F80523 60 14 07 08 09 0A 0B 0C\r\n19F80523 61 0D 0E 0F 10 11 12 13\r\n" +
      "19F80523 62 14 15 16 17 18 19 1A\r\n",
  );
});

Deno.test("a MiniPlex is told each frame in a sentence, and we receive our frames", NET, async () => {
  const told = await toldTo("mxpgn", async ({ bus, sink }) => {
    await sendSome(bus);
    await until("all is received", () => sink.heard.length === 4);
  });
  assert.deepEqual(text(told).split("\r\n"), [
    "$MXPGN,00EA00,E310,00EE10*12",
    "$MXPGN,01F805,E8FF,0C0B0A0908071460*12",
    "$MXPGN,01F805,E8FF,131211100F0E0D61*17",
    "$MXPGN,01F805,E8FF,1A19181716151462*12",
    "",
  ]);
});

Deno.test("a gateway of N2K ASCII is told whole messages in lines, and we hear our frames", NET, async () => {
  const told = await toldTo("n2k-ascii", async ({ bus, sink }) => {
    await sendSome(bus);
    await until("all is heard", () => sink.messages.length === 2);
    assert.deepEqual(sink.messages, ["18ea1023 10ee00", `19f80523 ${LONG.toHex()}`]);
    assert.equal(bus.counters.sent, 4);
  });
  assert.equal(
    text(told),
    `A000000.000 23106 0EA00 10EE00\r\nA000000.000 23FF6 1F805 ${LONG.toHex().toUpperCase()}\r\n`,
  );
});

Deno.test("an Actisense gateway is told to tell everything, and then whole messages in form 94", NET, async () => {
  const told = await toldTo("actisense", async ({ bus, sink }) => {
    await sendSome(bus);
    await until("all is heard", () => sink.messages.length === 2);
  });
  const hello = "1002a103110200491003";
  // What is 0x10 stands twice: destination and first byte of the payload.
  const request = "100294090600ea00101003" + "1010ee00" + "62" + "1003";
  const body = [0x94, 26, 6, 0x05, 0xf8, 0x01, 255, 20, ...LONG];
  const sum = -body.reduce((a, b) => a + b, 0) & 0xff;
  const long = Uint8Array.from([...body, sum].flatMap((byte) => byte === 0x10 ? [byte, byte] : [byte])).toHex();
  assert.equal(told.toHex(), `${hello}${request}1002${long}1003`);
});

Deno.test("an iKonvert is told to begin, and then whole messages in sentences", NET, async () => {
  const told = await toldTo("ikonvert", async ({ bus, sink }) => {
    await sendSome(bus);
    await until("all is heard", () => sink.messages.length === 2);
  });
  assert.equal(
    text(told),
    `$PDGY,N2NET_INIT,ALL\r\n!PDGY,59904,16,EO4A\r\n!PDGY,129029,255,${LONG.toBase64()}\r\n`,
  );
});

Deno.test("gateways of whole messages refuse sessions, what is too long, and what is no frame", NET, async () => {
  const told = await toldTo("ikonvert", async ({ bus, sink }) => {
    const control = (dst: number) => buildCanId({ prio: 7, pgn: 60416, src: 0x23, dst });
    const data = buildCanId({ prio: 7, pgn: 60160, src: 0x23, dst: 255 });
    await assert.rejects(bus.send(control(0x10), Uint8Array.of(16, 30, 0, 5, 255, 0x14, 0xf0, 1)), /not sessions/);
    await assert.rejects(bus.send(FAST, Uint8Array.of(1)), /not a frame of a message/);
    // 300 bytes are 43 packets.
    await bus.send(control(255), Uint8Array.of(32, 300 & 0xff, 300 >> 8, 43, 255, 0x05, 0xf8, 1));
    for (let i = 1; i < 43; i++) await bus.send(data, Uint8Array.of(i, 1, 2, 3, 4, 5, 6, 7));
    await assert.rejects(bus.send(data, Uint8Array.of(43, 1, 2, 3, 4, 5, 6, 7)), /at most 223 bytes/);
    await bus.send(control(255), Uint8Array.of(32, 10, 0, 2, 255, 0x05, 0xf8, 1));
    for (const i of [1, 2]) await bus.send(data, Uint8Array.of(i, 1, 2, 3, 4, 5, 6, 7));
    await until("it is sent", () => sink.messages.length === 1);
    assert.equal(bus.counters.sendFailed, 3);
  });
  assert.equal(text(told), "$PDGY,N2NET_INIT,ALL\r\n!PDGY,129029,255,AQIDBAUGBwECAw==\r\n");
});

Deno.test("a frame that looks like the beginning of a message is sent when nothing follows", NET, async () => {
  const id = buildCanId({ prio: 6, pgn: 127510, src: 0x23, dst: 255 });
  const told = await toldTo("ikonvert", async ({ bus, peer }) => {
    await bus.send(id, Uint8Array.of(0, 8, 1, 2, 3, 4, 5, 6));
    await until("it is told", () => peer.text.includes("127510"));
  });
  assert.equal(text(told), "$PDGY,N2NET_INIT,ALL\r\n!PDGY,127510,255,AAgBAgMEBQY=\r\n");
});

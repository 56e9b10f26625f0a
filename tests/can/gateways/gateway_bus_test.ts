import assert from "node:assert/strict";
import { BusError, type BusState, GatewayBus, type GatewayBusOptions } from "../../../src/can/mod.ts";
import { tcpLink } from "../../../src/can/gateways/tcp_link.ts";
import { GatewayPeer } from "../../support/gateway_peer.ts";
import { GatewaySink } from "../../support/gateway_sink.ts";
import { HeldPort } from "../../support/held_port.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { pause, Recorder, until } from "../../contract/recorder.ts";

const NET = needs({ permissions: ["net"] });
const ID = 0x09f80102;
const QUICK = { firstMs: 20, capMs: 80 };

/** A line of Yacht Devices' RAW mode. */
function raw(value: number): string {
  return `00:00:0${value % 10}.000 R 09F80102 ${value.toString(16).padStart(2, "0")}\r\n`;
}

/** Runs a test with a gateway and a bus on it, opened. */
function withGateway(
  options: Omit<GatewayBusOptions, "openLink">,
  body: (parts: { peer: GatewayPeer; bus: GatewayBus; sink: GatewaySink }) => Promise<void>,
): () => Promise<void> {
  return async () => {
    using held = HeldPort.take();
    const peer = new GatewayPeer(undefined, held);
    const openLink = tcpLink({ hostname: "127.0.0.1", port: peer.port });
    const bus = new GatewayBus("wifi0", { openLink, reconnect: QUICK, ...options });
    const sink = new GatewaySink();
    try {
      await bus.open(sink);
      await until("it is connected", () => peer.open === 1);
      await body({ peer, bus, sink });
    } finally {
      await bus.close();
      await peer.stop();
    }
  };
}

const messageOf = (state: BusState) => "message" in state ? state.message : "";
const values = (sink: Recorder) => sink.frames.map(({ data }) => data[0]);

Deno.test(
  "a gateway that goes and comes back is missing, and found again by itself",
  NET,
  withGateway({ format: "ydwg" }, async ({ peer, bus, sink }) => {
    await peer.say(raw(1) + raw(2).slice(0, 20));
    await until("the first line came", () => sink.frames.length === 1);
    await peer.stop();
    await until("it is missing", () => bus.state.type === "missing");
    assert.equal(messageOf(bus.state), "the gateway closed the connection");
    await assert.rejects(bus.send(ID, Uint8Array.of(1)), {
      name: "BusError",
      message: 'Cannot send on bus "wifi0": it is missing',
    });
    await pause(50);
    peer.start();
    await until("it is found", () => bus.state.type === "up" && peer.open === 1);
    await peer.say(raw(3));
    await until("the next line came", () => sink.frames.length === 2);
    assert.deepEqual(values(sink), [1, 3]);
    assert.deepEqual(sink.stateNames, ["error-active", "missing", "error-active"]);
    // The line that was cut off.
    assert.equal(bus.counters.ignored, 1);
  }),
);

Deno.test("a gateway that is not there when the bus is opened is looked for", NET, async () => {
  using held = HeldPort.take();
  const peer = new GatewayPeer(undefined, held);
  await peer.stop();
  const openLink = tcpLink({ hostname: "127.0.0.1", port: peer.port });
  const bus = new GatewayBus("wifi0", { openLink, reconnect: QUICK, format: "ydwg" });
  const sink = new GatewaySink();
  await bus.open(sink);
  assert.equal(bus.state.type, "missing");
  assert.notEqual(messageOf(bus.state), "");
  await assert.rejects(bus.open(sink), BusError);
  peer.start();
  await until("it is found", () => bus.state.type === "up");
  await bus.close();
  await peer.stop();
  assert.deepEqual(sink.stateNames, ["missing", "error-active", "closed"]);
  const noLink = () => Promise.reject(new Error("no such device"));
  const strict = new GatewayBus("usb0", { openLink: noLink, mustExist: true });
  await assert.rejects(strict.open(sink), { name: "BusError", message: 'Cannot open bus "usb0": no such device' });
  assert.equal(strict.state.type, "closed");
});

Deno.test(
  "a gateway of another format than told is down, with what it says, until it can be read",
  NET,
  withGateway({ format: "ydwg" }, async ({ peer, bus, sink }) => {
    await peer.say("$GPGGA,1,2,3\r\n".repeat(120));
    await until("it is down", () => bus.state.type === "down");
    assert.equal(messageOf(bus.state), 'the received data cannot be read as ydwg: "$GPGGA,1,2,3"');
    await until("it is tried again", () => peer.connections >= 2 && peer.open === 1);
    await pause(100);
    assert.equal(bus.state.type, "down");
    await assert.rejects(bus.send(ID, Uint8Array.of(1)), /no readable data/);
    await peer.say(raw(1));
    await until("it is understood", () => bus.state.type === "up");
    assert.deepEqual(values(sink), [1]);
    assert.deepEqual(sink.stateNames, ["error-active", "down", "error-active"]);
    assert.equal(bus.counters.ignored, 120);
  }),
);

Deno.test(
  "what has an unknown format is told, and the gateway is tried again",
  NET,
  withGateway({}, async ({ peer, bus }) => {
    assert.equal(messageOf(bus.state), "connected; the format is not detected yet");
    await assert.rejects(bus.send(ID, Uint8Array.of(1)), /the gateway's format is not detected yet/);
    await peer.say(new Random(1).bytes(5000).map((byte) => byte | 0x80));
    await until("it is told", () => /unknown format/.test(messageOf(bus.state)));
    await until("it is tried again", () => peer.connections >= 2 && peer.open === 1);
    await peer.say(raw(1));
    await until("its format shows", () => bus.state.type === "up");
    await bus.send(ID, Uint8Array.of(7));
    await until("it is sent", () => peer.text === "09F80102 07\r\n");
  }),
);

Deno.test(
  "lines that cannot be read are counted, and those between them are delivered",
  NET,
  withGateway({ format: "ydwg" }, async ({ peer, bus, sink }) => {
    const random = new Random(5);
    const noise = (length: number) =>
      String.fromCharCode(...random.bytes(length).map((byte) => byte & 0x5f || 1)).replaceAll("\n", "?");
    for (let i = 0; i < 200; i++) await peer.say(`${raw(i)}!${noise(30)}\r\n`);
    await until("all came", () => sink.frames.length === 200 && bus.counters.ignored === 200);
    assert.deepEqual(values(sink), Array.from({ length: 200 }, (_, i) => i));
    assert.equal(bus.state.type, "up");
  }),
);

Deno.test(
  "a gateway that takes nothing keeps nobody from hearing, and what waits too long is given up",
  NET,
  withGateway({ format: "ydwg", patienceMs: 100, queueFrames: 50 }, async ({ peer, bus, sink }) => {
    peer.isDeaf = true;
    let failed = 0;
    // More than the buffers of both ends hold.
    const sends: Promise<void>[] = [];
    for (let round = 0; round < 4000 && failed === 0; round++) {
      for (let i = 0; i < 250; i++) sends.push(bus.send(ID, new Uint8Array(8)).catch(() => void failed++));
      await pause(1);
    }
    assert.ok(failed > 0);
    await Promise.all(sends);
    assert.equal(bus.counters.sendFailed, failed);
    assert.equal(bus.counters.sent, sends.length - failed);
    await peer.say(raw(1));
    await until("it is heard", () => sink.frames.length === 1);
    peer.isDeaf = false;
    await until("what was taken is sent", () => peer.text.split("\r\n").length - 1 === bus.counters.sent);
  }),
);

Deno.test(
  "a gateway that is silent for too long is connected to anew",
  NET,
  withGateway({ format: "ydwg", silenceMs: 120 }, async ({ peer, bus, sink }) => {
    await until("it is given up", () => bus.state.type === "missing");
    assert.equal(messageOf(bus.state), "nothing received for 0.12 s");
    await until("it is connected again", () => bus.state.type === "up" && peer.connections >= 2);
    await until("it is heard", () => {
      // On a busy machine it may have been silent for too long once more.
      peer.say(raw(1)).catch(() => {});
      return sink.frames.length > 0;
    });
  }),
);

Deno.test(
  "candump's lines are of one bus, and nothing can be sent",
  NET,
  withGateway({ format: "candump", bus: "can1" }, async ({ peer, bus, sink }) => {
    await peer.say("(1.0) can0 09F80102#01\n(1.1) can1 09F80102#02\n(1.2) can1 123#03\n(1.3) can2 09F80102#04\n");
    await until("all came", () => bus.counters.ignored === 3);
    assert.deepEqual(values(sink), [2]);
    await assert.rejects(bus.send(ID, Uint8Array.of(1)), {
      message: 'Cannot send on bus "wifi0": nothing can be sent in the format "candump"',
    });
    assert.equal(bus.counters.sendFailed, 1);
  }),
);

Deno.test("messages for which a sink has no place are counted, those of one frame come as frames", NET, async () => {
  const peer = new GatewayPeer();
  const openLink = tcpLink({ hostname: "127.0.0.1", port: peer.port });
  const bus = new GatewayBus("dy0", { openLink });
  const sink = new Recorder();
  await bus.open(sink);
  await until("it is connected", () => peer.open === 1);
  await peer.say("!PDGY,129025,2,3,255,1.1,AQIDBAUGBwg=\r\n!PDGY,129029,2,3,255,1.2,AQIDBAUGBwgJCg==\r\n");
  await until("both came", () => bus.counters.ignored === 1);
  assert.deepEqual(sink.frames.map(({ id, data }) => ({ id, data })), [{
    ...{ id: 0x09f80103, data: [1, 2, 3, 4, 5, 6, 7, 8] },
  }]);
  await bus.close();
  await peer.stop();
});

import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { type CanBus, createBus, createSourceBus, GatewayBus, parseBusSource } from "../../../src/can/mod.ts";
import { serialLink } from "../../../src/can/gateways/serial_link.ts";
import { GatewaySink } from "../../support/gateway_sink.ts";
import { HeldPort } from "../../support/held_port.ts";
import { allowed, needs } from "../../support/needs.ts";
import { startPtyPair } from "../../support/pty_pair.ts";
import { run, until } from "../../contract/recorder.ts";

const NET = needs({ permissions: ["net"] });
const SERIAL = needs({
  permissions: ["run", "read", "write"],
  programs: ["socat", "stty"],
  others: { "--allow-all": allowed("ffi") && allowed("net") },
});
const ID = 0x09f80102;

const raw = (value: number) => `00:00:00.000 R 09F80102 ${value.toString(16).padStart(2, "0")}`;
const values = (sink: GatewaySink) => sink.frames.map(({ data }) => data[0]);

function bound(address: string): Promise<Socket> {
  const socket = createSocket("udp4");
  return new Promise((resolve) => socket.bind(0, address, () => resolve(socket)));
}

const closed = (socket: Socket) => new Promise<void>((resolve) => socket.close(() => resolve()));

async function opened(source: string): Promise<{ bus: CanBus; sink: GatewaySink }> {
  const bus = await createBus(source);
  const sink = new GatewaySink();
  await bus.open(sink);
  return { bus, sink };
}

Deno.test("UDP: each datagram is read for itself, also without an end of line", NET, async () => {
  using held = HeldPort.take();
  const [{ port }, gateway] = [held, await bound("127.0.0.1")];
  const { bus, sink } = await opened(`udp://:${port}`);
  assert.equal(bus.state.type, "down");
  for (const datagram of [raw(1), `${raw(2)}\r\n${raw(3)}\r\n`, "half a li", raw(4)]) {
    await new Promise<void>((resolve) => gateway.send(datagram, port, "127.0.0.1", () => resolve()));
  }
  await until("all came", () => sink.frames.length === 4 && bus.counters.ignored === 1);
  assert.deepEqual(values(sink), [1, 2, 3, 4]);
  await bus.close();
  await closed(gateway);
});

Deno.test("UDP: of one gateway nobody else is heard, and what is sent goes to its port", NET, async () => {
  using held = HeldPort.take();
  const [{ port }, gateway, other] = [held, await bound("127.0.0.1"), await bound("127.0.0.2")];
  const heard: string[] = [];
  gateway.on("message", (bytes: Uint8Array) => heard.push(new TextDecoder().decode(bytes)));
  const { bus, sink } = await opened(`udp://127.0.0.1:${gateway.address().port}?listen=${port}#ydwg`);
  await bus.send(ID, Uint8Array.of(9));
  await until("it is told", () => heard.length === 1);
  assert.deepEqual(heard, ["09F80102 09\r\n"]);
  other.send(raw(1), port, "127.0.0.1");
  await new Promise<void>((resolve) => gateway.send(raw(2), port, "127.0.0.1", () => resolve()));
  await until("it is heard", () => sink.frames.length > 0);
  assert.deepEqual(values(sink), [2]);
  await bus.close();
  await Promise.all([closed(gateway), closed(other)]);
});

Deno.test("UDP: who listens to everybody answers who spoke last, and nobody before that", NET, async () => {
  using held = HeldPort.take();
  const [{ port }, gateway] = [held, await bound("127.0.0.1")];
  const heard: string[] = [];
  gateway.on("message", (bytes: Uint8Array) => heard.push(new TextDecoder().decode(bytes)));
  const { bus, sink } = await opened(`udp://:${port}`);
  await assert.rejects(bus.send(ID, Uint8Array.of(1)), /is not detected yet/);
  gateway.send(raw(1), port, "127.0.0.1");
  await until("it is heard", () => sink.frames.length === 1);
  await bus.send(ID, Uint8Array.of(9));
  await until("it is told", () => heard.length === 1);
  assert.deepEqual(heard, ["09F80102 09\r\n"]);
  await bus.close();
  await closed(gateway);
});

Deno.test("UDP: a port that is taken is told, and tried again", NET, async () => {
  const taken = await bound("0.0.0.0");
  const { bus, sink } = await opened(`udp://:${taken.address().port}#ydwg`);
  const { state } = bus;
  assert.ok(state.type === "missing" && /EADDRINUSE/.test(state.message), JSON.stringify(state));
  await closed(taken);
  await until("it is free", () => bus.state.type === "up");
  await bus.close();
  assert.deepEqual(sink.stateNames, ["missing", "error-active", "closed"]);
});

Deno.test("serial: a gateway's line is read as it is, all 256 bytes of it, in both directions", SERIAL, async () => {
  const told: number[] = [];
  const pair = await startPtyPair((bytes) => told.push(...bytes));
  const bus = createSourceBus(parseBusSource(`serial://${pair.device}?baud=115200#actisense`));
  const sink = new GatewaySink();
  await bus.open(sink);
  const payload = Array.from({ length: 223 }, (_, i) => i);
  const body = [0x93, 234, 6, 0x05, 0xf8, 0x01, 255, 0x23, 0x0d, 0x0a, 0x11, 0x13, 223, ...payload];
  const sum = -body.reduce((a, b) => a + b, 0) & 0xff;
  const line = [...body, sum].flatMap((byte) => byte === 0x10 ? [byte, byte] : [byte]);
  pair.say(Uint8Array.of(0x10, 2, ...line, 0x10, 3));
  await until("it came", () => sink.messages.length === 1);
  assert.equal(sink.messages[0], `19f80523 ${Uint8Array.from(payload).toHex()}`);
  await bus.send(0x09f80102, Uint8Array.of(0, 3, 4, 10, 13, 17, 19, 255));
  await until("it is told", () => told.length > 10 && told.slice(-2).join() === "16,3" && told.includes(255));
  assert.match(Uint8Array.from(told).toHex(), /^1002a1031102004910031002940e020.f801ff080003040a0d1113ff..1003$/);
  await bus.close();
  await pair.stop();
});

Deno.test("serial: a bus closes though another program changed the device's settings", SERIAL, async () => {
  const pair = await startPtyPair(() => {});
  const bus = createSourceBus(parseBusSource(`serial://${pair.device}#ydwg`));
  const sink = new GatewaySink();
  await bus.open(sink);
  // From now on a read waits for a byte, as long as it takes.
  await run("stty", "-F", pair.device, "min", "1", "time", "0");
  pair.say(new TextEncoder().encode(`${raw(5)}\r\n`));
  await until("it is heard", () => sink.frames.length === 1);
  await bus.close();
  assert.equal(bus.state.type, "closed");
  // Ends the read on its thread.
  pair.say(Uint8Array.of(0x0a));
  await pair.stop();
});

Deno.test("serial: a device that is not there is an error at the beginning, and missing later", SERIAL, async () => {
  const nowhere = createSourceBus(parseBusSource("serial:///dev/nonesuch"));
  await assert.rejects(nowhere.open(new GatewaySink()), {
    name: "BusError",
    message: 'Cannot open bus "nonesuch": /dev/nonesuch: No such file or directory',
  });
  const first = await startPtyPair(() => {});
  let { device } = first;
  const reconnect = { firstMs: 20, capMs: 20 };
  const bus = new GatewayBus("usb0", {
    openLink: (signal) => serialLink({ path: device, baud: 115_200 })(signal),
    ...{ format: "ydwg", reconnect },
  });
  const sink = new GatewaySink();
  await bus.open(sink);
  await first.stop();
  await until("it is missing", () => bus.state.type === "missing");
  const second = await startPtyPair(() => {});
  device = second.device;
  await until("it is found", () => bus.state.type === "up");
  second.say(new TextEncoder().encode(`${raw(5)}\r\n`));
  await until("it is heard", () => sink.frames.length === 1);
  assert.deepEqual(values(sink), [5]);
  await bus.close();
  await second.stop();
});

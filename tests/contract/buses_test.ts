import { createSocket } from "node:dgram";
import assert from "node:assert/strict";
import { createSourceBus, LoopbackBus, parseBusSource } from "../../src/can/mod.ts";
import { GatewayPeer, type OtherSide, PeeredBus, ydwgEchoes } from "../support/gateway_peer.ts";
import { HeldPort } from "../support/held_port.ts";
import { allowed, needs } from "../support/needs.ts";
import { startPtyPair } from "../support/pty_pair.ts";
import { canBusSuite, Recorder, until } from "./can_bus.ts";

/** A gateway over TCP that takes what is sent in a format. */
function tcp(format: string): (name: string) => OtherSide {
  return (name) => {
    const echo = ydwgEchoes();
    const peer = new GatewayPeer((bytes) => {
      if (format === "ydwg") void peer.say(echo(bytes));
    });
    const source = parseBusSource(`tcp://127.0.0.1:${peer.port}?name=${name}#${format}`);
    return { bus: createSourceBus(source), stop: () => peer.stop() };
  };
}

/** A Yacht Devices gateway that is reached by datagrams. */
async function udp(name: string): Promise<OtherSide> {
  const [peer, held] = [createSocket("udp4"), HeldPort.take()];
  const port = await new Promise<number>((resolve) => {
    peer.bind(0, "127.0.0.1", () => resolve(peer.address().port));
  });
  const echo = ydwgEchoes();
  peer.on("message", (bytes: Uint8Array) => peer.send(echo(bytes), held.port, "127.0.0.1"));
  const source = parseBusSource(`udp://127.0.0.1:${port}?listen=${held.port}&name=${name}#ydwg`);
  const stop = async () => {
    await new Promise<void>((resolve) => peer.close(() => resolve()));
    held[Symbol.dispose]();
  };
  return { bus: createSourceBus(source), stop };
}

/** A Yacht Devices gateway at a serial device. */
async function serial(name: string): Promise<OtherSide> {
  const echo = ydwgEchoes();
  const pair = await startPtyPair((bytes, say) => say(new TextEncoder().encode(echo(bytes))));
  const bus = createSourceBus(parseBusSource(`serial://${pair.device}?name=${name}#ydwg`));
  return { bus, stop: () => pair.stop() };
}

const NET = needs({ permissions: ["net"] });
for (const format of ["ydwg", "mxpgn", "n2k-ascii", "actisense", "ikonvert"]) {
  const create = (name: string) => new PeeredBus(name, tcp(format));
  canBusSuite(`GatewayBus over TCP, ${format}`, { create, hasInterfaces: false, options: NET });
}
canBusSuite("GatewayBus over UDP, ydwg", {
  create: (name) => new PeeredBus(name, udp),
  hasInterfaces: false,
  options: NET,
});
canBusSuite("GatewayBus at a serial device, ydwg", {
  create: (name) => new PeeredBus(name, serial),
  hasInterfaces: false,
  options: needs({
    permissions: ["run", "read", "write", "net"],
    programs: ["socat", "stty"],
    others: { "--allow-all": allowed("ffi") },
  }),
});

canBusSuite("LoopbackBus", { create: (name) => new LoopbackBus(name), hasInterfaces: false });

Deno.test("LoopbackBus: whoever throws keeps nobody else from hearing the rest", async () => {
  const bus = new LoopbackBus("can0");
  const sink = new Recorder();
  const heard: number[] = [];
  bus.attach(() => {
    throw new Error("boom");
  });
  bus.attach(({ data }) => heard.push(data[0] ?? 0));
  await bus.open(sink);
  for (const value of [1, 2, 3]) bus.inject(7, Uint8Array.of(value));
  await until("all were heard", () => heard.length >= 3);
  assert.deepEqual(heard, [1, 2, 3]);
  assert.deepEqual(sink.frames.map(({ data }) => data[0]), [1, 2, 3]);
  assert.deepEqual(sink.stateNames, ["error-active", "down", "error-active"]);
  await bus.close();
  bus.inject(7, Uint8Array.of(4));
  await until("what is put on a closed bus is heard by others", () => heard.length >= 4);
  assert.equal(bus.state.type, "closed");
});

Deno.test("LoopbackBus: a frame of more than 8 bytes cannot be put on the bus", () => {
  const bus = new LoopbackBus("can0");
  assert.throws(() => bus.inject(7, new Uint8Array(9)), RangeError);
});

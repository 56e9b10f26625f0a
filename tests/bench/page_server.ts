// The server that a page under measurement shows: a boat with a journal in a directory, on a loopback bus with the devices
// of the simulated boat. Their time runs faster, so that so many messages a second are sent. With ports it has a gateway server and an NMEA 0183 server. Prints its port, and waits to
// be ended.
import { systemClock } from "../../src/base/mod.ts";
import { startBoat } from "../../src/boat/mod.ts";
import { Assembler, LoopbackBus } from "../../src/can/mod.ts";
import { SimulatedBoat } from "../../src/simulator/mod.ts";

const [directory = ".", messagesPerSecond = "300", gatewayPort, nmea0183Port] = Deno.args;
const tcp = (port: string) => ({ protocol: "tcp", hostname: "127.0.0.1", port: Number(port) }) as const;
const PACE_MS = 5;
const COUNTED_MS = 120_000;

/** Messages that the simulated boat sends in a second of its own time. */
function usualRate(): number {
  let messages = 0;
  const assembler = new Assembler(() => messages++);
  const boat: SimulatedBoat = new SimulatedBoat({
    clock: { wallUs: () => 0, monoMs: () => 0 },
    send: (id, data) => assembler.push({ id, timeUs: 0, monoMs: boat.nowMs, data, offset: 0, length: data.length }),
  });
  boat.advance(COUNTED_MS);
  return messages / COUNTED_MS * 1000;
}

const speed = Number(messagesPerSecond) / usualRate();
const bus = new LoopbackBus("can0");
const boat = await startBoat({
  buses: [bus],
  listen: { hostname: "127.0.0.1", port: 0 },
  signalk: {},
  ...(gatewayPort !== undefined && { gateway: { targets: [{ ...tcp(gatewayPort), format: "ydraw" }] } }),
  ...(nmea0183Port !== undefined && { nmea0183: { targets: [tcp(nmea0183Port)] } }),
  stateDirectory: `${directory}/state`,
  journal: { directory: `${directory}/journal`, stateDirectory: `${directory}/state` },
});
const simulated = new SimulatedBoat({ clock: systemClock, send: (id, data) => bus.inject(id, data) });
bus.attach((frame) => simulated.receive(frame));
const start = performance.now();
setInterval(() => simulated.advance((performance.now() - start) * speed), PACE_MS);
console.log(boat.address.port);

// The gateway server under measurement: RATE FRAMES CLIENTS. Prints the port of its format ydraw, waits for the clients,
// and feeds the frames, whose payload is their number.
import { LoopbackBus } from "../../src/can/mod.ts";
import { startBoat } from "../../src/boat/boat.ts";
import { HeldPort } from "../support/held_port.ts";

const [framesPerSecond = 2000, frames = 0, clients = 0] = Deno.args.map(Number);
const PACE_MS = 2;

using held = HeldPort.take();
const bus = new LoopbackBus("can0");
const target = { protocol: "tcp", hostname: "127.0.0.1", port: held.port, format: "ydraw" } as const;
const boat = await startBoat({
  buses: [bus],
  listen: { hostname: "127.0.0.1", port: 0 },
  discovery: false,
  gateway: { targets: [target], maxClients: 1000 },
});
console.log(held.port);

async function connected(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${boat.address.port}/metrics`)).text();
  return Number(/^vbg_gateway_clients (\d+)/m.exec(text)?.[1]);
}
while (await connected() < clients) await new Promise((resolve) => setTimeout(resolve, 50));

const payload = new Uint8Array(8);
const number = new DataView(payload.buffer);
const start = performance.now();
let sent = 0;
await new Promise<void>((resolve) => {
  const timer = setInterval(() => {
    const due = Math.min(frames, (performance.now() - start) / 1000 * framesPerSecond);
    for (; sent < due; sent++) {
      number.setUint32(4, sent);
      bus.inject((2 << 26) | (127250 << 8) | (sent % 30), payload);
    }
    if (sent < frames) return;
    clearInterval(timer);
    resolve();
  }, PACE_MS);
});
await new Promise(() => setInterval(() => {}, 1000));

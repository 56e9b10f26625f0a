// The server under measurement: a boat on a loopback bus that carries frames at a steady rate. Each payload is the time
// of its sending, so that a client can tell how long it took. Prints its port, and then waits to be ended. With a rate,
// clients may send so many messages a second.
import { LoopbackBus } from "../../src/can/mod.ts";
import { startBoat } from "../../src/boat/boat.ts";

const [framesPerSecond = 2000, prefill = 0, sendRateLimit = 0] = Deno.args.map(Number);
const SOURCES = 30;
const PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];
const PACE_MS = 2;

const bus = new LoopbackBus("can0");
const boat = await startBoat({
  buses: [bus],
  listen: { hostname: "127.0.0.1", port: 0 },
  discovery: false,
  sendEnabled: sendRateLimit > 0,
  sendRateLimit,
});
console.log(boat.address.port);

const payload = new Uint8Array(8);
const time = new DataView(payload.buffer);
let sent = 0;
function send(): void {
  time.setFloat64(0, performance.timeOrigin + performance.now());
  const pgn = PGNS[sent % PGNS.length] ?? 0;
  bus.inject((2 << 26) | (pgn << 8) | (sent % SOURCES), payload);
  sent++;
}

for (let i = 0; i < prefill; i++) {
  send();
  if (i % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
}
const start = performance.now();
const already = sent;
setInterval(() => {
  const due = already + (performance.now() - start) / 1000 * framesPerSecond;
  while (sent < due) send();
}, PACE_MS);

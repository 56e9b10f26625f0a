// Program of the benchmark: a boat on a loopback bus that replicates to a cloud. Its argument is the JSON of
// BoatSettings. The payload of each frame is the time of its sending. Prints its port, and waits to be ended.
import { startBoat } from "../../src/boat/boat.ts";
import { LoopbackBus } from "../../src/can/mod.ts";
import type { ReplicationOptions } from "../../src/boat/replication.ts";

/** How the boat is. */
export interface BoatSettings {
  /** Its `journal` and `state` are in there, or will be. */
  directory: string;
  framesPerSecond: number;
  replication: ReplicationOptions;
}

const { directory, framesPerSecond, replication }: BoatSettings = JSON.parse(Deno.args[0] ?? "{}");
const SOURCES = 30;
const PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];
const PACE_MS = 2;

const bus = new LoopbackBus("can0");
const boat = await startBoat({
  buses: [bus],
  listen: { hostname: "127.0.0.1", port: 0 },
  discovery: false,
  stateDirectory: `${directory}/state`,
  journal: { directory: `${directory}/journal`, stateDirectory: `${directory}/state` },
  replication,
});
console.log(boat.address.port);

const payload = new Uint8Array(8);
const time = new DataView(payload.buffer);
const startMs = performance.now();
let sent = 0;
setInterval(() => {
  for (const due = (performance.now() - startMs) / 1000 * framesPerSecond; sent < due; sent++) {
    time.setFloat64(0, performance.timeOrigin + performance.now());
    bus.inject((2 << 26) | ((PGNS[sent % PGNS.length] ?? 0) << 8) | (sent % SOURCES), payload);
  }
}, PACE_MS);

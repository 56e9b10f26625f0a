// A boat server under measurement: DIRECTORY FRAMES_PER_SECOND [PARTS], where PARTS are some of doctor, blackbox,
// sources and evidence, with commas. It records what the simulated boat sends, whose time runs faster, and whose frames are
// the same for every server. Prints its port; SIGTERM ends it, after everything is written.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Clock, systemClock } from "../../src/base/mod.ts";
import { startBoat } from "../../src/boat/mod.ts";
import { LoopbackBus } from "../../src/can/mod.ts";
import { SimulatedBoat } from "../../src/simulator/mod.ts";
import { Random } from "../support/random.ts";

const [directory = ".", framesPerSecond = "2000", list = ""] = Deno.args;
const parts = new Set(list.split(","));
const PACE_MS = 5;
const COUNTED_MS = 120_000;
/** Files are signed when they are complete. */
const ROTATE_MS = 30_000;
const SHORTEST_FRAME_US = 200;
const LONGER_US = 400;

/** Frames that the simulated boat sends in a second of its own time. */
function usualRate(): number {
  let frames = 0;
  const boat = new SimulatedBoat({ clock: { wallUs: () => 0, monoMs: () => 0 }, send: () => frames++ });
  boat.advance(COUNTED_MS);
  return frames / COUNTED_MS * 1000;
}

/** Bytes that are in use, after everything else was collected. */
function bytesInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Times of a full bus, which delivers one frame after the other: how fast a server is does not show in what it records. */
function busClock(): Clock {
  const random = new Random(1);
  let lastUs = 0;
  const wallUs = () => lastUs = Math.max(lastUs + SHORTEST_FRAME_US + random.int(LONGER_US), systemClock.wallUs());
  return { wallUs, monoMs: systemClock.monoMs };
}

const speed = Number(framesPerSecond) / usualRate();
const bus = new LoopbackBus("can0", { clock: busClock() });
await Deno.mkdir(`${directory}/state`, { recursive: true });
const boat = await startBoat({
  buses: [bus],
  listen: { hostname: "127.0.0.1", port: 0 },
  stateDirectory: `${directory}/state`,
  journal: {
    directory: `${directory}/journal`,
    stateDirectory: `${directory}/state`,
    rotateDurationMs: ROTATE_MS,
    ...(parts.has("evidence") && { evidence: {} }),
  },
  doctor: parts.has("doctor"),
  ...(!parts.has("blackbox") && { blackBoxBytes: 0 }),
  ...(!parts.has("sources") && { sourceHistoryBytes: 0 }),
});
const simulated = new SimulatedBoat({ clock: systemClock, send: (id, data) => bus.inject(id, data) });
bus.attach((frame) => simulated.receive(frame));
const start = performance.now();
setInterval(() => simulated.advance((performance.now() - start) * speed), PACE_MS);
Deno.addSignalListener("SIGTERM", async () => {
  await Deno.writeTextFile(`${directory}/memory`, String(bytesInUse()));
  await boat.stop();
  Deno.exit(0);
});
console.log(boat.address.port);

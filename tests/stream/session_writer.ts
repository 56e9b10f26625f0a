/**
 * A program that makes 1000 sessions and acknowledges in all of them, round by round, each round on disk before the next
 * begins. Prints how many bytes the process has written: `{"made":…,"acked":…}`, and the longest holds of the event loop.
 *
 * Arguments: directory, rounds.
 */
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { compileFilter } from "../../src/filter/mod.ts";
import { FrameSource, Sessions } from "../../src/stream/mod.ts";
import { message } from "../support/messages.ts";

const SESSIONS = 1000;
const ENTRIES = 256;
const [directory = "", rounds = "10"] = Deno.args;

/** Bytes given to `write` by this process, of all files. */
function written(): number {
  const text = Deno.readTextFileSync("/proc/self/io");
  return Number(/^wchar: (\d+)$/m.exec(text)?.[1]);
}

/** Longest time in which no timer could run, milliseconds, since it was asked for last. */
function holdMeter(): () => number {
  let lastMs = performance.now();
  let longestMs = 0;
  setInterval(() => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 1);
  return () => {
    const longest = longestMs;
    longestMs = 0;
    return Math.round(longest);
  };
}

const broker = new Broker({ buses: ["can0"], ringFrames: 1024 });
const sessions = await Sessions.open({
  source: new FrameSource(broker),
  compile: (filter) => compileFilter(filter, { buses: broker.buses, manufacturerCode: Number }),
  clock: systemClock,
  log: silentLogger,
  limits: () => ({ maxSessions: SESSIONS, maxSessionsPerOwner: SESSIONS, maxTimeoutMs: 3_600_000 }),
  epoch: "e1",
  directory,
});
const hold = holdMeter();
const start = written();
for (let index = 0; index < SESSIONS; index++) {
  const name = Array.from(
    { length: ENTRIES },
    (_, entry) => `0x${(index * ENTRIES + entry).toString(16).padStart(16, "0")}`,
  );
  sessions.put(`client-${index}`, { filter: { name }, timeoutMs: 3_600_000 });
  // As requests would come: one after another.
  if (index % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
}
await new Promise((resolve) => setTimeout(resolve, 5));
hold();
await sessions.written();
await new Promise((resolve) => setTimeout(resolve, 5));
const made = written() - start;
const heldMakingMs = hold();
for (let round = 1; round <= Number(rounds); round++) {
  broker.publish(message());
  for (let index = 0; index < SESSIONS; index++) await sessions.ack(`client-${index}`, round);
  await sessions.written();
}
await new Promise((resolve) => setTimeout(resolve, 5));
const acked = written() - start - made;
const heldAckingMs = hold();
await sessions.stop();
console.log(JSON.stringify({ made, acked, heldMakingMs, heldAckingMs }));
Deno.exit(0);

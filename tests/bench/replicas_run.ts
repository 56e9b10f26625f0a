// Program of the benchmark: replicas of boats in one process. replicas_run.ts (turns|open) BOATS FRAMES, one line: JSON
// of `rssMb` (largest seen), `mbEach` (of one replica that is open), `framesPerSecond`.
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { RingPool } from "../../src/broker/mod.ts";
import { Replica } from "../../src/cloud/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { rssMb } from "./process.ts";

const SINGLE_PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];
const [kind, boats, frames] = [Deno.args[0], Number(Deno.args[1]), Number(Deno.args[2])];
const pool = new RingPool();
const folder = await Deno.makeTempDir({ prefix: "vbg_bench_" });
const data = new Uint8Array(64);
const message: Message = { bus: 0, pgn: 0, id: 0, timeUs: 0, monoMs: 0, data, offset: 0, length: 8 };
let busyMs = 0;

async function openReplica(boat: number): Promise<Replica> {
  const directory = `${folder}/boat-${boat}`;
  await Deno.mkdir(directory);
  return await Replica.open({
    ...{ id: `boat-${boat}`, directory, epoch: "a1".repeat(16), buses: ["can0"], head: 0 },
    index: await JournalIndex.open(directory, { log: silentLogger }),
    ...{ ringFrames: 65_536, maxValues: 65_536, deviceIdleTimeoutMs: 300_000, pool },
    ...{ clock: systemClock, log: silentLogger },
    sessionLimits: () => ({ maxSessions: 100, maxSessionsPerOwner: 100, maxTimeoutMs: 3_600_000 }),
  });
}

/** Messages of thirty devices, one in ten of them 43 bytes long. */
function feed(replica: Replica): void {
  const start = performance.now();
  for (let seq = 1; seq <= frames; seq++) {
    const isLong = seq % 10 === 9;
    message.pgn = isLong ? 129029 : SINGLE_PGNS[seq % 10] ?? 0;
    message.id = (2 << 26) | (message.pgn << 8) | (seq * 7 % 31);
    message.timeUs = 1.7e15 + seq * 500;
    message.length = isLong ? 43 : 8;
    replica.publish(seq, message);
  }
  busyMs += performance.now() - start;
}

const before = rssMb(Deno.pid);
let most = 0;
const open: Replica[] = [];
for (let boat = 0; boat < boats; boat++) {
  const replica = await openReplica(boat);
  feed(replica);
  most = Math.max(most, rssMb(Deno.pid));
  if (kind === "turns") await replica.stop();
  else open.push(replica);
}
const now = rssMb(Deno.pid);
await Deno.remove(folder, { recursive: true });
const framesPerSecond = boats * frames / busyMs * 1000;
console.log(JSON.stringify({ rssMb: Math.max(most, now), mbEach: (now - before) / boats, framesPerSecond }));

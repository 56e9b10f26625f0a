import { report } from "./figure.ts";
import { startProcess } from "./process.ts";

/** What a run prints; see `replicas_run.ts`. */
interface Run {
  rssMb: number;
  mbEach: number;
  framesPerSecond: number;
}

async function run(kind: "turns" | "open", { boats, frames }: { boats: number; frames: number }): Promise<Run> {
  const process = await startProcess("./replicas_run.ts", [kind, String(boats), String(frames)]);
  await process.stop();
  return JSON.parse(process.line);
}

/** What the replicas of many boats cost, each case in a process of its own. */
export async function replicasBench(): Promise<void> {
  const turns = await run("turns", { boats: 1000, frames: 2000 });
  report({ name: "1000 replicas, one after the other", value: turns.rssMb, unit: "MB", bar: "<= 250" });
  const full = await run("open", { boats: 80, frames: 150_000 });
  report({ name: "a replica with a full ring", value: full.mbEach, unit: "MB", bar: "<= 4" });
  report({ name: "replica, live frames", value: full.framesPerSecond, unit: "frames/s" });
  const heard = await run("open", { boats: 400, frames: 2000 });
  report({ name: "a replica that has heard 2000 frames", value: heard.mbEach, unit: "MB" });
  const empty = await run("open", { boats: 400, frames: 0 });
  report({ name: "a replica that has heard nothing", value: empty.mbEach, unit: "MB" });
}

import { newStoredFrame } from "@vessel/gateway/frame";
import {
  type Clock,
  type Filter,
  findRecorded,
  Logger,
  readRecorded,
  RecordedFilter,
  type RecordedInput,
} from "@vessel/gateway/recordings";
import { StoredDump } from "./dump_frame.ts";
import type { DumpView } from "./dump_view.ts";
import { Progress } from "./progress.ts";
import type { Output } from "./terminal.ts";
import { untilStopped } from "./until_stopped.ts";

/** What is read, and how. */
export interface OfflineDump {
  paths: readonly string[];
  filter: Filter;
  view: DumpView;
  /** Where progress is shown; undefined: nowhere. */
  progressOutput: Output | undefined;
  note: (text: string) => void;
  signal: AbortSignal;
  clock: Clock;
}

/** Frames between two looks at who has fallen silent. */
const FRAMES_A_TICK = 256;

/** Shows recordings, one after the other. @throws {OfflineError} one cannot be read */
export async function dumpOffline(dump: OfflineDump): Promise<void> {
  const inputs: RecordedInput[] = [];
  for (const path of dump.paths) inputs.push(await findRecorded(path));
  const progress = progressOf(inputs, dump);
  try {
    await showParts(inputs, { ...dump, progress });
  } finally {
    progress?.bar.done();
  }
}

async function showParts(
  inputs: readonly RecordedInput[],
  { filter, view, signal, note, progress }: OfflineDump & { progress: ReturnType<typeof progressOf> },
): Promise<void> {
  const onSummary = (path: string, { bad }: { bad: number }) => {
    if (bad > 0) note(`"${path}": ${bad} damaged ${bad === 1 ? "line" : "lines"} passed over`);
  };
  const log = new Logger({ level: "warn", format: "text", write: (line) => note(line.trimEnd()) });
  const frames = new RecordedFilter(filter, {
    learn: ({ bus, src, device }, names) => view.devices.learn(names[bus], src, device),
  });
  const stored = newStoredFrame();
  let total = 0;
  for await (const part of untilStopped(readRecorded(inputs, { log, onSummary }), signal)) {
    // A new one where buses may have other names: what has no bus must not have that of the part before.
    const frame = new StoredDump();
    const names = frames.enter(part.buses);
    const before = total;
    while (part.next(stored, frames.learn)) {
      total++;
      if (frames.accepts(stored)) {
        const full = view.show(frame.load(stored, names[stored.bus]));
        if (full) await full;
      }
      if (total % FRAMES_A_TICK === 0) await view.tick(Math.floor(stored.timeUs / 1000));
    }
    progress?.bar.add(progress.isOfBytes ? part.bytes : total - before);
  }
  if (total > 0) await view.tick(Math.floor(stored.timeUs / 1000));
  if (total === 0) note("there are no frames in it");
}

/** A bar: of bytes where all are files whose size is known. */
function progressOf(
  inputs: readonly RecordedInput[],
  { progressOutput: output, clock }: Pick<OfflineDump, "progressOutput" | "clock">,
): { bar: Progress; isOfBytes: boolean } | undefined {
  if (output === undefined) return undefined;
  const isOfBytes = inputs.every(({ kind }) => kind === "journal");
  const total = inputs.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  const bar = new Progress({ output, clock, ...(isOfBytes ? { total, unit: "bytes" } : { unit: "frames" }) });
  return { bar, isOfBytes };
}

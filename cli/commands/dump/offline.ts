import { pause } from "@vessel/gateway/base";
import { newStoredFrame } from "@vessel/gateway/frame";
import {
  type Clock,
  type Filter,
  readRecorded,
  type RecordedDevice,
  RecordedFilter,
  type RecordedInput,
  RecordedMonotonic,
} from "@vessel/gateway/recordings";
import { untilStopped } from "../../program/interrupt.ts";
import type { Output } from "../../program/terminal.ts";
import { StoredDump } from "./frame.ts";
import {
  findInputs,
  type InputProgress,
  progressOf,
  type RecordedChoice,
  summaryNote,
  warningsTo,
} from "./recorded_inputs.ts";
import type { DumpView } from "./view.ts";

/** Inputs, filters and output. */
export interface OfflineDump extends RecordedChoice {
  filter: Filter;
  view: DumpView;
  /** Where progress is shown; undefined: nowhere. */
  progressOutput: Output | undefined;
  /** Do not report pauses. */
  isQuiet?: boolean;
  /** Factor of the recorded speed; 0, the default: as fast as possible. */
  speed?: number;
  /** Skip earlier frames, microseconds since 1970. */
  startUs?: number | undefined;
  clock: Clock;
}

/** Longer pauses are reported, milliseconds. */
const REPORTED_PAUSE_MS = 60_000;
/** Longest single timer, milliseconds. */
const MAX_TIMER_MS = 3_600_000;
/** Frames between two checks for silent devices. */
const FRAMES_A_TICK = 256;

/** Shows recordings, one after the other. @throws {OfflineError} one cannot be read */
export async function dumpOffline(dump: OfflineDump): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const inputs = await findInputs(dump, opened);
  const progress = progressOf(inputs, dump);
  try {
    await showParts(inputs, { ...dump, progress });
  } finally {
    progress?.bar.done();
  }
}

async function showParts(
  inputs: readonly RecordedInput[],
  { filter, view, signal, note, progress, speed = 0, startUs = -Infinity, ...shown }: OfflineDump & {
    progress: InputProgress | undefined;
  },
): Promise<void> {
  const pace = speed > 0 ? new Pace({ ...shown, speed, note, signal }) : undefined;
  const onSummary = summaryNote(note);
  const log = warningsTo(note);
  const wanted = new RecordedFilter(filter);
  let names: readonly string[] = [];
  const learn = (device: RecordedDevice) => {
    wanted.learn(device);
    view.devices.learn(names[device.bus], device.src, device.device);
  };
  const stored = newStoredFrame();
  let total = 0;
  for await (const part of untilStopped(readRecorded(inputs, { log, onSummary, fromUs: startUs }), signal)) {
    // A new frame object per set of bus names: a frame without a bus must not keep the previous part's bus.
    const frame = new StoredDump();
    // Frames do not name their bus where there is only one.
    names = part.buses.length > 1 ? part.buses : [];
    wanted.enter(part.buses);
    const before = total;
    while (part.next(stored, learn)) {
      total++;
      if (stored.timeUs < startUs) continue;
      const waiting = pace?.untilDue(stored.timeUs);
      if (waiting) await waiting;
      if (wanted.accepts(stored)) {
        const full = view.show(frame.load(stored, names[stored.bus]));
        if (full) await full;
      }
      if (total % FRAMES_A_TICK === 0) await view.tick(Math.floor(stored.timeUs / 1000));
    }
    progress?.bar.add(progress.isOfBytes ? part.bytes : total - before);
  }
  if (total > 0) await view.tick(Math.floor(stored.timeUs / 1000));
  if (total === 0) note("no frames found");
}

type PaceOptions = Pick<OfflineDump, "clock" | "note" | "signal" | "isQuiet"> & { speed: number };

/** Paces recorded frames. */
class Pace {
  readonly #options: PaceOptions;
  readonly #timeline = new RecordedMonotonic();
  #startMs: number | undefined;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Resolves when a frame is due; undefined: due now. @throws the signal's reason */
  untilDue(timeUs: number): Promise<void> | undefined {
    const { clock, speed } = this.#options;
    const afterMs = this.#timeline.at(timeUs) / speed;
    const nowMs = clock.monoMs();
    this.#startMs ??= nowMs;
    const waitMs = this.#startMs + afterMs - nowMs;
    return waitMs > 0 ? this.#wait(waitMs) : undefined;
  }

  async #wait(ms: number): Promise<void> {
    const { note, signal, isQuiet } = this.#options;
    if (ms >= REPORTED_PAUSE_MS && !isQuiet) note(`the next frame is due in ${Math.round(ms / 1000)} s`);
    for (let rest = ms; rest > 0; rest -= MAX_TIMER_MS) await pause(Math.min(rest, MAX_TIMER_MS), signal);
  }
}

import { type Clock, type DurableFile, errorText, type Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { type ClockEstimate, ClockEstimator, gnssTimeOf } from "../clock/mod.ts";
import { formatName, type Message, sourceOfId } from "../frame/mod.ts";
import type { ComponentHealth } from "../http/mod.ts";
import { clockFile, type ClockSpan, encodeSpans, epochWordOf, type Journal, trueTimeOf } from "../journal/mod.ts";

/** Dependencies of a {@linkcode ClockRepair}. */
export interface ClockRepairOptions {
  /** Directory of the journal. */
  directory: string;
  journal: Pick<Journal, "index" | "epoch">;
  /** Names of the devices that tell the time, and the last number of earlier starts. */
  broker: Pick<Broker, "registry" | "head">;
  clock: Clock;
  log: Logger;
}

/** No time before this is believed: when this software was made. */
const EARLIEST_US = Date.UTC(2026, 0, 1) * 1000;
/**
 * The wall clock counts as right within this, microseconds, and within this part of the time to the nearest reading: what an
 * estimate promises.
 */
const TOLERANCES = { good: { us: 50_000, rate: 5e-6 }, fair: { us: 500_000, rate: 50e-6 } } as const;
/** A change of the wall clock against the monotonic one that begins another part of the recording, microseconds. */
const STEP_US = 20_000;
/** A change that no late reading of a message explains, microseconds. */
const LARGE_STEP_US = 2_000_000;
/** Corrections are stored again when they change by this, microseconds: each time, what is made of the files is made again. */
const CHANGE_US = 25_000;
/** Rounds of housekeeping between two looks at the readings. */
const ROUNDS_PER_LOOK = 10;
/** Another part begins after this time, microseconds. */
const PART_US = 6 * 3_600_000_000;
/** The correction of a part that began so long ago stays: the estimate follows the newest day, microseconds. */
const SETTLED_US = 12 * 3_600_000_000;
/** Most parts of the recording of one start; of a clock that is set all the time, the first ones count. */
const MAX_PARTS = 1000;

/** Frames between two steps of the wall clock. */
interface Part {
  epochWord: number;
  firstSeq: number;
  /** Wall time minus monotonic time, microseconds. */
  offsetUs: number;
  /** When it began, monotonic microseconds. */
  fromUs: number;
  /** Its correction, once it stays: null: none. */
  settled?: ClockSpan | null;
}

/** Frames between two looks at the clock whose offsets are remembered, a power of two. */
const RECENT_FRAMES = 4096;

/** Wall time minus monotonic time of the newest frames, to find the one before which the wall clock was set. */
class RecentOffsets {
  readonly #seqs = new Float64Array(RECENT_FRAMES);
  readonly #offsetsUs = new Float64Array(RECENT_FRAMES);
  #count = 0;

  push(seq: number, offsetUs: number): void {
    const at = this.#count++ & (RECENT_FRAMES - 1);
    this.#seqs[at] = seq;
    this.#offsetsUs[at] = offsetUs;
  }

  clear(): void {
    this.#count = 0;
  }

  /** The first of the newest frames that are all nearer to `afterUs` than to `beforeUs`; undefined: none is. */
  firstAfter({ beforeUs, afterUs }: { beforeUs: number; afterUs: number }): number | undefined {
    let first: number | undefined;
    for (let back = 1; back <= Math.min(this.#count, RECENT_FRAMES); back++) {
      const at = (this.#count - back) & (RECENT_FRAMES - 1);
      const offsetUs = this.#offsetsUs[at] ?? NaN;
      if (!(Math.abs(offsetUs - afterUs) < Math.abs(offsetUs - beforeUs))) return first;
      first = this.#seqs[at];
    }
    return first;
  }
}

/**
 * Corrects the times of what was recorded since the start while the wall clock was wrong, by GNSS messages. The journal keeps
 * what it has; its readers get the corrections, which are stored beside it.
 */
export class ClockRepair {
  readonly #options: ClockRepairOptions;
  readonly #estimator = new ClockEstimator({ earliestUs: EARLIEST_US });
  readonly #file: DurableFile;
  /** Corrections of earlier starts. */
  readonly #before: readonly ClockSpan[];
  readonly #parts: Part[] = [];
  readonly #recent = new RecentOffsets();
  #own: readonly ClockSpan[] = [];
  #estimate: ClockEstimate | undefined;
  #errorUs = 0;
  /** Whether the clock is wrong now by more than the estimate may be. */
  #isWrong = false;
  /** Time of the first and the last reading, monotonic microseconds. */
  readonly #heard = { fromUs: Infinity, toUs: -Infinity };
  #round = 0;
  #head = 0;
  #failure: string | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: ClockRepairOptions) {
    this.#options = options;
    this.#file = clockFile(options.directory);
    const { journal: { index, epoch }, broker: { head } } = options;
    const isCurrent = ({ epochWord }: ClockSpan) => epochWord === epochWordOf(epoch);
    // One that went on when the process ended has all frames that it recorded.
    const endOf = (span: ClockSpan) => span.lastSeq ?? (isCurrent(span) ? head : Number.MAX_SAFE_INTEGER);
    this.#before = index.clock.spans.all.map((span) => ({ ...span, lastSeq: endOf(span) }));
    const isOpen = index.clock.spans.open !== undefined;
    index.clock.spans.replace(this.#before);
    index.noteClock();
    if (isOpen) this.#write(this.#before);
  }

  /** A message was recorded. */
  message(message: Message, seq: number): void {
    const { bus, id, pgn, timeUs, monoMs } = message;
    const offsetUs = timeUs - monoMs * 1000;
    const part = this.#parts.at(-1);
    // Numbers begin again with an epoch.
    const isNew = !part || seq <= this.#head || Math.abs(offsetUs - part.offsetUs) > LARGE_STEP_US;
    this.#head = seq;
    if (isNew) {
      // A later part begins after it.
      this.#recent.clear();
      this.#begin(seq);
    }
    this.#recent.push(seq, offsetUs);
    const gnssUs = gnssTimeOf(message);
    if (gnssUs === undefined) return;
    const src = sourceOfId(id);
    const name = this.#options.broker.registry.get(bus, src)?.name;
    this.#heard.fromUs = Math.min(this.#heard.fromUs, monoMs * 1000);
    this.#heard.toUs = monoMs * 1000;
    this.#estimator.add({ monoMs, gnssUs, source: `${bus} ${name === undefined ? src : formatName(name)}`, pgn });
  }

  /** Looks at the clocks. Must be called once a second. */
  runHousekeeping(): void {
    const part = this.#parts.at(-1);
    if (!part) return;
    const isOver = this.#options.clock.monoMs() * 1000 - part.fromUs > PART_US;
    const offsets = { beforeUs: part.offsetUs, afterUs: this.#offsetUs };
    const isSet = Math.abs(offsets.afterUs - offsets.beforeUs) > STEP_US;
    if (isSet) this.#begin(this.#recent.firstAfter(offsets) ?? this.#head + 1);
    else if (isOver) this.#begin(this.#head + 1);
    this.#recent.clear();
    if (++this.#round % ROUNDS_PER_LOOK === 0) this.#look();
  }

  /** State for health. */
  health(): ComponentHealth {
    if (this.#failure !== undefined) {
      return { status: "degraded", message: `corrections of recorded times cannot be stored: ${this.#failure}` };
    }
    const { quality, source, rejected } = this.#estimate ?? {};
    if (quality === "disputed") {
      return { status: "degraded", message: "GNSS receivers disagree about the time: nothing is corrected" };
    }
    const liars = (rejected ?? []).map((each) => `"${each.source}" is not believed (${each.reason})`);
    const seconds = this.#errorUs / 1e6;
    if (this.#isWrong) {
      const what = `the clock is wrong by ${seconds.toFixed(3)} s; recorded times are corrected by "${source}"`;
      return { status: "degraded", message: [what, ...liars].join("; ") };
    }
    return { status: "ok", ...(liars.length > 0 && { message: liars.join("; ") }) };
  }

  /** Stores the newest corrections. */
  async stop(): Promise<void> {
    this.#look();
    // The next start records with a clock of its own.
    const ended = this.#own.map((span) => ({ ...span, lastSeq: span.lastSeq ?? this.#head }));
    if (ended.length > 0) this.#write([...this.#before, ...ended]);
    await this.#writing;
  }

  get #offsetUs(): number {
    const { clock } = this.#options;
    return clock.wallUs() - clock.monoMs() * 1000;
  }

  #begin(firstSeq: number): void {
    if (this.#parts.length >= MAX_PARTS) {
      const right = this.#parts.findIndex(({ settled }) => settled === null);
      if (right < 0) return;
      this.#parts.splice(right, 1);
    }
    const { clock, journal: { epoch } } = this.#options;
    const fromUs = clock.monoMs() * 1000;
    this.#parts.push({ epochWord: epochWordOf(epoch), firstSeq, offsetUs: this.#offsetUs, fromUs });
  }

  #look(): void {
    const estimate = this.#estimate = this.#estimator.estimate();
    // What was found before the receivers disagreed stays.
    if (!estimate || estimate.quality === "disputed") return;
    const spans = this.#spansOf(estimate);
    const { clock, log } = this.#options;
    const nowUs = clock.monoMs() * 1000;
    this.#errorUs = clock.wallUs() - (estimate.offsetUs + nowUs * (1 + estimate.drift));
    this.#isWrong = Math.abs(this.#errorUs) > this.#toleranceUs(estimate, nowUs);
    if (!this.#isChanged(spans)) return;
    if (this.#own.length === 0 && spans[0]) {
      const { recordedUs, trueUs } = spans[0];
      const wrongBy = ((trueUs - recordedUs) / 1e6).toFixed(3);
      log.warn("recorded times are corrected", { source: estimate.source, wrongBySeconds: wrongBy });
    }
    this.#own = spans;
    this.#apply();
  }

  #spansOf(estimate: ClockEstimate): ClockSpan[] {
    const nowUs = this.#options.clock.monoMs() * 1000;
    return this.#parts.flatMap((part, at) => {
      if (part.settled !== undefined) return part.settled ?? [];
      const next = this.#parts[at + 1];
      const toleranceUs = this.#toleranceUs(estimate, part.fromUs);
      const span = spanOf(part, { estimate, next, toleranceUs });
      const isSettled = next && estimate.quality === "good" && nowUs - part.fromUs > SETTLED_US;
      if (isSettled) part.settled = span ?? null;
      return span ?? [];
    });
  }

  /** How far the estimate may be off at a monotonic time, microseconds. */
  #toleranceUs({ quality }: ClockEstimate, atUs: number): number {
    const { us, rate } = TOLERANCES[quality === "good" ? "good" : "fair"];
    const { fromUs, toUs } = this.#heard;
    return us + rate * Math.max(0, fromUs - atUs, atUs - toUs);
  }

  /** True if a recorded time has another true one now. */
  #isChanged(spans: readonly ClockSpan[]): boolean {
    if (spans.length !== this.#own.length) return true;
    const nowUs = this.#options.clock.wallUs();
    return spans.some((span, at) => {
      const before = this.#own[at];
      if (!before || before.firstSeq !== span.firstSeq || before.lastSeq !== span.lastSeq) return true;
      const differs = (timeUs: number) => Math.abs(trueTimeOf(timeUs, span) - trueTimeOf(timeUs, before)) > CHANGE_US;
      return differs(span.recordedUs) || span.lastSeq === undefined && differs(nowUs);
    });
  }

  #apply(): void {
    const { journal: { index } } = this.#options;
    const all = [...this.#before, ...this.#own];
    index.clock.spans.replace(all);
    index.noteClock();
    this.#write(all);
  }

  #write(all: readonly ClockSpan[]): void {
    this.#writing = this.#writing.then(() => this.#file.write(encodeSpans(all))).then(
      () => this.#failure = undefined,
      (error: unknown) => {
        this.#failure = errorText(error);
        this.#options.log.error("corrections of recorded times not stored", { error: this.#failure });
      },
    );
  }
}

/** The correction of a part; undefined: its times are right. */
function spanOf(
  { epochWord, firstSeq, offsetUs, fromUs }: Part,
  { estimate, next, toleranceUs }: { estimate: ClockEstimate; next: Part | undefined; toleranceUs: number },
): ClockSpan | undefined {
  const rate = 1 + estimate.drift;
  const recordedUs = Math.round(offsetUs + fromUs);
  const trueUs = Math.round(estimate.offsetUs + fromUs * rate);
  if (Math.abs(trueUs - recordedUs) <= toleranceUs || recordedUs < 0) return undefined;
  const endOf = (part: Part) => part.epochWord === epochWord ? part.firstSeq - 1 : Number.MAX_SAFE_INTEGER;
  return { epochWord, firstSeq, lastSeq: next && endOf(next), recordedUs, trueUs, rate };
}

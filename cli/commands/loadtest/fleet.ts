import process from "node:process";
import { CertificateError } from "@vessel/gateway/cloud";
import { pause, systemClock } from "@vessel/gateway/base";
import { Fleet, FleetError, type FleetTrust } from "@vessel/gateway/simulation";
import { wantsJson } from "../../client/client_options.ts";
import { errorsOf, EXIT, outputOf, type ProgramContext, SettingsError, stopSignalOf } from "../../program/program.ts";
import { type FleetReport, formatFleet, formatFleetJson, formatFleetLine, isComplete } from "./fleet_report.ts";
import { compareWithCloud } from "./fleet_verify.ts";
import type { LoadtestSettings } from "./options.ts";

/** Frames per second of a boat where none are given. */
const DEFAULT_RATE = 200;
const REPORT_MS = 5000;
const LOOK_MS = 250;
/** Longest wait for the cloud after Ctrl-C, milliseconds. */
const STOPPED_GRACE_MS = 5000;
const NAME_DIGITS = 4;
const US_PER_MS = 1000;

/** Runs `vbg loadtest -cloud`. Returns the exit code. */
export async function fleetTest(settings: LoadtestSettings, context: ProgramContext): Promise<number> {
  const output = outputOf(context);
  const report = await runFleet(settings, {
    signal: stopSignalOf(context),
    tell: (line) => void errorsOf(context).write(`${line}\n`),
  });
  await output.write(`${wantsJson(settings, output) ? formatFleetJson(report) : formatFleet(report)}\n`);
  return isComplete(report) ? EXIT.ok : EXIT.failure;
}

interface FleetRun {
  signal: AbortSignal;
  tell: (line: string) => void;
}

async function runFleet(settings: LoadtestSettings, { signal, tell }: FleetRun): Promise<FleetReport> {
  const { rate = DEFAULT_RATE, durationMs, graceMs, seed, collectMs, verify, token } = settings;
  const clock = systemClock;
  const ids = namesOf(settings);
  await using fleet = await started({
    target: settings.cloud ?? "",
    ids,
    trust: trustOf(settings),
    seed,
    rate,
    collectMs,
    clock,
    signal,
  });
  const watch = new FleetWatch(fleet, { tell });
  await watch.during(fleet.connect({ graceMs, signal }));
  watch.begin();
  fleet.begin();
  await watch.until(() => false, { ms: durationMs, signal });
  const figures = watch.end();
  fleet.silence();
  const isStored = () => {
    const { stored, made, lost } = fleet.sample();
    return stored + lost >= made;
  };
  await watch.until(isStored, { ms: signal.aborted ? Math.min(graceMs, STOPPED_GRACE_MS) : graceMs });
  const problems = verify === undefined ? undefined : await compareWithCloud(fleet, { url: verify, token });
  return { ...figures, ...watch.waits, sample: fleet.sample(), errors: [...fleet.errors], problems };
}

/** Starts a fleet; that it cannot start is an error of the settings. */
async function started(options: Parameters<typeof Fleet.start>[0]): Promise<Fleet> {
  try {
    return await Fleet.start(options);
  } catch (error) {
    if (error instanceof CertificateError) throw new SettingsError(error.message, { cause: error });
    if (error instanceof FleetError) throw new Error(error.message, { cause: error });
    throw error;
  }
}

/** Looks at a fleet while it runs, and tells a line every few seconds. */
class FleetWatch {
  readonly #fleet: Fleet;
  readonly #tell: (line: string) => void;
  readonly #startMs = systemClock.monoMs();
  #told: { atMs: number; made: number; sentLive: number; stored: number };
  #begin = { atMs: 0, made: 0, cpuUs: 0 };
  #receivedWaitMs = 0;
  #storedWaitMs = 0;
  #memoryBytes = 0;

  constructor(fleet: Fleet, { tell }: Pick<FleetRun, "tell">) {
    this.#fleet = fleet;
    this.#tell = tell;
    this.#told = { atMs: this.#startMs, made: 0, sentLive: 0, stored: 0 };
    this.begin();
  }

  /** Longest waits of any boat since the last begin, and memory. */
  get waits(): Pick<FleetReport, "receivedWaitMs" | "storedWaitMs" | "memoryBytes"> {
    return { receivedWaitMs: this.#receivedWaitMs, storedWaitMs: this.#storedWaitMs, memoryBytes: this.#memoryBytes };
  }

  /** Starts to measure. */
  begin(): void {
    this.#begin = { atMs: systemClock.monoMs(), made: this.#fleet.sample().made, cpuUs: cpuUs() };
    this.#receivedWaitMs = this.#storedWaitMs = 0;
  }

  /** What was made since, and with how much of a processor. */
  end(): Pick<FleetReport, "seconds" | "framesPerSecond" | "cpu"> {
    const { atMs, made, cpuUs: cpuBeforeUs } = this.#begin;
    const ms = Math.max(1, systemClock.monoMs() - atMs);
    return {
      seconds: ms / 1000,
      framesPerSecond: (this.#fleet.sample().made - made) * 1000 / ms,
      cpu: (cpuUs() - cpuBeforeUs) / US_PER_MS / ms,
    };
  }

  /** Looks until work is done. */
  async during(work: Promise<void>): Promise<void> {
    let isOver = false;
    const working = work.finally(() => isOver = true);
    await Promise.all([working, this.until(() => isOver, { ms: Infinity })]);
  }

  /** Looks until something is reached, a time has passed, or the signal is aborted. */
  async until(isReached: () => boolean, { ms, signal }: { ms: number; signal?: AbortSignal }): Promise<void> {
    const endMs = systemClock.monoMs() + ms;
    for (let restMs = ms; restMs > 0 && !signal?.aborted; restMs = endMs - systemClock.monoMs()) {
      if (isReached()) return;
      await pause(Math.min(LOOK_MS, restMs));
      this.#look();
    }
  }

  #look(): void {
    const sample = this.#fleet.sample();
    const nowMs = systemClock.monoMs();
    this.#receivedWaitMs = Math.max(this.#receivedWaitMs, sample.receivedWaitMs);
    this.#storedWaitMs = Math.max(this.#storedWaitMs, sample.storedWaitMs);
    this.#memoryBytes = Math.max(this.#memoryBytes, Deno.memoryUsage().rss);
    const { atMs, sentLive, stored } = this.#told;
    if (nowMs - atMs < REPORT_MS) return;
    const seconds = (nowMs - atMs) / 1000;
    this.#tell(formatFleetLine(sample, {
      seconds: (nowMs - this.#startMs) / 1000,
      sentPerSecond: (sample.sentLive - sentLive) / seconds,
      storedPerSecond: (sample.stored - stored) / seconds,
      errors: [...this.#fleet.errors],
    }));
    this.#told = { atMs: nowMs, ...sample };
  }
}

function namesOf({ boats, first }: LoadtestSettings): string[] {
  return Array.from({ length: boats }, (_, index) => `${first}-${String(index + 1).padStart(NAME_DIGITS, "0")}`);
}

function trustOf({ caDir, certDir }: LoadtestSettings): FleetTrust {
  if (certDir !== undefined) return { kind: "folders", directory: certDir };
  return { kind: "authority", directory: caDir ?? "" };
}

/** Processor time of this process, microseconds. */
function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

// Compares ledgers with what a test has counted itself.
import assert from "node:assert/strict";
import type { LedgerReport } from "../../src/ledger/mod.ts";
import { framesOf, heardBy, type KnownRun, sum } from "./ledger_runs.ts";

/**
 * How much later the time of an event may seem than that of its effect, microseconds: each program rounds the system's clock, and
 * follows it in small steps of its own.
 */
const CLOCK_US = 50_000;

/** What a ledger of the boat is compared with. */
export interface BoatTruth {
  /** Runs up to the last one that the ledger can know, oldest first. */
  runs: readonly KnownRun[];
  /** Numbers of the feed in the boat's files. */
  inFiles: ReadonlySet<number>;
  /** What the cloud has acknowledged; undefined: the ledger does not know it. */
  inCloud: ReadonlySet<number> | undefined;
  /** True if the last run goes on, and what it has heard at last may be in memory only. */
  isLive: boolean;
}

/** What became of the messages of one run on one bus. */
interface Fate {
  run: KnownRun;
  heard: number[];
  /** Those that the ledger must know. */
  known: number[];
  /** Of them, those that are in the journal. */
  recorded: Set<number>;
}

/** A ledger of the boat is what was put on its buses and what is in its files. */
export function assertBoatLedger(report: LedgerReport, { runs, inFiles, inCloud, isLive }: BoatTruth): void {
  assert.equal(report.closed, true);
  for (const [bus, { frames, messages, unknown, off }] of report.buses.entries()) {
    assert.deepEqual(off, { frames: 0, messages: 0 });
    assert.ok(frames);
    const fates = fatesOf(runs, { bus, inFiles, isLive });
    const [first] = fates;
    const known = fates.flatMap((fate) => fate.known);
    const recorded = fates.flatMap((fate) => [...fate.recorded]);
    const pruned = first ? first.known.findIndex((number) => first.recorded.has(number)) : 0;
    const tails = assertUnknown(unknown, { fates, runs });
    const all = (key: "recorded" | "acknowledged" | "stored") => sum(unknown.map((each) => each[key] ?? 0));
    assert.deepEqual(
      { numbered: messages.numbered + all("recorded"), recorded: messages.recorded + all("recorded") },
      { numbered: known.length, recorded: recorded.length },
    );
    // Files go from the oldest on.
    const missing = { pruned, disk: known.length - recorded.length - pruned };
    assert.deepEqual(messages.missing, Object.fromEntries(Object.entries(missing).filter(([, count]) => count > 0)));
    const acknowledged = inCloud && known.filter((number) => inCloud.has(number)).length;
    for (const key of ["acknowledged", "stored"] as const) {
      assert.equal(inCloud ? (messages[key] ?? 0) + all(key) : messages[key] ?? undefined, acknowledged, key);
    }
    assert.equal(frames.dropped, 0);
    assertFrames(frames, { fates, bus, tails, isAlone: report.buses.length === 1 });
  }
}

/** The runs of which something is in the journal, from the first one on. */
function fatesOf(
  runs: readonly KnownRun[],
  { bus, inFiles, isLive }: { bus: number; inFiles: ReadonlySet<number>; isLive: boolean },
): Fate[] {
  const isThere = (run: KnownRun) =>
    (isLive && run === runs.at(-1)) ||
    run.buses.some((_, index) => heardBy(run, index).some((number) => inFiles.has(number)));
  return runs.slice(Math.max(0, runs.findIndex(isThere))).filter(isThere).map((run) => {
    const heard = heardBy(run, bus);
    const isNow = isLive && run === runs.at(-1);
    const known = isNow ? heard : heard.slice(0, run.through[bus] ?? 0);
    // The newest ones may be in no file yet.
    const inMemory = isNow ? heard.slice(heard.findLastIndex((number) => inFiles.has(number)) + 1) : [];
    const recorded = new Set([...known.filter((number) => inFiles.has(number)), ...inMemory]);
    return { run, heard, known, recorded };
  });
}

/**
 * What is named as unknown is when no server ran, or what it had not synced. Gives the recorded messages of each run of
 * which the ledger knows no more than that they are recorded.
 */
function assertUnknown(
  unknown: LedgerReport["buses"][number]["unknown"],
  { fates, runs }: { fates: readonly Fate[]; runs: readonly KnownRun[] },
): number[] {
  const between = unknown.filter(({ reason }) => reason !== "before_journal" && reason !== "no_counters");
  const pairs = fates.slice(1).map((after, i) => ({ before: fates[i]!, after }));
  const found = runs.map((run) => `${heardBy(run, 0).length} heard, ${run.through} recorded, ${run.end?.how}`);
  assert.equal(between.length, pairs.length, JSON.stringify({ unknown, found }, null, 1));
  for (const [i, { before, after }] of pairs.entries()) {
    const { from, to, reason, recorded, interface_frames: counted } = between[i]!;
    const { run: { end, buses, isDrained, headBefore, durable }, heard, known } = before;
    assert.ok(end);
    // A run of which nothing was synced has left no trace.
    const ended = runs.slice(runs.indexOf(before.run), runs.indexOf(after.run));
    const isCrashed = ended.some((run) => run.end?.how === "SIGKILL");
    assert.deepEqual([reason, counted], [isCrashed ? "crashed" : "stopped", null]);
    const [fromUs, toUs] = [Date.parse(from) * 1000, Date.parse(to) * 1000];
    assert.ok(fromUs <= end.overUs + CLOCK_US, `${from} is after the end`);
    assert.ok(toUs >= after.run.beganUs - CLOCK_US && toUs <= after.run.answeredUs + CLOCK_US, `${to} is no start`);
    // What was put on the bus while nobody listened.
    for (const { atUs } of ended.flatMap(({ afterEnd }) => afterEnd)) {
      assert.ok(atUs >= fromUs - CLOCK_US && atUs <= toUs + CLOCK_US);
    }
    // What is counted came before the time of which nothing is known.
    const last = known[known.length - recorded - 1] ?? 0;
    const piece = buses.flatMap(({ pieces }) => pieces).find((each) => each.first <= last && last <= each.last);
    if (piece) assert.ok(piece.atUs <= fromUs + CLOCK_US, `${last} is counted, and came after ${from}`);
    if (end.how === "SIGTERM" && isDrained) assert.deepEqual([known.length, recorded], [heard.length, 0]);
    const counts = sum(before.run.through);
    assert.ok(counts >= durable - headBefore, `${counts} are recorded, ${durable - headBefore} were synced`);
  }
  const rest = unknown.filter(({ reason }) => reason === "no_counters");
  assert.ok(rest.length <= 1);
  return [...between, ...rest].map(({ recorded }) => recorded);
}

/** Frames are those of the messages, and those that were put on the bus besides. */
function assertFrames(
  frames: NonNullable<LedgerReport["buses"][number]["frames"]>,
  { fates, bus, tails, isAlone }: { fates: readonly Fate[]; bus: number; tails: readonly number[]; isAlone: boolean },
): void {
  let inMessages = 0;
  const others = { least: 0, most: 0 };
  for (const [i, { run, heard, known }] of fates.entries()) {
    const counted = heard.slice(0, known.length - (tails[i] ?? 0));
    const framesIn = (numbers: readonly number[]) => sum(numbers.map(framesOf));
    inMessages += framesIn(counted);
    for (const { after, frames: broken } of run.buses[bus]?.broken ?? []) {
      // Those after the last message came before a later one had been counted, or not.
      if (after < counted.length) others.least += broken;
      if (after <= counted.length) others.most += broken;
    }
    const rest = heard.slice(counted.length);
    // The next message may have come in part; with several buses, messages wait for those of the other ones.
    others.most += isAlone ? framesIn(rest.slice(0, 1)) : framesIn(rest);
  }
  assert.equal(frames.in_messages, inMessages);
  const besides = frames.received - frames.in_messages;
  const text = `${others.least} <= ${besides} <= ${others.most}`;
  assert.ok(others.least <= besides && besides <= others.most, text);
  assert.equal(sum(Object.values(frames.incomplete)) + frames.waiting, besides);
}

/** What a ledger of the cloud is compared with. */
export interface CloudTruth {
  runs: readonly KnownRun[];
  /** Numbers of the feed in the cloud's files. */
  inCloud: ReadonlySet<number>;
  /** Why messages may be missing. */
  reasons: readonly string[];
  /** True if everything that the boat has is to be there, or declared as lost. */
  isConverged: boolean;
}

/** A ledger of the cloud is what the boat had and what is in the cloud's files. Gives the missing messages. */
export function assertCloudLedger(
  report: LedgerReport,
  { runs, inCloud, reasons, isConverged }: CloudTruth,
): number {
  assert.equal(report.closed, true);
  const [bus, ...others] = report.buses;
  assert.ok(bus && others.length === 0);
  const onBoat = new Set(runs.flatMap((run) => run.buses.flatMap((_, i) => heardBy(run, i).slice(0, run.through[i]))));
  // What only the cloud has, the boat has lost when it was killed.
  const perhaps = new Set(
    runs.flatMap((run) =>
      run.end?.how === "SIGKILL" ? run.buses.flatMap((_, i) => heardBy(run, i).slice(run.through[i])) : []
    ),
  );
  for (const number of inCloud) assert.ok(onBoat.has(number) || perhaps.has(number), `the cloud has ${number}`);
  const { numbered, recorded, acknowledged, stored, missing } = bus.messages;
  const lost = [...onBoat].filter((number) => !inCloud.has(number)).length;
  const count = inCloud.size;
  assert.deepEqual(
    { numbered, recorded, acknowledged, stored, missing: sum(Object.values(missing)) },
    { numbered: count + lost, recorded: count, acknowledged: count, stored: count, missing: lost },
  );
  for (const reason of Object.keys(missing)) assert.ok(reasons.includes(reason), reason);
  assert.equal(missing["link"] !== undefined, !isConverged && lost > 0);
  return lost;
}

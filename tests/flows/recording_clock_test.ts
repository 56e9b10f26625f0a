// A boat that records while its wall clock jumps: numbers and sessions do not care, times are shown as they were.
import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import type { RecordingOptions } from "../../src/feed/recording.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { keepWarnings } from "../support/history.ts";
import { journalFiles, readJournal } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { range, seqs, SessionClient } from "../support/session.ts";

const FILES = needs({ permissions: ["read", "write", "net"] });
const SECOND = 1000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DECADE = 3652 * DAY;
/** Every file is older than that as soon as a decade has passed by the clock. */
const RETENTION = { maxAgeMs: 30 * DAY, softPercent: 80, overflow: "delete-unarchived", archive: "off" } as const;

/** A recording of frames with one second in between, and what its clock said of each. */
class Recording {
  readonly clock: FakeClock;
  readonly boat: TestBoat;
  readonly warnings: string[];
  /** Time of each frame by its number, milliseconds. */
  readonly times: number[] = [];

  constructor(parts: { clock: FakeClock; boat: TestBoat; warnings: string[] }) {
    this.clock = parts.clock;
    this.boat = parts.boat;
    this.warnings = parts.warnings;
  }

  static async start(directory: string, options: Partial<RecordingOptions>): Promise<Recording> {
    const clock = new FakeClock();
    const { log, warnings } = keepWarnings();
    const stateDirectory = `${directory}/state`;
    await Deno.mkdir(stateDirectory, { recursive: true });
    const often = { syncIntervalMs: 50, checkIntervalMs: 5 };
    const journal = { directory, stateDirectory, retention: RETENTION, ...often, ...options };
    return new Recording({ clock, warnings, boat: await TestBoat.start({ clock, log, journal, stateDirectory }) });
  }

  /** How often the log said that the clock is doubted. */
  get doubts(): number {
    return this.warnings.filter((line) => line.includes("the clock has jumped")).length;
  }

  /** Says frames, a second apart. */
  async say(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.clock.advance(SECOND);
      this.times.push(this.clock.wallUs() / 1000);
      this.boat.say();
      // The bus delivers in the next microtask, and then looks at the clock.
      await Promise.resolve();
      assert.equal(this.boat.boat.broker.head, this.times.length);
    }
  }

  /** Numbers of the frames whose times history should give. */
  expected(fromMs: number, toMs: number): number[] {
    return this.times.flatMap((ms, i) => ms >= fromMs && ms <= toMs ? [i + 1] : []);
  }

  async history(fromMs: number, toMs?: number): Promise<number[]> {
    const [from, to] = [fromMs, toMs].map((ms) => ms === undefined ? undefined : new Date(ms).toISOString());
    const query = `from=${from}&limit=100000${to === undefined ? "" : `&to=${to}`}`;
    const frames = await this.boat.get<Frame[]>(`/history?${query}`);
    for (const { seq, ts } of frames) assert.equal(Date.parse(ts), this.times[seq - 1], `time of ${seq}`);
    return seqs(frames).sort((a, b) => a - b);
  }
}

const places = [
  { where: "between files", options: { rotateDurationMs: 600 * SECOND }, rotates: true },
  { where: "between blocks", options: { blockBytes: 4096 }, rotates: false },
  { where: "in a block", options: {}, rotates: false },
];
for (const { where, options, rotates } of places) {
  Deno.test(
    `a clock that jumps back and a decade ahead ${where} costs no frame, no file and no session`,
    FILES,
    () =>
      inFolder(async (directory) => {
        const recording = await Recording.start(directory, options);
        const { clock, boat, times } = recording;
        await using _ = boat;
        const session = new SessionClient(boat.url);
        await session.put({ buffer_timeout: "PT2H" });
        const startMs = clock.wallUs() / 1000;
        const jumps = [0, -HOUR, DECADE, -DECADE, DECADE + HOUR, -DECADE];
        for (const [i, jump] of jumps.entries()) {
          clock.jump(jump);
          await recording.say(300);
          assert.deepEqual(await recording.history(0, startMs + 2 * DECADE), range(1, times.length));
          const nowMs = clock.wallUs() / 1000;
          assert.deepEqual(await recording.history(0), recording.expected(0, nowMs), "up to now, by the clock");
          const newest = await recording.history(nowMs - 299 * SECOND, nowMs);
          assert.deepEqual(newest, recording.expected(nowMs - 299 * SECOND, nowMs), "the newest");
          clock.advance(301 * SECOND);
          if (rotates) await eventually("a new file", () => journalFiles(directory).length === i + 1);
        }
        await using events = await session.events();
        await events.atLeast(times.length);
        assert.deepEqual([seqs(events.frames), events.events], [range(1, times.length), []]);
        assert.equal(await session.ack(times.length), 204);
        await events.close();
        clock.advance(2 * HOUR - SECOND);
        assert.equal(await session.cursor(), times.length + 1, "its time is not up, whatever the clock says");
        await boat.boat.stop();
        assert.equal(journalFiles(directory).length, rotates ? jumps.length : 1, "nothing was deleted");
        assert.deepEqual(
          readJournal(directory).frames.map(({ seq }) => seq),
          range(1, times.length),
          "names are in order",
        );
        assert.ok(recording.doubts <= 2, "each jump ahead is told once");
      }),
  );
}

Deno.test(
  "when a clock that has jumped goes on for a day it is believed, and old files go",
  FILES,
  () =>
    inFolder(async (directory) => {
      const recording = await Recording.start(directory, { rotateDurationMs: 100 * SECOND });
      const { clock, boat } = recording;
      await using _ = boat;
      for (let file = 0; file < 3; file++) {
        await recording.say(101);
        await eventually("a file", () => journalFiles(directory).length === file + 1);
      }
      clock.jump(DECADE);
      await eventually("doubt", () => recording.doubts === 1);
      const old = journalFiles(directory);
      assert.equal(old.length, 3);
      await recording.say(100);
      clock.advance(DAY);
      // One after the other, while the new file comes when it likes.
      await eventually("the deletion", () => !journalFiles(directory).some((name) => old.includes(name)));
      const nowMs = clock.wallUs() / 1000;
      assert.deepEqual(await recording.history(0), recording.expected(nowMs - 2 * DAY, nowMs));
    }),
);

Deno.test(
  "numbers and files go on after a restart with the clock an hour back, or a decade ahead",
  FILES,
  () =>
    inFolder(async (directory) => {
      let said = 0;
      for (const jump of [0, -HOUR, DECADE, 0]) {
        const recording = await Recording.start(directory, { retention: { ...RETENTION, maxAgeMs: 0 } });
        await using boat = recording.boat;
        recording.clock.jump(jump);
        for (let i = 0; i < 200; i++) recording.boat.say();
        said += 200;
        await eventually("the frames", () => boat.boat.broker.head === said);
        const frames = await boat.get<Frame[]>("/history?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z");
        assert.deepEqual(seqs(frames).sort((a, b) => a - b), range(1, said));
      }
      assert.deepEqual(readJournal(directory).frames.map(({ seq }) => seq), range(1, said), "names are in order");
    }),
);

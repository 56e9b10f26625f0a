import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { ClockRepair } from "../../src/boat/clock_repair.ts";
import { Broker } from "../../src/broker/mod.ts";
import { Journal, readClockSpans } from "../../src/journal/mod.ts";
import { Past } from "../../src/past/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { framesOf } from "../support/journal_files.ts";
import { type FrameInit, message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { reader } from "../past/past_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });
const DAY_MS = 86_400_000;
const TOLERANCE_US = 50_000;

/** System Time by GPS. */
function systemTime(trueUs: number): number[] {
  const days = Math.floor(trueUs / 1000 / DAY_MS);
  const seconds = Math.floor((trueUs / 1e6 - days * 86_400) * 10_000);
  const data = new Uint8Array(8);
  const view = new DataView(data.buffer);
  data.set([1, 0xf0]);
  view.setUint16(2, days, true);
  view.setUint32(4, seconds, true);
  return [...data];
}

/** One start of a boat server, which records a message each second; GNSS is heard from some second on. */
class Start implements AsyncDisposable {
  readonly broker: Broker;
  readonly journal: Journal;
  readonly repair: ClockRepair;
  readonly #clock: FakeClock;

  private constructor(clock: FakeClock, parts: { broker: Broker; journal: Journal; repair: ClockRepair }) {
    this.#clock = clock;
    this.broker = parts.broker;
    this.journal = parts.journal;
    this.repair = parts.repair;
  }

  static async begin(folder: string, { clock, boot }: { clock: FakeClock; boot: number }): Promise<Start> {
    const bootId = new Uint8Array(16).fill(boot);
    const directory = `${folder}/journal`;
    await Deno.mkdir(`${folder}/state`, { recursive: true });
    const where = { directory, stateDirectory: `${folder}/state`, blockBytes: 4096, rotateBytes: 40_000 };
    const journal = await Journal.open({ ...where, buses: ["can0"], bootId, clock, log: silentLogger });
    const broker = new Broker({ buses: ["can0"], ringFrames: 16, firstSeq: journal.firstSeq });
    const repair = new ClockRepair({ directory, journal, broker, clock, log: silentLogger });
    return new Start(clock, { broker, journal, repair });
  }

  /** Records some seconds. @param trueUsOf the true time, which GNSS tells a tenth of a second late */
  async run(seconds: number, { trueUs, gnssAfter, step, liar, perSecond = 1 }: {
    trueUs: () => number;
    gnssAfter: number;
    /** Messages; default 1. A step is before one of the last. */
    perSecond?: number;
    step?: { at: number; ms: number };
    /** Another receiver tells the time with this error, microseconds. */
    liar?: number;
  }): Promise<Map<number, number>> {
    const times = new Map<number, number>();
    const record = (init: FrameInit) => {
      const each = message({ ...init, timeUs: this.#clock.wallUs(), monoMs: this.#clock.monoMs() });
      const seq = this.broker.publish(each, this.journal.next());
      this.journal.append(seq, each);
      this.repair.message(each, seq);
      times.set(seq, trueUs());
      return seq;
    };
    for (let second = 0; second < seconds; second++) {
      for (let i = 1; i < perSecond; i++) {
        this.#clock.advance(1000 / perSecond);
        if (step?.at === second && i === Math.floor(perSecond * 0.7)) this.#clock.jump(step.ms);
        record({ pgn: 127250, src: 4 });
      }
      this.#clock.advance(1000 / perSecond);
      if (step?.at === second && perSecond === 1) this.#clock.jump(step.ms);
      const told = trueUs() - 10_000;
      const isGnss = second >= gnssAfter;
      const seq = record(isGnss ? { pgn: 126992, data: systemTime(told), src: 3 } : { pgn: 127250, src: 4 });
      this.repair.runHousekeeping();
      if (liar !== undefined) {
        const [timeUs, monoMs] = [this.#clock.wallUs(), this.#clock.monoMs()];
        this.repair.message(message({ pgn: 126992, data: systemTime(told + liar), src: 9, timeUs, monoMs }), seq + 0.5);
      }
      if (second % 100 === 0) await this.journal.sync();
    }
    await this.journal.sync();
    return times;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.repair.stop();
    await this.journal.close();
  }
}

async function assertCorrected(journal: Journal, times: ReadonlyMap<number, number>): Promise<void> {
  let found = 0;
  for await (const block of journal.index.blocks({ fromSeq: 1, isCorrected: true })) {
    for (const { seq, timeUs } of framesOf(block)) {
      const trueUs = times.get(seq);
      if (trueUs === undefined) continue;
      found++;
      assert.ok(Math.abs(timeUs - trueUs) <= TOLERANCE_US, `frame ${seq} is off by ${(timeUs - trueUs) / 1000} ms`);
    }
  }
  assert.equal(found, times.size);
}

Deno.test(
  "what was recorded in 1970 has its true time once GNSS tells it, before and after the clock is set, also after a restart",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const trueUs = () => START_US + clock.monoMs() * 1000;
      clock.jump(-START_US / 1000 + 60_000);
      const times = new Map<number, number>();
      {
        await using start = await Start.begin(folder, { clock, boot: 1 });
        // After 20 minutes somebody sets the clock.
        const step = { at: 1200, ms: START_US / 1000 - 60_000 };
        for (const [seq, time] of await start.run(1800, { trueUs, gnssAfter: 180, step })) times.set(seq, time);
        await assertCorrected(start.journal, times);
        assert.equal(start.repair.health().status, "ok");
        const past = new Past({
          ...{ index: start.journal.index, buses: ["can0"], decoder: start.broker.decoder, maxValues: 100 },
          ...{ deviceIdleTimeoutMs: () => 0, forgets: "start" as const, log: silentLogger },
        });
        const tables = await past.at(START_US + 100e6, reader);
        assert.deepEqual([...tables?.broker.registry ?? []].map(({ src }) => src), [4]);
        assert.equal((await past.at(START_US + 300e6, reader))?.broker.registry.size, 2);
        await past.stop();
      }
      clock.advance(3_600_000);
      await using again = await Start.begin(folder, { clock, boot: 2 });
      await assertCorrected(again.journal, times);
      const right = await again.run(600, { trueUs, gnssAfter: 10 });
      await assertCorrected(again.journal, right);
      assert.equal(again.journal.index.clock.spans.all.length, 1, "a clock that is right needs no correction");
    }),
);

Deno.test(
  "a correction that goes on at the end of a run ends there, and later runs keep their times",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const trueUs = () => START_US + clock.monoMs() * 1000;
      clock.jump(-10 * DAY_MS);
      const times = new Map<number, number>();
      const keep = (found: ReadonlyMap<number, number>) => found.forEach((time, seq) => times.set(seq, time));
      const crashed = await Start.begin(folder, { clock, boot: 1 });
      keep(await crashed.run(1200, { trueUs, gnssAfter: 10 }));
      // Without `stop`: as if it were killed.
      await crashed.journal.close();
      clock.jump(10 * DAY_MS);
      for (const boot of [2, 3]) {
        await using start = await Start.begin(folder, { clock, boot });
        keep(await start.run(100, { trueUs, gnssAfter: Infinity }));
        await assertCorrected(start.journal, times);
      }
      const spans = await readClockSpans(`${folder}/journal`, { log: silentLogger });
      assert.deepEqual(spans.all.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq]), [[1, 1200]]);
    }),
);

Deno.test(
  "a clock that is right stays so, hours after GNSS was heard last, and with a receiver that is late",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const trueUs = () => START_US + clock.monoMs() * 1000;
      await using start = await Start.begin(folder, { clock, boot: 1 });
      // It tells 200 ms late, for ten minutes.
      await start.run(600, { trueUs: () => trueUs() - 200_000, gnssAfter: 0 });
      for (let hour = 0; hour < 15; hour++) {
        clock.advance(3_600_000);
        await start.run(20, { trueUs, gnssAfter: Infinity });
      }
      assert.deepEqual(start.journal.index.clock.spans.all, []);
      assert.equal(start.repair.health().status, "ok");
    }),
);

Deno.test(
  "what was corrected stays corrected when a second receiver disagrees",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const trueUs = () => START_US + clock.monoMs() * 1000;
      clock.jump(-10 * DAY_MS);
      await using start = await Start.begin(folder, { clock, boot: 1 });
      const times = await start.run(1200, { trueUs, gnssAfter: 10 });
      await assertCorrected(start.journal, times);
      await start.run(3000, { trueUs, gnssAfter: 0, liar: -5_000_000 });
      await assertCorrected(start.journal, times);
    }),
);

Deno.test(
  "a clock that is set by less than a second, within a block and between two looks at it, is right for every frame",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const trueUs = () => START_US + clock.monoMs() * 1000;
      clock.jump(-10 * DAY_MS);
      await using start = await Start.begin(folder, { clock, boot: 1 });
      const times = new Map<number, number>();
      for (const ms of [400, -700]) {
        const options = { trueUs, gnssAfter: 0, perSecond: 20, step: { at: 303, ms } };
        for (const [seq, time] of await start.run(600, options)) times.set(seq, time);
      }
      await assertCorrected(start.journal, times);
      const spans = start.journal.index.clock.spans.all;
      // Frames are numbered from 1; before the 14th of the 304th second, and 600 seconds later.
      assert.deepEqual(spans.map(({ firstSeq }) => firstSeq), [1, 303 * 20 + 14, 903 * 20 + 14]);
    }),
);

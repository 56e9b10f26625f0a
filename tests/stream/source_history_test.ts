import assert from "node:assert/strict";
import { LineLog, silentLogger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { buildName, formatName } from "../../src/frame/mod.ts";
import { encode } from "../../src/pgn/mod.ts";
import { SourceWatch } from "../../src/stream/live/source_watch.ts";
import { SourceHistory, type SourceSpan } from "../../src/stream/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { claim, message, nameFields, product, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const START_MS = START_US / 1000;
/** Values are looked at every ten seconds. */
const LOOK_S = 11;

/** A boat with depth sounders, of which a schedule says which ones send in which second. */
class Sounders implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly history: SourceHistory;
  readonly #broker = new Broker({ buses: ["can0", "can1"] });
  readonly #watch: SourceWatch;
  #seconds = 0;

  constructor(directory: string, { clock, maxBytes = 1_000_000 }: { clock: FakeClock; maxBytes?: number }) {
    this.clock = clock;
    const broker = this.#broker;
    const sources = this.#watch = new SourceWatch({ broker, clock });
    this.history = new SourceHistory({ directory, maxBytes, sources, broker, clock, log: silentLogger });
    for (const src of [1, 2]) broker.publish(claim(nameOf(src), { src, bus: src - 1 }));
  }

  /** Lets seconds pass, in which these sounders send. What is stale is noticed each second. */
  run(seconds: number, sending: readonly number[]): void {
    for (let i = 0; i < seconds; i++) {
      this.clock.advance(1000);
      const [timeUs, monoMs] = [this.clock.wallUs(), this.clock.monoMs()];
      // The model is known only later.
      if (this.#seconds++ === 30) {
        for (const src of [1, 2]) this.#broker.publish(product(`M${src}`, { src, bus: src - 1 }));
      }
      for (const src of sending) {
        const data = encode(128267, { depth: src });
        this.#broker.publish(message({ pgn: 128267, src, bus: src - 1, data, timeUs, monoMs }));
      }
      this.#watch.list();
      this.history.runHousekeeping();
    }
  }

  /** Ends it as a crash does: nothing more is written. */
  crash(): void {
    this.#watch.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.history.stop();
    this.#watch.stop();
  }
}

const nameOf = (src: number) => buildName(nameFields({ uniqueNumber: src }));

/** Asserts who is in spans, and from and to which second since the start, within a look. */
function assertSpans(spans: readonly SourceSpan[] | undefined, wanted: readonly [src: number, number, number][]): void {
  const found = (spans ?? []).map(({ device: { src, name, bus, model }, fromMs, toMs }) => {
    assert.deepEqual([name, bus, model], [formatName(nameOf(src)), `can${src - 1}`, `M${src}`]);
    return [src, (fromMs - START_MS) / 1000, (toMs - START_MS) / 1000] as const;
  });
  assert.deepEqual(found.map(([src]) => src), wanted.map(([src]) => src), JSON.stringify(found));
  for (const [i, [, from, to]] of found.entries()) {
    const [, wantedFrom = 0, wantedTo = 0] = wanted[i] ?? [];
    assert.ok(Math.abs(from - wantedFrom) <= LOOK_S && Math.abs(to - wantedTo) <= LOOK_S, JSON.stringify(found));
  }
}

async function depthOf({ history }: Sounders) {
  const { quantities, sinceMs } = await history.read();
  const { spans, preferred } = quantities.get("depth") ?? {};
  return { spans, preferred, sinceMs };
}

Deno.test(
  "the history has when each device gave a quantity, and every switch of the preferred one",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = new Sounders(folder, { clock: new FakeClock() });
      boat.run(600, [1, 2]);
      boat.run(300, [2]);
      // A pause of half a minute is none, for either.
      boat.run(30, []);
      boat.run(270, [1, 2]);
      const { spans, preferred } = await depthOf(boat);
      assertSpans(spans, [[1, 0, 600], [2, 0, 1200], [1, 930, 1200]]);
      assertSpans(preferred, [[1, 0, 603], [2, 603, 903], [1, 930, 1200]]);
    }),
);

Deno.test(
  "a pause of some seconds, as a busy computer makes many, writes nothing into the history; a longer one does",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = new Sounders(folder, { clock: new FakeClock() });
      boat.run(100, [1]);
      const before = (await depthOf(boat)).preferred?.length;
      const path = `${folder}/sources.log`;
      const { size } = await Deno.stat(path);
      for (let i = 0; i < 20; i++) {
        boat.run(8, []);
        boat.run(12, [1]);
      }
      const { spans, preferred } = await depthOf(boat);
      assertSpans(spans, [[1, 0, 500]]);
      assertSpans(preferred, [[1, 0, 500]]);
      assert.equal(before, 1);
      assert.equal((await Deno.stat(path)).size, size);
      boat.run(20, []);
      boat.run(80, [1]);
      const { preferred: later } = await depthOf(boat);
      assertSpans(later, [[1, 0, 503], [1, 520, 600]]);
      assert.ok((later?.[1]?.fromMs ?? 0) - (later?.[0]?.toMs ?? 0) >= 15_000);
    }),
);

Deno.test(
  "the history survives restarts and crashes; what had begun ends with the run",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      {
        await using boat = new Sounders(folder, { clock });
        boat.run(300, [1]);
      }
      clock.advance(3_600_000);
      const crashed = new Sounders(folder, { clock });
      crashed.run(1200, [2]);
      await crashed.history.read();
      crashed.crash();
      clock.advance(3_600_000);
      await using boat = new Sounders(folder, { clock });
      boat.run(100, [2]);
      const { spans, sinceMs } = await depthOf(boat);
      const second = 300 + 3600;
      const third = second + 1200 + 3600;
      assert.ok(Math.abs((sinceMs ?? 0) - START_MS) <= LOOK_S * 1000);
      assert.deepEqual(spans?.map(({ device: { src } }) => src), [1, 2, 2]);
      // Of the crashed run, the last ten minutes may be unknown.
      const [, middle] = spans ?? [];
      const toS = ((middle?.toMs ?? 0) - START_MS) / 1000;
      assert.ok(toS > second + 590 && toS <= second + 1200, `${toS - second}`);
      assertSpans(spans.filter((each) => each !== middle), [[1, 0, 300], [2, third, third + 100]]);
    }),
);

Deno.test(
  "a clock that is set begins new spans, and gives none a length that it did not have",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using boat = new Sounders(folder, { clock });
      boat.run(300, [1]);
      const jumpS = 40 * 86_400;
      clock.jump(jumpS * 1000);
      boat.run(300, [1]);
      const { spans, preferred } = await depthOf(boat);
      for (const list of [spans, preferred]) {
        assert.equal(list?.length, 2);
        for (const { fromMs, toMs } of list) assert.ok(toMs - fromMs <= (300 + LOOK_S) * 1000);
        assert.ok((list[1]?.fromMs ?? 0) >= START_MS + (jumpS + 300) * 1000);
      }
    }),
);

Deno.test(
  "a log that is too long keeps its newer half, and what goes on since before",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using boat = new Sounders(folder, { clock, maxBytes: 2000 });
      const rounds = 40;
      for (let i = 0; i < rounds; i++) {
        boat.run(100, [1, 2]);
        boat.run(100, [1]);
        await boat.history.read();
      }
      const { spans = [] } = await depthOf(boat);
      const [long] = spans.filter(({ device: { src } }) => src === 1);
      const others = spans.filter(({ device: { src } }) => src === 2);
      assertSpans(long && [long], [[1, 0, rounds * 200]]);
      assert.ok(others.length > 2 && others.length < rounds, `${others.length}`);
      assertSpans(others.slice(-1), [[2, (rounds - 1) * 200, (rounds - 1) * 200 + 100]]);
      const { size } = await Deno.stat(`${folder}/sources.log`);
      assert.ok(size < 3000, `${size}`);
    }),
);

Deno.test("a torn log is read up to where it is torn, and goes on", DISK, () =>
  inFolder(async (folder) => {
    const clock = new FakeClock();
    {
      await using boat = new Sounders(folder, { clock });
      boat.run(120, [1]);
    }
    const path = `${folder}/sources.log`;
    await Deno.truncate(path, (await Deno.stat(path)).size - 3);
    await using boat = new Sounders(folder, { clock });
    boat.run(120, [1]);
    const { spans } = await depthOf(boat);
    assert.equal(spans?.length, 2);
    await boat.history.read();
    assert.deepEqual((await new LineLog(folder, { name: "sources.log" }).read())?.damaged, 0);
  }));

import { silentLogger } from "../../src/base/mod.ts";
import { Decoder } from "../../src/broker/mod.ts";
import { JournalIndex, TABLES_EXTENSION } from "../../src/journal/mod.ts";
import { Past } from "../../src/past/mod.ts";
import { Random } from "../support/random.ts";
import { HOURS, START_US, writeDays } from "./day.ts";
import { report } from "./figure.ts";

const ROUNDS = 40;
const HOUR_US = 3600 * 1e6;
/** The 95th of a hundred. */
const P95 = 0.95;

/** A day with 200 frames/s, or a year with 20 and as much as a real bus takes, which is 3 GB. */
const DAY = { days: 1, perSecond: 200, noisyBytes: 1 };
const YEAR = { days: 365, perSecond: 20, noisyBytes: 4 };

/** What was shown at random times of a day or a year: each of them read for the first time. */
export async function pastBench({ isYear }: { isYear: boolean }): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  const { days, perSecond, noisyBytes } = isYear ? YEAR : DAY;
  try {
    await writeDays(directory, { days, perSecond, noisyBytes });
    const index = await JournalIndex.open(directory, { log: silentLogger });
    const past = new Past({
      ...{ index, buses: ["can0"], decoder: new Decoder(), maxValues: 65_536, forgets: "start", log: silentLogger },
      deviceIdleTimeoutMs: () => 300_000,
    });
    const beginMs = performance.now();
    await past.caughtUp();
    const buildMs = performance.now() - beginMs;
    let tableBytes = 0;
    for (const { name } of Deno.readDirSync(directory)) {
      if (name.endsWith(TABLES_EXTENSION)) tableBytes += Deno.statSync(`${directory}/${name}`).size;
    }
    const random = new Random(7);
    const spentMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startMs = performance.now();
      const tables = await past.at(START_US + random.next() * days * HOURS * HOUR_US, {
        slice: () => Promise.resolve(Infinity),
      });
      spentMs.push(performance.now() - startMs);
      if (tables?.broker.registry.size !== 30) throw new Error(`There are ${tables?.broker.registry.size} devices`);
    }
    await past.stop();
    spentMs.sort((a, b) => a - b);
    const what = `what was shown at a time, ${perSecond} frames/s, a journal of ${(index.bytes / 1e9).toFixed(1)} GB`;
    report({ name: `${what}: median`, value: spentMs[ROUNDS / 2] ?? NaN, unit: "ms" });
    report({ name: `${what}: p95`, value: spentMs[Math.floor(ROUNDS * P95)] ?? NaN, unit: "ms", bar: "<= 500" });
    report({ name: `${what}: tables, part of the journal`, value: tableBytes / index.bytes * 100, unit: "%" });
    report({ name: `${what}: tables, made in the background`, value: buildMs / 1000, unit: "s" });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

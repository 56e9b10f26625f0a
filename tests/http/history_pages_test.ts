import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import type { Frame } from "../../src/frame/mod.ts";
import type { HistoryIndex } from "../../src/http/history/history.ts";
import { HistoryTurns } from "../../src/http/history/turns.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { message, START_US } from "../support/messages.ts";
import { environment, needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const DISK = needs({ permissions: ["read", "write"] });
const START = "from=2026-01-02T03:04:05Z";
const URL_BASE = "http://boat";
const BUSES = ["can0", "can1"];
/** Where pages of few frames are walked: two epochs, and a step of the clock in one; in full more of the first one. */
const SMALL_PAGES = environment("VBG_TEST_FULL") === "1"
  ? "&to=2026-01-02T03:04:05.9Z"
  : "&from=2026-01-02T03:04:05.62Z&to=2026-01-02T03:04:05.72Z";

/** A page of the history. */
interface Page {
  texts: string[];
  count: string | null;
  /** Path and query of the next one. */
  next: string | undefined;
}

async function page(api: TestApi, path: string): Promise<Page> {
  const response = await api.fetch(path);
  assert.equal(response.status, 200, path);
  const frames: Frame[] = await response.json();
  const [, link] = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("Link") ?? "") ?? [];
  assert.equal(response.headers.has("Link"), link !== undefined, "a link that cannot be read");
  const next = link === undefined ? undefined : new URL(link, URL_BASE + path);
  return {
    texts: frames.map((frame) => JSON.stringify(frame)),
    count: response.headers.get("Frame-Count"),
    next: next && next.pathname + next.search,
  };
}

/** All pages, as their links lead; `between` happens after each. */
async function walk(
  api: TestApi,
  { query, limit, between = async () => {} }: { query: string; limit: number; between?: () => Promise<void> | void },
): Promise<string[]> {
  const all: string[] = [];
  let path: string | undefined = `/history?${START}&limit=${limit}${query}`;
  while (path !== undefined) {
    const { texts, count, next }: Page = await page(api, path);
    if (next !== undefined) assert.equal(texts.length, limit, "a page that is not the last is full");
    assert.ok(count === String(texts.length) || next === undefined && count === null, path);
    all.push(...texts);
    path = next;
    await between();
  }
  return all;
}

/** A second of messages of three sources and four PGNs on two buses, in random order of time within half a second. */
function traffic(count: number, { seed, startMs }: { seed: number; startMs: number }) {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, i) =>
    message({
      pgn: [127250, 129025, 130306, 128267][random.int(4)]!,
      src: [3, 7, 21][random.int(3)]!,
      bus: random.int(2),
      timeUs: START_US + (startMs + i) * 1000 + (random.chance(0.1) ? random.int(500_000) : 0),
      data: Array.from({ length: random.between(1, 8) }, () => random.int(256)),
    }));
}

/** Runs of numbers one after the other in a directory: of older software, of two epochs, and the one that goes on. */
async function withRuns(
  test: (parts: { api: TestApi; journal: TestJournal; index: JournalIndex; clock: FakeClock }) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    for (const [i, epoch] of [0, 5, 6].entries()) {
      await using journal = await TestJournal.open(folder, { buses: BUSES, epoch: new Uint8Array(16).fill(epoch) });
      journal.append(1, traffic(700, { seed: i, startMs: i * 1000 }));
      await journal.writer.rotate();
      // The clock steps back within the run.
      journal.append(701, traffic(300, { seed: i + 10, startMs: i * 1000 - 400 }));
    }
    await using journal = await TestJournal.open(folder, { buses: BUSES });
    journal.append(1, traffic(500, { seed: 3, startMs: 3000 }));
    await journal.writer.sync();
    const clock = new FakeClock();
    clock.advance(3_600_000);
    const { index } = journal;
    await test({ api: new TestApi({ index, buses: BUSES, clock }), journal, index, clock });
  });
}

Deno.test(
  "the pages of a history, walked by their links, are the whole of it: nothing is missing or twice",
  DISK,
  () =>
    withRuns(async ({ api, index, clock }) => {
      // Keeps the first piece of a page while it is counted, and reads the others once more.
      const histories = new HistoryTurns(undefined, { heldBytes: 1 });
      const shortHeld = new TestApi({ index, buses: BUSES, clock, histories });
      const queries = [
        ["", 1],
        ["&src=7&pgn=127250", 7],
        ["&bus=can1&decode=true", 1],
        ["&interval=100ms", 3],
        ["&interval=1s&src=3", 1],
        ["&to=2026-01-02T03:04:06.5Z", 5],
        ["&pgn=1", 1],
      ] as const;
      for (const [query, small] of queries) {
        const whole = await page(api, `/history?${START}${query}`);
        assert.deepEqual([whole.next, whole.count], [undefined, null]);
        assert.equal(whole.texts.length > 0, query !== "&pgn=1");
        for (const limit of [small * 97, 500, whole.texts.length || 1]) {
          for (const each of [api, shortHeld]) {
            assert.deepEqual(await walk(each, { query, limit }), whole.texts, `${query} by ${limit}`);
          }
        }
        if (query === "") continue;
        const part = `${query}${SMALL_PAGES}`;
        const expected = await page(api, `/history?${START}${part}`);
        assert.deepEqual(await walk(api, { query: part, limit: small }), expected.texts, `${part} by ${small}`);
      }
    }),
);

Deno.test(
  "pages are those of the first request's time: what is recorded while they are walked changes none",
  DISK,
  () =>
    withRuns(async ({ api, journal }) => {
      for (const query of ["", "&interval=50ms"]) {
        const whole = (await page(api, `/history?${START}${query}`)).texts;
        let seq = 501 + (query === "" ? 0 : 100_000);
        const between = async () => {
          seq = journal.append(seq, traffic(50, { seed: seq, startMs: 3_600_000 + seq }));
          await journal.writer.rotate();
        };
        assert.deepEqual(await walk(api, { query, limit: 311, between }), whole, query);
      }
    }),
);

Deno.test(
  "where files are deleted while pages are walked, nothing is twice, and what is left is whole",
  DISK,
  () =>
    withRuns(async ({ api, index }) => {
      const whole = (await page(api, `/history?${START}`)).texts;
      for (const limit of [200, 150]) {
        const files = index.files.map(({ path }) => path).slice(0, limit === 200 ? 2 : -1);
        const removed = files.length;
        const seen = await walk(api, {
          query: "",
          limit,
          between: () => {
            const path = files.shift();
            if (path === undefined) return;
            Deno.removeSync(path);
            index.noteRemoved(path);
          },
        });
        const left = (await page(api, `/history?${START}`)).texts;
        assert.ok(removed > 1 && left.length > 0);
        assert.equal(new Set(seen).size, seen.length, "none twice");
        assert.deepEqual(seen.filter((text) => left.includes(text)), left, "all that is left");
        assert.ok(seen.every((text) => whole.includes(text)));
      }
    }),
);

/** An index that counts how often it is read. */
function countingReads(index: JournalIndex): { index: HistoryIndex; reads: () => number } {
  let reads = 0;
  const counting: HistoryIndex = {
    epochBlocks: (range) => (reads++, index.epochBlocks(range)),
    epochOrder: () => index.epochOrder(),
    framesAtMost: (range) => index.framesAtMost(range),
    noteDamaged: () => {},
    reader: () => index.reader(),
  };
  return { index: counting, reads: () => reads };
}

Deno.test(
  "a history is read once: what no limit can cut is not counted, and a short page is kept meanwhile",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      journal.append(1, Array.from({ length: 12 }, (_, i) => message({ monoMs: i })));
      const clock = new FakeClock();
      clock.advance(1000);
      const { index, reads } = countingReads(journal.index);
      const api = new TestApi({ index, clock });
      for (const [limit, expected] of [[100_000, null], [600, "12"], [12, "12"], [11, "11"]] as const) {
        const before = reads();
        const { texts, count } = await page(api, `/history?${START}&limit=${limit}`);
        assert.deepEqual(
          [texts.length, count, reads() - before],
          [Number(expected ?? 12), expected, 1],
          `limit ${limit}`,
        );
      }
    }),
);

Deno.test(
  "a page longer than what is kept while it is counted is read a second time, and no other",
  DISK,
  () =>
    withRuns(async ({ index: inner, clock }) => {
      const { index, reads } = countingReads(inner);
      for (
        const [heldBytes, limit, expected] of [[undefined, 3000, 1], [1, 3000, 2], [1, 50, 1], [0, 50, 2]] as const
      ) {
        const histories = new HistoryTurns(undefined, heldBytes === undefined ? {} : { heldBytes });
        const before = reads();
        const { texts } = await page(
          new TestApi({ index, buses: BUSES, clock, histories }),
          `/history?${START}&limit=${limit}`,
        );
        assert.deepEqual([texts.length, reads() - before], [limit, expected], `${heldBytes} bytes, limit ${limit}`);
      }
    }),
);

Deno.test(
  "a page whose frames cannot be counted in time is sent up to its limit, and no next one is named",
  DISK,
  () =>
    withRuns(async ({ api, index, clock }) => {
      const whole = (await page(api, `/history?${START}`)).texts;
      for (const heldBytes of [0, 1, 100_000]) {
        const histories = new HistoryTurns(undefined, { measureMs: -1, heldBytes });
        const hurried = new TestApi({ index, buses: BUSES, clock, histories });
        for (const limit of [1, 100, 1499, whole.length]) {
          const { texts, count, next } = await page(hurried, `/history?${START}&limit=${limit}`);
          assert.deepEqual([count, next, texts], [null, undefined, whole.slice(0, limit)]);
        }
      }
    }),
);

Deno.test("a history whose limit is reached by its last frame is not cut", DISK, () =>
  inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder);
    journal.append(1, Array.from({ length: 12 }, (_, i) => message({ monoMs: i })));
    const clock = new FakeClock();
    clock.advance(1000);
    const api = new TestApi({ index: journal.index, clock });
    for (const [limit, isCut] of [[11, true], [12, false], [13, false]] as const) {
      const { next, count } = await page(api, `/history?${START}&limit=${limit}`);
      assert.deepEqual([next !== undefined, count], [isCut, String(Math.min(limit, 12))]);
    }
    const { next } = await page(api, `/history?${START}&limit=5&access_token=secret`);
    assert.match(next ?? "", /^\/history\?from=.*&limit=5&to=2026-01-02T03%3A04%3A06\.000Z&after=07070707-5-\d+$/);
    const index = await JournalIndex.open(folder, { log: silentLogger });
    assert.deepEqual((await page(new TestApi({ index, clock }), next ?? "")).texts, [], "in the tail alone");
  }));

Deno.test("the place that a page begins behind is checked like any parameter", DISK, () =>
  withRuns(async ({ api }) => {
    for (const after of ["", "5", "x-1-2", "07070707-1", "07070707-1-", "07070707-1-2-3", "07070707--1-2", "7-1-2"]) {
      const response = await api.fetch(`/history?${START}&after=${after}`);
      const { parameter }: { parameter?: string } = await response.json();
      assert.deepEqual([response.status, parameter], [400, "after"], after);
    }
  }));

Deno.test("every wrong limit is refused with the same words", DISK, () =>
  withRuns(async ({ api }) => {
    for (const limit of ["0", "1000001", "-1", "1.5", "x", "", "99999999999", "3,4"]) {
      const { detail }: { detail: string } = await (await api.fetch(`/history?${START}&limit=${limit}`)).json();
      const expected = `Query parameter "limit": expected a whole number from 1 to 1000000, got "${limit}"`;
      assert.equal(detail, expected);
    }
  }));

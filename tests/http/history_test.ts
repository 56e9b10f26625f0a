import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { buildName, type Frame, type Message } from "../../src/frame/mod.ts";
import { type BlockDevice, JournalIndex } from "../../src/journal/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { keepWarnings, TestApi, TestJournal } from "../support/history.ts";
import { claim, message, nameFields, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const FROM = "from=2026-01-02T03:04:05Z";

interface Problem {
  type: string;
  status: number;
  detail: string;
  parameter?: string;
}

/** An API over a journal that holds messages, all but the newest on disk. */
async function withHistory(
  messages: readonly Message[],
  test: (api: TestApi, journal: TestJournal) => Promise<void>,
  { buses = ["can0"], maxHistory }: { buses?: string[]; maxHistory?: number } = {},
): Promise<void> {
  await inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder, { buses });
    journal.append(1, messages);
    await journal.writer.sync();
    const clock = new FakeClock();
    clock.advance(3_600_000);
    const api = new TestApi({ index: journal.index, buses, clock, ...(maxHistory && { maxHistory }) });
    await test(api, journal);
  });
}

async function seqsOf(api: TestApi, query: string): Promise<number[]> {
  return (await api.get<Frame[]>(`/history?${FROM}&${query}`)).map(({ seq }) => seq);
}

function seqsWhere(messages: readonly Message[], wanted: (message: Message) => boolean): number[] {
  return messages.flatMap((each, i) => wanted(each) ? [i + 1] : []);
}

/** A second of messages of three sources and four PGNs on two buses. */
const TRAFFIC = Array.from({ length: 1000 }, (_, i) =>
  message({
    pgn: [127250, 129025, 130306, 128267][i % 4]!,
    src: [3, 7, 21][i % 3]!,
    bus: i % 5 === 4 ? 1 : 0,
    monoMs: i,
    data: [i & 0xff, i >> 8, 1, 2, 3, 4, 5, 6].slice(0, i % 7 === 0 ? 5 : 8),
  }));

Deno.test(
  "history gives the same texts as live, frames that are not written yet included",
  DISK,
  () =>
    withHistory(TRAFFIC, async (api) => {
      for (const each of TRAFFIC) api.broker.publish(each);
      for (const decode of [false, true]) {
        const response = await api.fetch(`/history?${FROM}&decode=${decode}`);
        assert.equal(response.headers.get("Content-Type"), "application/json");
        const live = TRAFFIC.map((_, i) => decode ? api.broker.json.decodedOf(i + 1) : api.broker.json.of(i + 1));
        assert.equal(await response.text(), `[${live.join(",")}]`);
      }
    }, { buses: ["can0", "can1"] }),
);

Deno.test(
  "filters mean in the history what they mean elsewhere, and sources can be chosen",
  DISK,
  () =>
    withHistory(TRAFFIC, async (api) => {
      const check = async (query: string, wanted: (message: Message) => boolean) =>
        assert.deepEqual(await seqsOf(api, query), seqsWhere(TRAFFIC, wanted), query);
      const src = ({ id }: Message) => id & 0xff;
      await check("", () => true);
      await check("pgn=129025", ({ pgn }) => pgn === 129025);
      await check("pgn=129025&pgn=130306", ({ pgn }) => pgn === 129025 || pgn === 130306);
      await check("exclude_pgn=129025", ({ pgn }) => pgn !== 129025);
      await check("src=7", (each) => src(each) === 7);
      await check("src=7&src=3&pgn=128267", (each) => src(each) !== 21 && each.pgn === 128267);
      await check("bus=can1", ({ bus }) => bus === 1);
      await check("bus=can1&bus=can0&src=21", (each) => src(each) === 21);
      await check("bus=can9", () => false);
      await check("src=200", () => false);
    }, { buses: ["can0", "can1"] }),
);

Deno.test("times are inclusive, a frame is found by the time it shows, and `to` is now when left out", DISK, () => {
  const messages = [0, 500, 1500, 2999, 3000, 10_000].map((us) => message({ timeUs: START_US + us }));
  messages.push(message({ monoMs: 3_600_000 }), message({ monoMs: 3_600_001 }));
  return withHistory(messages, async (api) => {
    const at = async (from: string, to = "") =>
      (await api.get<Frame[]>(`/history?from=2026-01-02T${from}${to && `&to=2026-01-02T${to}`}`)).map(({ seq }) => seq);
    assert.deepEqual(await at("03:04:05Z"), [1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(await at("03:04:05Z", "03:04:05Z"), [1, 2]);
    assert.deepEqual(await at("03:04:05.001Z", "03:04:05.002Z"), [3, 4]);
    assert.deepEqual(await at("03:04:05.0015Z", "03:04:05.003Z"), [3, 4, 5]);
    assert.deepEqual(await at("04:04:05.010%2B01:00", "04:04:05.020%2B01:00"), [6]);
    assert.deepEqual(await at("04:04:05.010+01:00", "04:04:05.020+01:00"), [6]);
    assert.deepEqual(await at("00:04:05-03:00", "03:04:05z"), [1, 2]);
    assert.deepEqual(await at("04:04:05.001Z"), []);
    assert.deepEqual(await at("04:04:05.001Z", "04:04:06Z"), [8]);
    assert.deepEqual(await at("23:00:00Z"), []);
  });
});

Deno.test("the limit cuts the list, from the first frame on", DISK, () =>
  withHistory(TRAFFIC, async (api) => {
    assert.deepEqual(await seqsOf(api, "limit=3"), [1, 2, 3]);
    assert.deepEqual(await seqsOf(api, "limit=700&limit=2&src=7"), [2, 5]);
    assert.deepEqual((await seqsOf(api, "limit=800")).length, 800);
    assert.deepEqual((await seqsOf(api, "")).length, 800);
    for (const limit of ["0", "801", "-1", "1.5", "x", "", "99999999999"]) {
      const reply = await api.fetch(`/history?${FROM}&limit=${limit}`);
      assert.equal(reply.status, 400, limit);
      assert.equal((await reply.json() as Problem).parameter, "limit");
    }
  }, { buses: ["can0", "can1"], maxHistory: 800 }));

Deno.test("without a limit ten thousand frames are given, with one as many as a million", DISK, () => {
  const messages = Array.from({ length: 12_000 }, (_, i) => message({ monoMs: i / 10 }));
  return withHistory(messages, async (api) => {
    assert.equal((await seqsOf(api, "")).length, 10_000);
    assert.equal((await seqsOf(api, "limit=1000000")).length, 12_000);
    assert.equal((await api.fetch(`/history?${FROM}&limit=1000001`)).status, 400);
  });
});

Deno.test(
  "an interval keeps the first frame of each bus, source and PGN in each span of the clock",
  DISK,
  () =>
    withHistory(TRAFFIC, async (api) => {
      for (const [interval, ms] of [["100ms", 100], ["PT0.25S", 250], ["1s", 1000], ["7ms", 7]] as const) {
        const seen = new Set<string>();
        const expected = seqsWhere(TRAFFIC, ({ bus, id, pgn, timeUs }) => {
          const key = `${bus} ${id & 0xff} ${pgn} ${Math.floor(timeUs / 1000 / ms)}`;
          return !seen.has(key) && seen.add(key) !== undefined;
        });
        assert.deepEqual(await seqsOf(api, `interval=${interval}`), expected, interval);
        assert.deepEqual(await seqsOf(api, `interval=${interval}&limit=9`), expected.slice(0, 9), interval);
      }
      const one = await seqsOf(api, "interval=1s&pgn=127250&src=3&bus=can0&limit=10");
      assert.deepEqual(one, [1]);
    }, { buses: ["can0", "can1"] }),
);

Deno.test("what nothing matches is an empty list, also with an empty journal", DISK, async () => {
  await withHistory(TRAFFIC, async (api) => {
    assert.equal(await (await api.fetch(`/history?${FROM}&pgn=1`)).text(), "[]");
  });
  await withHistory([], async (api) => assert.deepEqual(await api.get(`/history?${FROM}`), []));
});

Deno.test("a parameter that cannot be read is named", DISK, () =>
  withHistory([], async (api) => {
    const bad: Record<string, string[]> = {
      from: [
        ...["", "to=2026-01-02T03:04:05Z", "from=", "from=now", "from=2026-01-02", "from=2026-01-02T03:04:05"],
        ...["from=2026-13-02T03:04:05Z", "from=2026-02-30T03:04:05Z", "from=2026-01-02T25:04:05Z", "from=1767323045"],
      ],
      to: [`${FROM}&to=2026-01-02T03:04:04.999Z`, `${FROM}&to=yesterday`, `${FROM}&to=`],
      interval: ["0", "0s", "-1s", "1", "x", "", "P1Y", "0.0001ms"].map((text) => `${FROM}&interval=${text}`),
      pgn: [`${FROM}&pgn=x`],
      src: [`${FROM}&src=256`, `${FROM}&src=3,4`],
      decode: [`${FROM}&decode=1`],
      name: [`${FROM}&name=xyz`],
      instance: [`${FROM}&instance=253`],
      devices: [`${FROM}&devices=true`],
    };
    for (const [parameter, queries] of Object.entries(bad)) {
      for (const query of queries) {
        const reply = await api.fetch(`/history?${query}`);
        const problem: Problem = await reply.json();
        assert.deepEqual([reply.status, problem.parameter], [400, parameter], `${query}: ${problem.detail}`);
        assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
      }
    }
  }));

Deno.test("a server without a journal says so", async () => {
  const api = new TestApi({});
  const reply = await api.fetch(`/history?${FROM}`);
  assert.equal(reply.status, 503);
  assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
  assert.match((await reply.json() as Problem).detail, /journal/);
  assert.equal((await api.fetch("/history")).status, 400);
});

Deno.test(
  "manufacturer, instance and NAME are those that the journal knew at the time",
  DISK,
  () =>
    inFolder(async (folder) => {
      const garmin = buildName(nameFields({ manufacturerCode: 229, deviceInstance: 4, uniqueNumber: 1 }));
      const other = buildName(nameFields({ manufacturerCode: 1851, deviceInstance: 9, uniqueNumber: 2 }));
      const blank = {
        activeFrom: 0,
        productCode: 0,
        modelId: "",
        softwareVersion: "",
        modelVersion: "",
        modelSerial: "",
      };
      const known: BlockDevice[] = [{ ...blank, bus: 0, src: 5, name: garmin }];
      await using journal = await TestJournal.open(folder, { devices: () => known });
      // 1: nobody's. 2: the first device's. 3, 4: the second claims 7. 5, 6: and then the first one's address.
      journal.append(1, [
        message({ src: 7, monoMs: 1 }),
        message({ src: 5, monoMs: 2 }),
        claim(other, { src: 7, monoMs: 3 }),
        message({ src: 7, monoMs: 4 }),
        claim(other, { src: 5, monoMs: 5 }),
        message({ src: 5, monoMs: 6 }),
      ]);
      await journal.writer.rotate();
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const clock = new FakeClock();
      clock.advance(1000);
      const api = new TestApi({ index, clock });
      assert.deepEqual(await seqsOf(api, "manufacturer=garmin"), [2]);
      assert.deepEqual(await seqsOf(api, "manufacturer=229&manufacturer=1851"), [2, 3, 4, 5, 6]);
      assert.deepEqual(await seqsOf(api, "instance=9"), [3, 4, 5, 6]);
      assert.deepEqual(await seqsOf(api, `name=${garmin.toString(16)}`), [2]);
      assert.deepEqual(await seqsOf(api, `exclude_name=0x${garmin.toString(16)}`), [1, 3, 4, 5, 6]);
      assert.deepEqual(await seqsOf(api, `exclude_name=${other.toString(16)}&pgn=127250`), [1, 2]);
      assert.deepEqual(await seqsOf(api, "instance=4&src=7"), []);
    }),
);

Deno.test(
  "a bus is named as it was when it was recorded, and left out where the server has but one",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using journal = await TestJournal.open(folder, { buses: ["can1", "old0"] });
        journal.append(1, [message({ bus: 0, monoMs: 1 }), message({ bus: 1, monoMs: 2 })]);
      }
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const clock = new FakeClock();
      clock.advance(1000);
      {
        const api = new TestApi({ index, clock, buses: ["can0", "can1"] });
        const frames = await api.get<Frame[]>(`/history?${FROM}`);
        assert.deepEqual(frames.map(({ bus }) => bus), ["can1", "old0"]);
        assert.deepEqual(await seqsOf(api, "bus=old0"), [2]);
        assert.deepEqual(await seqsOf(api, "bus=can1"), [1]);
      }
      const api = new TestApi({ index, clock, buses: ["can1"] });
      const frames = await api.get<Frame[]>(`/history?${FROM}`);
      assert.deepEqual(frames.map(({ bus }) => bus), [undefined, undefined]);
    }),
);

Deno.test("a damaged block is missing from the history, and nothing else is", DISK, () =>
  inFolder(async (folder) => {
    {
      await using journal = await TestJournal.open(folder, { compression: "none" });
      journal.append(1, TRAFFIC.map((each) => ({ ...each, bus: 0 })));
    }
    const { log, warnings } = keepWarnings();
    const index = await JournalIndex.open(folder, { log });
    const path = index.files[0]!.path;
    const bytes = Deno.readFileSync(path);
    bytes[16 + 4096 + 100]! ^= 1;
    Deno.writeFileSync(path, bytes);
    const clock = new FakeClock();
    clock.advance(1000);
    const api = new TestApi({ index, clock });
    const seqs = await seqsOf(api, "");
    const missing = TRAFFIC.map((_, i) => i + 1).filter((seq) => !seqs.includes(seq));
    assert.equal(missing.at(-1)! - missing[0]! + 1, missing.length);
    assert.ok(missing.length > 100 && missing[0]! > 100);
    assert.equal(warnings.length, 1);
    assert.equal(index.damagedBlocks, 1);
  }));

Deno.test("a history nobody reads on is let go: its file is closed", DISK, () => {
  const messages = Array.from({ length: 20_000 }, (_, i) => message({ monoMs: i / 10 }));
  return withHistory(messages, async (api, journal) => {
    await journal.writer.rotate();
    for (const query of ["limit=20000", "limit=20000&pgn=1", "limit=20000&decode=true"]) {
      const response = await api.fetch(`/history?${FROM}&${query}`);
      const reader = response.body!.getReader();
      assert.equal((await reader.read()).value![0], "[".charCodeAt(0));
      await reader.cancel();
    }
  });
});

import assert from "node:assert/strict";
import { connect, connectCloud, type VoyagesReply } from "../../src/client/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { HistoryTurns } from "../../src/http/history/turns.ts";
import { MAX_VOYAGE_DAYS } from "../../src/http/voyages/routes.ts";
import { decode } from "../../src/pgn/mod.ts";
import { DEFAULT_SERIES_PGNS } from "../../src/series/mod.ts";
import { RecordedVoyages } from "../../src/voyages/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { START_US } from "../support/messages.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { openRollup } from "../support/rollup.ts";
import { assertAlmostEqual } from "../voyages/almost_equal.ts";
import { messagesOfSamples, type MessagesOptions, storedFrameOf } from "../voyages/frames_of.ts";
import { PassageMaker } from "../voyages/passage.ts";
import { passageOf, RECEIVERS, START_MS } from "../voyages/passages.ts";
import { CloudServer } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write"] });
const SERVER = needs({ permissions: ["net", "read", "write"] });
const HOUR = 3600;
const DAY_MS = 24 * HOUR * 1000;
const TOLERANCE_MS = 60_000;
const FRAMES_A_FILE = 2000;

/** A clock that shows the time after a number of days of passages. */
function clockAfter(days: number): FakeClock {
  const clock = new FakeClock();
  clock.jump(START_MS + days * DAY_MS - START_US / 1000);
  return clock;
}

const timeText = (ms: number) => new Date(ms).toISOString();
const rangeText = (fromMs: number, toMs: number) => `from=${timeText(fromMs)}&to=${timeText(toMs)}`;
const WHOLE = `/voyages?${rangeText(START_MS - HOUR * 1000, START_MS + 1.5 * DAY_MS)}`;

/** Two trips of half an hour each. */
function twoTrips(): PassageMaker {
  const boat = new PassageMaker(new Random(8), { startMs: START_MS, receiver: RECEIVERS[1]! });
  boat.berth(0.7 * HOUR).voyage(() => boat.go(0.5 * HOUR, { knots: 6, engine: true })).berth(0.8 * HOUR);
  return boat.voyage(() => boat.go(0.5 * HOUR, { knots: 5, engine: true })).berth(0.7 * HOUR);
}

/** Records the messages of a boat in several files, and asks. */
function withVoyages(
  boat: PassageMaker,
  test: (journal: TestJournal, options: { messages: readonly Message[]; folder: string }) => Promise<void>,
  options: MessagesOptions = {},
): Promise<void> {
  return inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder, { blockBytes: 16_384 });
    const messages = messagesOfSamples(boat.samples, options);
    for (let at = 0; at < messages.length; at += FRAMES_A_FILE) {
      journal.append(at + 1, messages.slice(at, at + FRAMES_A_FILE));
      await journal.writer.rotate();
    }
    assert.equal(journal.writer.lost, 0);
    await test(journal, { messages, folder });
  });
}

/** True if both ends are those of the truth. */
function isSame(found: { start: string; end: string }, expected: { startMs: number; endMs: number }): boolean {
  return Math.abs(Date.parse(found.start) - expected.startMs) <= TOLERANCE_MS &&
    Math.abs(Date.parse(found.end) - expected.endMs) <= TOLERANCE_MS;
}

/** The points of a track. */
function pointsOf(gpx: string): { latitude: number; longitude: number; ms: number }[] {
  return Array.from(
    gpx.matchAll(/<trkpt lat="(.*?)" lon="(.*?)"><time>(.*?)</g),
    ([, latitude, longitude, time = ""]) => ({
      ...{ latitude: Number(latitude), longitude: Number(longitude), ms: Date.parse(time) },
    }),
  );
}

const RECORDED = [{ name: "of two trips", boat: twoTrips() }, ...(IS_FULL ? [6, 7, 24].map(passageOf) : [])];
for (const { name, boat } of RECORDED) {
  Deno.test(
    `the voyages of passage ${name} are the same from sidecars, from frames, and without a server`,
    DISK,
    () =>
      withVoyages(boat, async (journal, { messages }) => {
        const rollup = openRollup(journal.index, { pgns: DEFAULT_SERIES_PGNS, buses: ["can0"] });
        await rollup.caughtUp();
        const clock = clockAfter(5);
        const few = { maxSeriesScan: 0.8 * messages.length };
        const fromSidecars = await new TestApi({ ...journal, rollup, clock, seriesLimits: few }).get<VoyagesReply>(
          WHOLE,
        );
        const fromFrames = await new TestApi({ ...journal, clock }).get<VoyagesReply>(WHOLE);
        await rollup.stop();
        assertAlmostEqual(fromSidecars, fromFrames);
        const recorded = new RecordedVoyages({ decode });
        for (const each of messages) recorded.add(storedFrameOf(each));
        const { from: _from, to: _to, ...report } = fromFrames;
        assertAlmostEqual(report, recorded.find().report);
        assert.equal(report.voyages.length, boat.voyages.length);
        for (const [i, each] of report.voyages.entries()) assert.ok(isSame(each, boat.voyages[i]!), each.start);
      }),
  );
}

Deno.test("positions of PGN 129029 are read from sidecars, too, for the days without 129025", DISK, () => {
  const boat = twoTrips();
  return withVoyages(boat, async (journal, { messages }) => {
    const rollup = openRollup(journal.index, { pgns: DEFAULT_SERIES_PGNS, buses: ["can0"] });
    await rollup.caughtUp();
    const seriesLimits = { maxSeriesScan: 0.8 * messages.length };
    const api = new TestApi({ ...journal, rollup, clock: clockAfter(5), seriesLimits });
    const { voyages } = await api.get<VoyagesReply>(WHOLE);
    await rollup.stop();
    assert.equal(voyages.length, 2);
    for (const [i, each] of voyages.entries()) assert.ok(isSame(each, boat.voyages[i]!));
  }, { positionPgn: 129029 });
});

Deno.test("a voyage that touches the range is whole, whichever part of it the range is", DISK, () => {
  const boat = twoTrips();
  return withVoyages(boat, async (journal) => {
    const api = new TestApi({ ...journal, clock: clockAfter(5) });
    const { voyages: whole } = await api.get<VoyagesReply>(WHOLE);
    assert.equal(whole.length, 2);
    const [first, second] = boat.voyages;
    const ask = async (fromMs: number, toMs: number) =>
      await api.get<VoyagesReply>(`/voyages?${rangeText(fromMs, toMs)}`);
    for (const part of [0.02, 0.5, 0.98]) {
      const atMs = first!.startMs + part * (first!.endMs - first!.startMs);
      const { voyages, stays } = await ask(atMs, atMs + 1000);
      assert.deepEqual(stays, []);
      assert.equal(voyages.length, 1);
      assert.ok(isSame(voyages[0]!, first!) && voyages[0]!.is_complete);
    }
    const { voyages, stays } = await ask(first!.endMs + 600_000, second!.startMs - 600_000);
    assert.deepEqual(voyages, []);
    assert.deepEqual(stays.map(({ state, start, end }) => [state, Date.parse(start), Date.parse(end)]), [
      ["in_port", first!.endMs + 600_000, second!.startMs - 600_000].map((each) =>
        typeof each === "number" ? Math.round(each / 1000) * 1000 : each
      ),
    ]);
  });
});

Deno.test("a boat that is under way now has a voyage that is not complete", DISK, () => {
  const boat = twoTrips();
  const nowMs = boat.voyages[1]!.startMs + 0.4 * HOUR * 1000;
  return withVoyages(boat, async (journal) => {
    const clock = new FakeClock();
    clock.jump(nowMs - START_US / 1000);
    const api = new TestApi({ ...journal, clock });
    const { voyages } = await api.get<VoyagesReply>(`/voyages?from=${timeText(START_MS)}`);
    assert.deepEqual(voyages.map(({ is_complete }) => is_complete), [true, false]);
    assert.ok(Math.abs(Date.parse(voyages[1]!.end) - nowMs) <= TOLERANCE_MS);
  });
});

Deno.test("the track of a voyage is GPX, by its start and by any time in it", DISK, () => {
  const boat = twoTrips();
  return withVoyages(boat, async (journal) => {
    const api = new TestApi({ ...journal, clock: clockAfter(5) });
    const { voyages } = await api.get<VoyagesReply>(WHOLE);
    const { start, end, start_position: position } = voyages[1]!;
    const reply = await api.fetch(`/voyages/${start}.gpx`);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get("Content-Type"), "application/gpx+xml");
    assert.match(reply.headers.get("Content-Disposition") ?? "", /^attachment; filename="2026-07-01T\d{6}Z\.gpx"$/);
    const text = await reply.text();
    assert.equal(
      await (await api.fetch(`/voyages/${timeText(boat.voyages[1]!.startMs + 0.3 * HOUR * 1000)}.gpx`)).text(),
      text,
    );
    const points = pointsOf(text);
    assert.equal(text.split("<trkseg>").length, 2);
    assert.ok(points.length > 58, `${points.length} points`);
    assert.ok(points.every(({ ms }) => ms >= Date.parse(start) - 60_000 && ms <= Date.parse(end) + 60_000));
    assert.deepEqual([points[0]!.latitude, points[0]!.longitude], [position.latitude, position.longitude]);
  });
});

Deno.test(
  "a request for voyages that cannot be answered says why",
  DISK,
  () =>
    withVoyages(twoTrips(), async (journal) => {
      const api = new TestApi({ ...journal, clock: clockAfter(5), seriesLimits: { maxSeriesScan: 100 } });
      const check = async (path: string, { status, words }: { status: number; words: RegExp }, of = api) => {
        const reply = await of.fetch(path);
        const { detail } = await reply.json() as { detail: string };
        assert.equal(reply.status, status, `${path} ${detail}`);
        assert.match(detail, words, path);
      };
      await check("/voyages", { status: 400, words: /"from".*required/ });
      await check("/voyages?from=yesterday", { status: 400, words: /RFC 3339/ });
      await check(`/voyages?${rangeText(START_MS, START_MS - 1000)}`, { status: 400, words: /"to".*before/ });
      const long = rangeText(START_MS - (MAX_VOYAGE_DAYS + 1) * DAY_MS, START_MS);
      await check(`/voyages?${long}`, { status: 400, words: /"from".*more than 366 days/ });
      await check(`/voyages?from=${timeText(START_MS)}&points=3`, { status: 400, words: /unknown/ });
      await check(WHOLE, { status: 400, words: /of at most 100 \(-series-max-scan\): ask for a shorter time/ });
      await check("/voyages/x.gpx", { status: 400, words: /expected the start of a voyage and \.gpx, got "x\.gpx"/ });
      await check(`/voyages/${timeText(START_MS)}`, { status: 400, words: /\.gpx/ });
      const unlimited = new TestApi({ ...journal, clock: clockAfter(5) });
      await check(
        `/voyages/${timeText(START_MS)}.gpx`,
        { status: 404, words: /no voyage at 2026-07-01T06/ },
        unlimited,
      );
      await check(WHOLE, { status: 503, words: /Recording is off/ }, new TestApi({}));
    }),
);

Deno.test(
  "a request for voyages waits for its turn, and gives it back, also when its client goes",
  DISK,
  () =>
    withVoyages(twoTrips(), async (journal) => {
      const histories = new HistoryTurns(() => 1);
      const api = new TestApi({ ...journal, clock: clockAfter(5), histories });
      const release = await histories.take({ signal: new AbortController().signal });
      const waiting = api.get<VoyagesReply>(WHOLE);
      await eventually("the request to wait", () => histories.waiting === 1);
      release();
      assert.equal((await waiting).voyages.length, 2);
      const cancelled = new AbortController();
      const reply = api.handle(new Request(`http://boat${WHOLE}`, { signal: cancelled.signal }));
      while (histories.running === 0) await pause(0);
      cancelled.abort();
      assert.equal((await reply).status, 503);
      const track = await api.fetch(`/voyages/${timeText(twoTrips().voyages[0]!.startMs + 60_000)}.gpx`);
      assert.equal(histories.running, 1);
      await track.body?.cancel();
      assert.equal(histories.running, 0);
    }),
);

Deno.test(
  "a boat server has the voyages of its journal, also without PGN 129025, and the client gets them",
  SERVER,
  () => {
    const boat = twoTrips();
    return withVoyages(boat, async ({ writer }, { folder }) => {
      await writer.close();
      const journal = { directory: folder, stateDirectory: `${folder}/state` };
      await using server = await TestBoat.start({ stateDirectory: `${folder}/state`, journal, clock: clockAfter(5) });
      const client = connect(server.url);
      const { voyages } = await client.voyages({ from: new Date(START_MS) });
      assert.equal(voyages.length, 2);
      for (const [i, each] of voyages.entries()) assert.ok(isSame(each, boat.voyages[i]!));
      assert.match(await client.voyageTrack(voyages[0]!.start), /^<\?xml .*\n<gpx [\s\S]*<trkpt [\s\S]*<\/gpx>\n$/);
    }, { positionPgn: 129029 });
  },
);

Deno.test("a cloud has the voyages of each boat", SERVER, () =>
  inFolder(async (folder) => {
    const trips = twoTrips();
    await using server = await CloudServer.start(folder, { seriesPgns: DEFAULT_SERIES_PGNS, clock: clockAfter(5) });
    const boat = await server.boat("boat-1");
    for (const each of messagesOfSamples(trips.samples)) boat.take(each);
    const client = connectCloud(server.url).boat("boat-1");
    const ask = () => client.voyages({ from: timeText(START_MS) });
    await eventually("the voyages", async () => (await ask()).voyages.length === 2);
    const { voyages } = await ask();
    for (const [i, each] of voyages.entries()) assert.ok(isSame(each, trips.voyages[i]!));
    assert.match(await client.voyageTrack(voyages[1]!.start), /<trkpt /);
    const other = await fetch(`${server.url}/instances/other/voyages?from=${timeText(START_MS)}`);
    assert.equal(other.status, 404);
    await other.body?.cancel();
  }));

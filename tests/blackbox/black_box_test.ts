import assert from "node:assert/strict";
import type { BlackBoxFile } from "../../src/blackbox/mod.ts";
import { WindowBlocks } from "../../src/blackbox/window.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { readJournalDirectory } from "../../src/journal/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";
import { needs } from "../support/needs.ts";
import { type Fed, RecordedBoat } from "../support/recorded_boat.ts";

const DISK = needs({ permissions: ["read", "write"] });
const MINUTE = 60_000;
/** The window is a second wider, because numbers are noted once a second. */
const ROUND = 1000;

/** The newest file when its frames are written. */
function completed(boat: RecordedBoat): Promise<BlackBoxFile> {
  return eventually("the file", () => {
    const [file] = boat.black.box.list();
    return file?.isComplete ? file : undefined;
  });
}

/** Frames of a file in the form of those that were fed, read by an independent reader. */
async function readFed(path: string | undefined): Promise<Omit<Fed, "atMs">[]> {
  assert.ok(path);
  const { indexed, blocks } = readLpj(await Deno.readFile(path));
  assert.ok(indexed);
  return blocks.flatMap(({ frames }) => frames).map(({ seq, data }) => ({ seq: Number(seq), data }));
}

/** Asserts that a file has all that was fed within the times, and nothing that is more than a round outside. */
async function assertWindow(boat: RecordedBoat, file: BlackBoxFile, [fromMs, toMs]: [number, number]): Promise<void> {
  const frames = await readFed(boat.black.box.pathOf(file.event.name));
  const seqs = new Set(frames.map(({ seq }) => seq));
  for (const { seq, atMs } of boat.fedBetween(fromMs, toMs)) assert.ok(seqs.has(seq), `frame of ${atMs} ms`);
  const widest = new Map(boat.fedBetween(fromMs - ROUND, toMs + ROUND).map(({ seq, data }) => [seq, data]));
  for (const { seq, data } of frames) assert.equal(widest.get(seq), data);
  assert.equal(seqs.size, frames.length, "each once");
  assert.equal(file.event.frames?.count, frames.length);
}

for (const isRecording of [true, false]) {
  const from = isRecording ? "the journal" : "the ring";
  Deno.test(
    `an event keeps the frames from a minute before to a minute after it, from ${from}`,
    DISK,
    () =>
      inFolder(async (folder) => {
        await using boat = await RecordedBoat.open(folder, { clock: new FakeClock(), isRecording });
        boat.run(5 * MINUTE);
        const atMs = boat.clock.monoMs();
        assert.equal(boat.black.mark("sail torn")?.isNew, true);
        boat.run(MINUTE + ROUND);
        const file = await completed(boat);
        const { kind, text, frames } = file.event;
        assert.deepEqual([kind, text, frames?.missing, frames?.is_interrupted], ["mark", "sail torn", 0, false]);
        boat.run(2 * MINUTE);
        await assertWindow(boat, file, [atMs - MINUTE, atMs + MINUTE]);
      }),
  );

  Deno.test(
    `a clock that is set within the window changes nothing in what is kept, from ${from}`,
    DISK,
    () =>
      inFolder(async (folder) => {
        await using boat = await RecordedBoat.open(folder, { clock: new FakeClock(), isRecording });
        boat.run(3 * MINUTE);
        const atMs = boat.clock.monoMs();
        boat.black.mark("");
        boat.run(20_000);
        boat.clock.jump(-86_400_000);
        boat.run(20_000);
        boat.clock.jump(40 * 86_400_000);
        boat.run(20_000 + ROUND);
        await assertWindow(boat, await completed(boat), [atMs - MINUTE, atMs + MINUTE]);
      }),
  );
}

Deno.test(
  "without a journal, frames that the ring no longer had are counted as missing",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = await RecordedBoat.open(folder, {
        clock: new FakeClock(),
        isRecording: false,
        ringFrames: 256,
      });
      boat.run(3 * MINUTE);
      boat.black.mark("");
      boat.run(MINUTE + ROUND);
      const { event } = await completed(boat);
      // At ten frames a second 600 were before the event, of which the ring had 256.
      const expected = 600 - 256;
      assert.ok(
        Math.abs((event.frames?.missing ?? 0) - expected) <= 10,
        `${event.frames?.missing} of some ${expected}`,
      );
      const frames = await readFed(boat.black.box.pathOf(event.name));
      const { seq: lastSeq = 0 } = frames.at(-1) ?? {};
      assert.equal(
        frames.length + (event.frames?.missing ?? 0),
        lastSeq - event.from_seq + 1,
        "kept and missing are all",
      );
    }),
);

Deno.test(
  "one file for a subject and ten minutes, and for alerts within ten seconds; a mark has its own",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = await RecordedBoat.open(folder, { clock: new FakeClock() });
      boat.run(MINUTE);
      const note = (subject: string) =>
        boat.black.box.note({ kind: "x", subject, text: "", timeUs: boat.clock.wallUs() });
      const first = note("a");
      assert.deepEqual(note("a"), { name: first?.name, isNew: false });
      assert.deepEqual(note("b"), { name: first?.name, isNew: false });
      assert.equal(boat.black.mark("")?.isNew, true);
      boat.run(11_000, { stepMs: 1000 });
      assert.deepEqual(note("b"), { name: first?.name, isNew: false });
      assert.equal(note("c")?.isNew, true);
      boat.run(9.7 * MINUTE, { stepMs: 1000 });
      assert.deepEqual(note("a"), { name: first?.name, isNew: false });
      boat.run(0.2 * MINUTE, { stepMs: 1000 });
      assert.equal(note("a")?.isNew, true);
      assert.equal(boat.black.box.list().length, 4);
    }),
);

Deno.test("of the run before an event has few frames, however wrong its clock was", () => {
  const frame = { ...newStoredFrame(), timeUs: 1, data: new Uint8Array(8), length: 8 };
  const range = { fromSeq: 500_000, throughSeq: 500_001, fromUs: 0 };
  const window = new WindowBlocks(range, { epoch: new Uint8Array(16).fill(1) });
  for (const seq of [1, 259_999, 260_000, 500_000, 500_001]) window.add({ ...frame, seq }, 0);
  assert.equal(window.end()?.window.count, 3);
});

Deno.test("a man-overboard message is an event, and its frame is in the file", DISK, () =>
  inFolder(async (folder) => {
    await using boat = await RecordedBoat.open(folder, { clock: new FakeClock() });
    boat.run(2 * MINUTE);
    boat.say({ pgn: 127233, src: 7, bus: 1, data: new Uint8Array(35).fill(0xff).fill(1, 5, 6) });
    const mob = boat.fed.at(-1);
    boat.run(MINUTE + 3 * ROUND);
    const { event } = await completed(boat);
    assert.deepEqual([event.kind, event.subject], ["mob", "mob:can1:7"]);
    assert.match(event.text, /^Man overboard, from address 7 on can1: Manual on-board MOB Button Activation$/);
    const frames = await readFed(boat.black.box.pathOf(event.name));
    assert.ok(frames.some(({ seq, data }) => seq === mob?.seq && data === mob.data));
  }));

Deno.test("an alert is an event, its end is none", DISK, () =>
  inFolder(async (folder) => {
    await using boat = await RecordedBoat.open(folder, { clock: new FakeClock() });
    const alert = { id: "1", timestamp: "", type: "bus_down", subject: "bus:can0:link", details: {} };
    boat.black.alert({ ...alert, severity: "info", summary: "can0 is up again" });
    assert.equal(boat.black.box.list().length, 0);
    boat.black.alert({ ...alert, severity: "critical", summary: "can0 is down" });
    const [file] = boat.black.box.list();
    assert.deepEqual([file?.event.kind, file?.event.subject], ["bus_down", "bus:can0:link"]);
    assert.match(file?.event.name ?? "", /^bus_down-20260102T030405\.000Z\.lpj$/);
  }));

Deno.test(
  "at a stop, what there is is written, and the file says that the server did not run all the time",
  DISK,
  () =>
    inFolder(async (folder) => {
      let name = "";
      {
        await using boat = await RecordedBoat.open(folder, { clock: new FakeClock() });
        boat.run(2 * MINUTE);
        name = boat.black.mark("")?.name ?? "";
        boat.run(10_000);
      }
      const { frames } = JSON.parse(
        await Deno.readTextFile(`${folder}/journal/blackbox/${name.replace(".lpj", ".json")}`),
      );
      assert.equal(frames.is_interrupted, true);
      assert.ok(Math.abs(frames.count - 700) <= 10, `${frames.count}`);
      assert.equal((await readFed(`${folder}/journal/blackbox/${name}`)).length, frames.count);
    }),
);

Deno.test(
  "after a crash within the minute the next start finishes the file from the journal",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const crashed = `${folder}/crashed`;
      let wanted: Fed[] = [];
      {
        await using boat = await RecordedBoat.open(`${folder}/first`, { clock });
        boat.run(3 * MINUTE);
        boat.black.mark("crash");
        const atMs = clock.monoMs();
        boat.run(15_000);
        await boat.stores.journal?.sync();
        await eventually("the event on disk", async () =>
          (await Array.fromAsync(Deno.readDir(`${folder}/first/journal/blackbox`))).some(({ name }) =>
            name.endsWith("json")
          ));
        copyAsCrashed(`${folder}/first`, crashed);
        wanted = boat.fedBetween(atMs - MINUTE + ROUND, atMs + MINUTE);
      }
      // 5 s later it runs again, and its frames belong to the window, too.
      clock.advance(5000);
      await using boat = await RecordedBoat.open(crashed, { clock });
      assert.deepEqual(
        boat.black.box.list().map(({ isComplete }) =>
          isComplete
        ),
        [false],
      );
      boat.run(60_000);
      const file = await completed(boat);
      assert.deepEqual([file.event.text, file.event.frames?.is_interrupted], ["crash", true]);
      const frames = await readFed(boat.black.box.pathOf(file.event.name));
      const kept = new Set(frames.map(({ seq, data }) => `${seq} ${data}`));
      const after = boat.fed.slice(0, 390);
      for (const { seq, data } of [...wanted, ...after]) assert.ok(kept.has(`${seq} ${data}`), `frame ${seq}`);
      assert.ok(frames.length < wanted.length + 400 + 2 * 10);
      assert.equal(boat.black.mark("again")?.isNew, false, "the rule of ten minutes survives the crash");
    }),
);

Deno.test("an event just after a start keeps frames of the run before", DISK, () =>
  inFolder(async (folder) => {
    const clock = new FakeClock();
    let before: Fed[] = [];
    {
      await using boat = await RecordedBoat.open(folder, { clock });
      boat.run(2 * MINUTE);
      before = boat.fed;
    }
    await using boat = await RecordedBoat.open(folder, { clock });
    boat.run(10_000);
    boat.black.mark("");
    boat.run(MINUTE + ROUND);
    const { event } = await completed(boat);
    assert.equal(event.frames?.is_interrupted, true);
    assert.equal(event.frames?.missing, 0);
    const kept = new Set((await readFed(boat.black.box.pathOf(event.name))).map(({ seq }) => seq));
    for (const { seq } of before.slice(-490)) assert.ok(kept.has(seq), `frame ${seq}`);
    assert.ok(!kept.has(before.at(-520)?.seq ?? 0));
  }));

Deno.test("beyond the size the oldest files are deleted first", DISK, () =>
  inFolder(async (folder) => {
    const clock = new FakeClock();
    await using boat = await RecordedBoat.open(folder, { clock, maxBytes: 8000 });
    boat.run(MINUTE);
    const names: string[] = [];
    for (let i = 0; i < 6; i++) {
      names.push(boat.black.box.note({ kind: "x", subject: `${i}`, text: "", timeUs: clock.wallUs() })?.name ?? "");
      boat.run(MINUTE + ROUND);
      await completed(boat);
    }
    const namesThere = () => Array.fromAsync(Deno.readDir(`${folder}/journal/blackbox`), ({ name }) => name);
    const isOver = () => boat.black.box.list().reduce((sum, file) => sum + file.bytes, 0) > 8000;
    // Files are deleted after the newest one is complete.
    const isDone = async () => !isOver() && (await namesThere()).length === 2 * boat.black.box.list().length;
    await eventually("the oldest to be deleted", isDone);
    const files = boat.black.box.list();
    assert.ok(files.length > 0 && files.length < 6);
    assert.deepEqual(files.map(({ event }) => event.name).reverse(), names.slice(-files.length));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    assert.ok(bytes <= 8000, `${bytes}`);
    assert.equal((await namesThere()).length, 2 * files.length);
  }));

Deno.test("a journal with a black box has the same frames as without it", DISK, () =>
  inFolder(async (folder) => {
    const count = async () => {
      const { files, wals } = await readJournalDirectory(`${folder}/journal`);
      return [files.length, wals.length];
    };
    {
      await using boat = await RecordedBoat.open(folder, { clock: new FakeClock() });
      boat.run(MINUTE);
      boat.black.mark("");
      boat.run(MINUTE + ROUND);
      await completed(boat);
    }
    const before = await count();
    await Deno.remove(`${folder}/journal/blackbox`, { recursive: true });
    assert.deepEqual(await count(), before);
  }));

Deno.test(
  "what a crash has left of a file is removed at the start, and the file is made",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const box = `${folder}/journal/blackbox`;
      let name = "";
      {
        await using boat = await RecordedBoat.open(folder, { clock });
        boat.run(MINUTE);
        name = boat.black.mark("")?.name ?? "";
        boat.run(MINUTE + ROUND);
        await completed(boat);
      }
      const whole = await readFed(`${box}/${name}`);
      // As between the two writes: the figures are there, the frames have a temporary name.
      await Deno.rename(`${box}/${name}`, `${box}/.${name}.tmp`);
      await Deno.truncate(`${box}/.${name}.tmp`, 100);
      await Deno.writeTextFile(`${box}/x-20260102T030405.000Z.lpj`, "frames without an event");
      await using boat = await RecordedBoat.open(folder, { clock });
      boat.run(ROUND, { stepMs: ROUND });
      await completed(boat);
      const frames = await readFed(`${box}/${name}`);
      assert.deepEqual(frames.filter(({ seq }) => whole.some((each) => each.seq === seq)), whole);
      const there = await Array.fromAsync(Deno.readDir(box), (each) => each.name);
      assert.deepEqual(there.sort(), [name, name.replace(".lpj", ".json")].sort());
    }),
);

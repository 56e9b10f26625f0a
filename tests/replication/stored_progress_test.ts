import assert from "node:assert/strict";
import { AtomicFile } from "../../src/base/mod.ts";
import { type HandshakeResponse, LOST_UNSTORED, Ranges, StoredProgress } from "../../src/replication/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { keptLog } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { NEVER_USED } from "../../src/replication/link/missing.ts";
import { RESPONSE } from "./fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });
const [NOW, BEFORE, FIRST] = [7, 8, 9];

function progressOf(isKept?: boolean): StoredProgress {
  return StoredProgress.inMemory({ clock: new FakeClock(), log: keptLog().log, isKept });
}

function answer(said: Partial<HandshakeResponse>): { response: HandshakeResponse; isPeer: boolean } {
  return { response: { ...RESPONSE, cursor: 90, durableThrough: 80, ...said }, isPeer: false };
}

Deno.test("files are kept until the cloud says that it has no store, and as it is set where it is set", () => {
  const [unset, on, off] = [progressOf(), progressOf(true), progressOf(false)];
  const kept = () => [unset.isKept, on.isKept, off.isKept];
  assert.deepEqual(kept(), [true, true, false]);
  for (const each of [unset, on, off]) each.noteHandshake(NOW, answer({}));
  assert.deepEqual(kept(), [false, true, false]);
  for (const each of [unset, on, off]) each.noteHandshake(NOW, answer({ storedThrough: 0 }));
  assert.deepEqual(kept(), [true, true, false]);
});

Deno.test("what is stored is what the store has; without a store what is on disk; of other software what it acknowledges", () => {
  const progress = progressOf();
  assert.deepEqual([progress.reported(NOW), progress.storedThrough(NOW)], [undefined, 0]);
  progress.noteHandshake(NOW, answer({ storedThrough: 70 }));
  assert.equal(progress.storedThrough(NOW), 70);
  progress.noteStatus(NOW, { ackSeq: 100, receivedThrough: 100 });
  assert.equal(progress.storedThrough(NOW), 70, "a store that is not mentioned has stored no more");
  progress.noteStatus(NOW, { ackSeq: 100, receivedThrough: 100, storedThrough: 75 });
  assert.equal(progress.storedThrough(NOW), 75);
  progress.noteHandshake(NOW, answer({ storedThrough: 60 }));
  assert.equal(progress.storedThrough(NOW), 60, "a store that has lost frames does not have them");
  progress.noteHandshake(NOW, answer({}));
  assert.equal(progress.storedThrough(NOW), 80);
  progress.noteStatus(NOW, { ackSeq: 85, receivedThrough: 100 });
  assert.equal(progress.storedThrough(NOW), 85);
  progress.noteHandshake(NOW, { ...answer({ durableThrough: 0 }), isPeer: true });
  assert.equal(progress.storedThrough(NOW), 90);
});

Deno.test("a former epoch is stored when the cloud holds all of it, and not while that is unknown or it has holes", () => {
  const progress = progressOf();
  progress.noteHandshake(BEFORE, answer({ storedThrough: 50 }));
  progress.noteHandshake(NOW, answer({ storedThrough: 5 }));
  const note = (holes: Ranges | undefined, isHeld: boolean) =>
    progress.noteFormer(NOW, [{ epochWord: BEFORE, holes, isHeld }, { epochWord: FIRST, holes, isHeld }]);
  const stored = () => [progress.storedThrough(BEFORE), progress.storedThrough(FIRST)];
  note(undefined, false);
  assert.deepEqual(stored(), [50, 0]);
  note(new Ranges([{ start: 40, end: 60 }]), false);
  assert.deepEqual(stored(), [39, 0]);
  note(new Ranges(), false);
  assert.deepEqual(stored(), [39, 0], "nobody knows whose frames the cloud has");
  note(new Ranges(), true);
  assert.deepEqual(stored(), [Infinity, Infinity]);
  note(new Ranges([{ start: 4, end: 5 }]), false);
  assert.deepEqual(stored(), [0, 0]);
  progress.noteFormer(NOW, []);
  assert.deepEqual([progress.reported(BEFORE), progress.storedThrough(NOW)], [undefined, 5]);
});

Deno.test("deleted frames are lost until the cloud has passed them", () => {
  const progress = progressOf();
  progress.noteHandshake(NOW, answer({ storedThrough: 10, durableThrough: 10 }));
  progress.noteDeleted({ epochWord: NOW, ranges: [{ start: 11, end: 21 }, { start: 25, end: 30 }] });
  progress.noteDeleted({ epochWord: BEFORE, ranges: [{ start: 1, end: 3 }] });
  assert.deepEqual(progress.lostOf(NOW), [
    { start: 11, end: 21, reason: LOST_UNSTORED },
    { start: 25, end: 30, reason: LOST_UNSTORED },
  ]);
  assert.equal(progress.lostFrames, 17);
  progress.noteStatus(NOW, { ackSeq: 0, receivedThrough: 0, storedThrough: 26 });
  assert.deepEqual(progress.lostOf(NOW), [{ start: 27, end: 30, reason: LOST_UNSTORED }]);
  progress.noteFormer(NOW, [{ epochWord: BEFORE, holes: new Ranges(), isHeld: true }]);
  assert.equal(progress.lostFrames, 3);
  progress.noteStatus(NOW, { ackSeq: 0, receivedThrough: 0, storedThrough: 29 });
  assert.equal(progress.lostFrames, 0);
});

Deno.test("frames that were deleted before they were stored are not lost while the cloud holds them", () => {
  const progress = progressOf();
  progress.noteHandshake(NOW, answer({ storedThrough: 10, durableThrough: 15 }));
  progress.noteDeleted({ epochWord: NOW, ranges: [{ start: 11, end: 21 }] });
  assert.deepEqual(progress.lostOf(NOW), [{ start: 16, end: 21, reason: LOST_UNSTORED }]);
  assert.equal(progress.lostFrames, 10, "they are in danger");
  progress.noteHandshake(NOW, answer({ storedThrough: 10, durableThrough: 12 }));
  assert.deepEqual(progress.lostOf(NOW), [{ start: 13, end: 21, reason: LOST_UNSTORED }]);
});

Deno.test("a restart knows what was known, and a damaged file is as none", DISK, async () => {
  await inFolder(async (folder) => {
    const { log, lines } = keptLog();
    const file = new AtomicFile(folder, { name: "replication.json" });
    const open = () => StoredProgress.open({ file, clock: new FakeClock(), log });
    const first = await open();
    first.noteHandshake(NOW, answer({ storedThrough: 10, durableThrough: 14 }));
    first.noteFormer(NOW, [{ epochWord: BEFORE, holes: new Ranges(), isHeld: true }]);
    first.noteDeleted({ epochWord: NOW, ranges: [{ start: 11, end: 21 }] });
    first.noteStatus(NOW, { ackSeq: 15, receivedThrough: 15, storedThrough: 12 });
    await first.close();
    const second = await open();
    assert.deepEqual([second.reported(NOW), second.storedThrough(BEFORE)], [12, Infinity]);
    assert.deepEqual(second.lostOf(NOW), [{ start: 16, end: 21, reason: LOST_UNSTORED }]);
    assert.equal(second.lostFrames, 8);
    second.noteHandshake(NOW, answer({}));
    await second.close();
    assert.equal((await open()).isKept, false, "the cloud has no store");

    const range = `{"epochs":[{"word":1,"through":2,"acknowledged":3,"lost":[{"start":3}]}]}`;
    const texts = ["", "{", "[]", `{"epochs":[{"word":1}]}`, range];
    for (const text of texts) {
      await file.write(text);
      const damaged = await open();
      assert.deepEqual([damaged.isKept, damaged.reported(1)], [true, undefined], text);
    }
    assert.equal(lines.filter((line) => line.includes("state file not readable")).length, texts.length);
  });
});

Deno.test("numbers that were declared as lost are known when they are declared, and after a crash", DISK, async () => {
  await inFolder(async (folder) => {
    const { log } = keptLog();
    const file = new AtomicFile(folder, { name: "replication.json" });
    const open = () => StoredProgress.open({ file, clock: new FakeClock(), log });
    const first = await open();
    first.noteHandshake(NOW, answer({ durableThrough: 10 }));
    first.noteDeleted({ epochWord: NOW, ranges: [{ start: 11, end: 21 }] });
    assert.equal(first.declareLost(NOW).length, 1);
    await first.noteDeclared(NOW, [
      { start: 31, end: 41, reason: "not recorded on the boat" },
      { start: 51, end: 61, reason: NEVER_USED },
    ]);
    // Not closed.
    const second = await open();
    second.noteHandshake(NOW, answer({ durableThrough: 100 }));
    assert.deepEqual(second.lostOf(NOW), []);
    assert.deepEqual([...second.declaredOf(NOW)], [{ start: 11, end: 21 }, { start: 31, end: 41 }]);
    await Promise.all([first.close(), second.close()]);
  });
});

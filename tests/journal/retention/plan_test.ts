import assert from "node:assert/strict";
import type { DiskSpace } from "../../../src/base/mod.ts";
import { formatFileName } from "../../../src/journal/file/name.ts";
import {
  planRetention,
  type RetentionFile,
  type RetentionPlan,
  type RetentionSettings,
} from "../../../src/journal/retention/plan.ts";
import { Random } from "../../support/random.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 5, 15, 12);
const DEFAULTS: RetentionSettings = { softPercent: 80, overflow: "delete-unarchived", archive: "off" };

/** A finished file of 100 bytes that begins so many hours ago. */
function file(hoursAgo: number, init: Partial<RetentionFile> = {}): RetentionFile {
  return {
    name: formatFileName("nmea2k", (NOW - hoursAgo * HOUR) * 1000),
    bytes: 100,
    isOpen: false,
    archive: "new",
    ...init,
  };
}

function plan(
  files: RetentionFile[],
  settings: Partial<RetentionSettings>,
  { nowMs = NOW, disk }: { nowMs?: number | undefined; disk?: DiskSpace } = {},
): RetentionPlan {
  return planRetention(files, { settings: { ...DEFAULTS, ...settings }, nowMs, disk });
}

/** Ages in hours, of the files that a plan names. */
function ages(files: readonly { name: string }[]): number[] {
  return files.map(({ name }) => {
    const [, y, mo, d, h] = /(\d{4})(\d\d)(\d\d)T(\d\d)/.exec(name)!.map(Number);
    return (NOW - Date.UTC(y!, mo! - 1, d!, h!)) / HOUR;
  });
}

function removed({ remove }: RetentionPlan): number[] {
  return ages(remove.map(({ file }) => file));
}

Deno.test("without limits nothing is done", () => {
  const { remove, archive, retry, isPaused } = plan([file(10_000), file(1)], {});
  assert.deepEqual([remove, archive, retry, isPaused], [[], [], [], false]);
});

Deno.test("files older than the greatest age go, oldest first, in whatever order they are listed", () => {
  const { remove } = plan([file(2), file(50), file(24), file(72)], { maxAgeMs: DAY });
  assert.deepEqual(ages(remove.map(({ file }) => file)), [72, 50]);
  assert.deepEqual(remove.map(({ why }) => why), ["age", "age"]);
});

Deno.test("the time to keep is stronger than the greatest age", () => {
  const files = [file(100), file(60), file(30)];
  assert.deepEqual(removed(plan(files, { maxAgeMs: DAY, minKeepMs: 3 * DAY })), [100]);
  assert.deepEqual(removed(plan(files, { minKeepMs: DAY })), []);
});

Deno.test("size is stronger than the time to keep, and takes no more than it must", () => {
  const files = [file(5), file(4), file(3), file(2)];
  const { remove } = plan(files, { maxBytes: 250, minKeepMs: 30 * DAY, maxAgeMs: DAY });
  assert.deepEqual(remove.map(({ file, why }) => [ages([file])[0], why]), [[5, "size"], [4, "size"]]);
  assert.deepEqual(removed(plan(files, { maxBytes: 400 })), []);
});

Deno.test("an open file counts, and is neither deleted nor archived", () => {
  const files = [file(100, { isOpen: true, bytes: 1000 }), file(2), file(1)];
  const { remove, archive } = plan(files, { maxBytes: 1050, maxAgeMs: DAY, archive: "on-rotate" });
  assert.deepEqual(remove, []);
  assert.deepEqual(ages(archive), [2, 1]);
  assert.deepEqual(removed(plan(files, { maxBytes: 10 })), [2, 1]);
});

Deno.test("a file with a foreign name is told and left alone, and its bytes count for nothing", () => {
  const foreign = [
    "metadata.lpj",
    "nmea2k-20261315T000000.000Z.lpj",
    "nmea2k-20250615T120000.000Z (copy).lpj",
    "20250615.lpj",
  ];
  const files = [...foreign.map((name) => file(0, { name, bytes: 1_000_000 })), file(1)];
  const { remove, archive, strange, totalBytes } = plan(files, { maxBytes: 100, maxAgeMs: 1, archive: "on-rotate" });
  assert.deepEqual(remove, []);
  assert.deepEqual(ages(archive), [1]);
  assert.deepEqual(strange.map(({ name, why }) => [name, why]), foreign.map((name) => [name, "name"]));
  assert.equal(totalBytes, 100);
});

Deno.test("a file of a clock that was not set is never too old, and told; when there is no room it goes in its turn", () => {
  const names = [formatFileName("nmea2k", 0), formatFileName("nmea2k", (NOW + 2 * DAY) * 1000)];
  const files = [...names.map((name) => file(0, { name })), file(1)];
  const byAge = plan(files, { maxAgeMs: HOUR / 2 });
  assert.deepEqual(removed(byAge), [1]);
  assert.deepEqual(byAge.strange.map(({ name, why }) => [name, why]), names.map((name) => [name, "clock"]));
  assert.deepEqual(plan(files, { maxBytes: 200 }).remove.map(({ file }) => file.name), [names[0]]);
});

Deno.test("without a clock that is known to be right nothing is too old, and size still counts", () => {
  const files = [file(1000), file(500)];
  for (const nowMs of [0, Date.UTC(1999, 0, 1)]) assert.deepEqual(plan(files, { maxAgeMs: DAY }, { nowMs }).remove, []);
  const settings = { ...DEFAULTS, maxAgeMs: DAY, maxBytes: 100 };
  const { remove, strange } = planRetention(files, { settings, nowMs: undefined });
  assert.deepEqual(remove.map(({ why }) => why), ["size"]);
  assert.deepEqual(strange, []);
});

Deno.test("on rotation every finished file is archived once", () => {
  const files = [file(3), file(2, { archive: "done" }), file(1, { archive: "failed" }), file(0, { isOpen: true })];
  const { archive, retry, remove } = plan(files, { archive: "on-rotate" });
  assert.deepEqual([ages(archive), ages(retry), remove], [[3], [1], []]);
});

Deno.test("before it expires a file is archived, and deleted at a later look", () => {
  const settings = { archive: "before-expire", maxAgeMs: DAY } as const;
  const first = plan([file(30), file(2)], settings);
  assert.deepEqual([removed(first), ages(first.archive)], [[], [30]]);
  const second = plan([file(30, { archive: "done" }), file(2)], settings);
  assert.deepEqual([removed(second), ages(second.archive)], [[30], []]);
  const failed = plan([file(30, { archive: "failed" }), file(2)], settings);
  assert.deepEqual([removed(failed), ages(failed.archive), ages(failed.retry)], [[], [], [30]]);
});

Deno.test("above the soft limit all that is not archived is archived, and nothing deleted", () => {
  const files = [file(4, { archive: "done" }), file(3), file(2, { archive: "failed" }), file(1)];
  const settings = { archive: "before-expire", maxBytes: 450 } as const;
  const above = plan(files, { ...settings, softPercent: 80 });
  assert.deepEqual([removed(above), ages(above.archive), ages(above.retry)], [[], [3, 1], [2]]);
  const below = plan(files, { ...settings, softPercent: 90 });
  assert.deepEqual([ages(below.archive), ages(below.retry)], [[], []]);
  assert.deepEqual(plan(files, { maxBytes: 450 }).archive, [], "nothing is archived without a trigger");
});

Deno.test("over the limit only as much is archived as must go, in the order of recording", () => {
  const files = [file(5), file(4, { archive: "done" }), file(3), file(2), file(1)];
  const { remove, archive, isPaused } = plan(files, {
    maxBytes: 450,
    softPercent: 99,
    archive: "before-expire",
    overflow: "pause-recording",
  });
  assert.deepEqual([ages(remove.map(({ file }) => file)), ages(archive), isPaused], [[], [5], false]);
});

Deno.test("over the limit a file that could not be archived is deleted, where that is the policy", () => {
  const files = [file(3, { archive: "failed" }), file(2, { archive: "failed" }), file(1)];
  const { remove, retry, isPaused } = plan(files, { maxBytes: 200, softPercent: 99, archive: "on-rotate" });
  assert.deepEqual([ages(remove.map(({ file }) => file)), ages(retry), isPaused], [[3], [2], false]);
});

Deno.test("where the policy is to pause, nothing unarchived goes, and archived files go first", () => {
  const settings = { maxBytes: 250, softPercent: 99, archive: "on-rotate", overflow: "pause-recording" } as const;
  const stuck = [file(4, { archive: "failed" }), file(3, { archive: "failed" }), file(2, { archive: "failed" })];
  const paused = plan(stuck, settings);
  assert.deepEqual([removed(paused), ages(paused.retry), paused.isPaused], [[], [4, 3, 2], true]);
  // Room is made by a newer file that has a copy elsewhere.
  const helped = plan([stuck[0]!, stuck[1]!, file(2, { archive: "done" })], settings);
  assert.deepEqual([removed(helped), helped.isPaused], [[2], false]);
  const resumed = plan(stuck.map((each, i) => i === 0 ? { ...each, archive: "done" as const } : each), settings);
  assert.deepEqual([removed(resumed), resumed.isPaused], [[4], false]);
  const ended = plan([...stuck, file(1)], settings);
  assert.deepEqual([ages(ended.archive), ended.isPaused], [[1], true], "a file that may yet be archived is no room");
});

Deno.test("the open file alone never pauses recording: nothing could end that", () => {
  const { isPaused } = plan([file(0, { isOpen: true, bytes: 1000 })], {
    maxBytes: 10,
    archive: "on-rotate",
    overflow: "pause-recording",
  });
  assert.equal(isPaused, false);
});

Deno.test("a file that is too old and not stored is kept, and goes when it is stored", () => {
  const unstored = [
    file(72),
    file(50, { isStored: false }),
    file(30, { isStored: false }),
    file(2, { isStored: false }),
  ];
  const waiting = plan(unstored, { maxAgeMs: DAY });
  assert.deepEqual([removed(waiting), ages(waiting.kept)], [[72], [50, 30]]);
  const stored = plan(unstored.map((each) => ({ ...each, isStored: true })), { maxAgeMs: DAY });
  assert.deepEqual([removed(stored), stored.kept], [[72, 50, 30], []]);
});

Deno.test("the size limit takes the oldest files, stored or not, and no more than it must", () => {
  const files = [file(72, { isStored: false }), file(50), file(30, { isStored: false }), file(2, { isStored: false })];
  const over = plan(files, { maxAgeMs: DAY, maxBytes: 350 });
  assert.deepEqual(over.remove.map(({ file, why }) => [ages([file])[0], why]), [[72, "size"], [50, "age"]]);
  assert.deepEqual(ages(over.kept), [30]);
  assert.deepEqual(removed(plan(files, { maxBytes: 400 })), [], "nothing is too old");
});

Deno.test("what is too old and not stored is kept until the disk is 90 % full, and no longer", () => {
  const files = [file(72, { isStored: false }), file(50, { isStored: false }), file(2, { isStored: false })];
  const at = (freeBytes: number) => plan(files, { maxAgeMs: DAY }, { disk: { freeBytes, totalBytes: 2000 } });
  assert.deepEqual([removed(at(200)), ages(at(200).kept)], [[], [72, 50]]);
  assert.deepEqual(at(199).remove.map(({ file, why }) => [ages([file])[0], why]), [[72, "disk"]]);
  assert.deepEqual(removed(at(100)), [72]);
  assert.deepEqual(removed(at(99)), [72, 50]);
  assert.deepEqual(removed(at(0)), [72, 50], "a file that is not too old stays on a full disk");
  assert.deepEqual(removed(plan(files, {}, { disk: { freeBytes: 0, totalBytes: 2000 } })), [], "as without the rule");
});

Deno.test("what is not stored never pauses recording", () => {
  const files = [file(72, { isStored: false, archive: "done" }), file(50, { isStored: false, archive: "done" })];
  const settings = { maxBytes: 100, maxAgeMs: DAY, archive: "on-rotate", overflow: "pause-recording" } as const;
  const { isPaused, ...rest } = plan(files, settings);
  assert.deepEqual([removed({ ...rest, isPaused }), isPaused], [[72], false]);
});

Deno.test("keeping what is not stored only ever spares files that are too old, and never beyond a limit", () => {
  const random = new Random(6);
  let [spared, cut] = [0, 0];
  for (let round = 0; round < 3000; round++) {
    const files = Array.from({ length: random.int(12) }, (_, i) =>
      file(random.int(200) + i / 100, {
        bytes: random.int(300),
        isOpen: random.chance(0.15),
        isStored: random.chance(0.5),
      }));
    const settings: RetentionSettings = {
      ...DEFAULTS,
      maxBytes: random.chance(0.5) ? random.int(1500) : 0,
      maxAgeMs: random.chance(0.8) ? random.int(200) * HOUR : 0,
    };
    const disk = random.chance(0.7) ? { freeBytes: random.int(400), totalBytes: 2000 } : undefined;
    const kept = planRetention(random.shuffle(files), { settings, nowMs: NOW, disk });
    const { remove: without } = planRetention(files.map((each) => ({ ...each, isStored: true })), {
      settings,
      nowMs: NOW,
    });
    const gone = new Set(kept.remove.map(({ file: { name } }) => name));
    const goneWithout = new Set(without.map(({ file: { name } }) => name));
    assert.deepEqual(gone.difference(goneWithout), new Set(), "nothing goes that would have stayed");
    assert.deepEqual(goneWithout.difference(gone), new Set(kept.kept.map(({ name }) => name)), "the rest is kept");
    assert.ok(kept.kept.every(({ isStored, isOpen }) => isStored === false && !isOpen));
    const bytes = files.reduce((sum, each) => sum + each.bytes, 0) -
      kept.remove.reduce((sum, { file }) => sum + file.bytes, 0);
    if (kept.kept.length > 0) {
      assert.ok(settings.maxBytes === 0 || bytes <= settings.maxBytes!);
      const keptBytes = files.reduce((sum, each) => sum + each.bytes, 0) - bytes;
      if (disk) assert.ok(disk.freeBytes + keptBytes >= 200, "a tenth of the disk is free again");
    }
    spared += kept.kept.length;
    cut += kept.remove.filter(({ file }) => file.isStored === false).length;
  }
  assert.ok(spared > 1000 && cut > 1000, `${spared} spared, ${cut} cut`);
});

Deno.test("whatever lies there, no plan breaks a promise", () => {
  const random = new Random(5);
  for (let round = 0; round < 3000; round++) {
    const files = Array.from({ length: random.int(12) }, (_, i) =>
      file(random.int(200) + i / 100, {
        bytes: random.int(300),
        isOpen: random.chance(0.15),
        archive: random.pick(["new", "failed", "done"] as const),
        ...(random.chance(0.1) ? { name: `foreign ${i}.lpj` } : {}),
      }));
    const settings: RetentionSettings = {
      softPercent: random.between(1, 99),
      overflow: random.pick(["delete-unarchived", "pause-recording"] as const),
      archive: random.pick(["off", "on-rotate", "before-expire"] as const),
      maxBytes: random.chance(0.6) ? random.int(1500) : 0,
      maxAgeMs: random.chance(0.6) ? random.int(200) * HOUR : 0,
      minKeepMs: random.chance(0.4) ? random.int(200) * HOUR : 0,
    };
    checkPromises(files, { settings, plan: planRetention(random.shuffle(files), { settings, nowMs: NOW }) });
  }
});

function checkPromises(
  files: readonly RetentionFile[],
  { settings, plan }: { settings: RetentionSettings; plan: RetentionPlan },
): void {
  const { maxBytes = 0, minKeepMs = 0 } = settings;
  const touched = [...plan.remove.map(({ file }) => file), ...plan.archive, ...plan.retry];
  const names = touched.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length, "one thing is done with a file");
  assert.ok(touched.every(({ isOpen, name }) => !isOpen && name.startsWith("nmea2k")));
  for (const { file, why } of plan.remove) {
    if (why === "age") assert.ok(ages([file])[0]! * HOUR + HOUR > minKeepMs);
    if (settings.archive !== "off" && file.archive !== "done") {
      assert.deepEqual([why, file.archive, settings.overflow], ["size", "failed", "delete-unarchived"]);
    }
  }
  if (settings.archive === "off") assert.equal(plan.archive.length + plan.retry.length, 0);
  assert.ok(
    plan.archive.every(({ archive }) => archive === "new") && plan.retry.every(({ archive }) => archive === "failed"),
  );
  const gone = new Set(plan.remove.map(({ file }) => file.name));
  const left = files.filter(({ name }) => name.startsWith("nmea2k") && !gone.has(name));
  const bytes = left.reduce((sum, each) => sum + each.bytes, 0);
  if (maxBytes > 0 && bytes > maxBytes) {
    // What is left above the limit is written still, on its way to the archive, or the reason to pause.
    const isWaiting = left.some(({ isOpen, name }) => isOpen || plan.archive.some((each) => each.name === name));
    assert.ok(isWaiting || plan.isPaused, JSON.stringify({ files, settings, plan }));
  }
  if (plan.isPaused) assert.equal(settings.overflow, "pause-recording");
}

Deno.test("a file dated in the future, or never, is as old as its last modification, and others by their names", () => {
  const wrong = (modifiedHoursAgo: number | undefined, year = 2252) =>
    file(0, {
      name: formatFileName("nmea2k", Date.UTC(year, 0, 1, modifiedHoursAgo ?? 0) * 1000),
      modifiedMs: modifiedHoursAgo && NOW - modifiedHoursAgo * HOUR,
    });
  const [old, young, undated, unset] = [wrong(50), wrong(2), wrong(undefined), wrong(50, 1970)];
  const future = { ...wrong(1), name: formatFileName("nmea2k", Date.UTC(2252, 3) * 1000), modifiedMs: NOW + 3 * DAY };
  const { remove, strange, undated: toDate } = plan([old, young, undated, future, unset, file(30), file(10)], {
    maxAgeMs: DAY,
  });
  const names = (files: { name: string }[]) => files.map((each) => each.name).toSorted();
  assert.deepEqual(names(remove.map((each) => each.file)), names([old, unset, file(30)]));
  assert.deepEqual(names(strange), names([old, young, undated, future, unset]));
  assert.deepEqual(names(toDate), names([undated, future]));
  assert.ok(remove.every(({ why }) => why === "age"));
});

Deno.test("where the clock was wrong, the true time counts, not that of the name", () => {
  const files = [file(1000, { correctedMs: NOW - HOUR }), file(2, { correctedMs: NOW - 50 * HOUR }), file(3)];
  assert.deepEqual(removed(plan(files, { maxAgeMs: DAY })), [2]);
});

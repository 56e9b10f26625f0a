import assert from "node:assert/strict";
import { sidecarOf } from "../../../src/journal/mod.ts";
import { formatFileName, signatureOf, statementOf } from "../../../src/journal/file/name.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { START_US } from "../../support/messages.ts";
import { needs } from "../../support/needs.ts";
import { Bench } from "./bench.ts";
import { ALL_OK, readLog } from "./script.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PROCESSES = needs({ permissions: ["read", "write", "run"], programs: ["sh", "cat", "chmod"] });
const HOUR = 3_600_000;
const MINUTE = 60_000;

/** A name of so many hours before the test begins. */
function name(hoursAgo: number): string {
  return formatFileName("nmea2k", START_US - hoursAgo * HOUR * 1000);
}

function test(claim: string, where: { ignore: boolean }, run: (bench: Bench) => Promise<void>): void {
  Deno.test(claim, where, () => inFolder((folder) => run(new Bench(folder))));
}

test(
  "old files go with their markers and sidecars, others stay with theirs, and what is alone goes, too",
  DISK,
  async (bench) => {
    bench.write(
      name(50),
      name(1),
      `${name(50)}.archived`,
      `${name(1)}.archived`,
      `${name(9)}.archived`,
      "x.txt",
      "lock",
    );
    bench.write(...[50, 1, 9].map((hours) => sidecarOf(name(hours))));
    Deno.mkdirSync(`${bench.directory}/${name(70)}`);
    const keeper = bench.keeper({ maxAgeMs: 24 * HOUR });
    await keeper.check();
    assert.deepEqual(bench.names, ["lock", name(70), `${name(1)}+`, sidecarOf(name(1)), "x.txt"]);
    assert.deepEqual(keeper.status, {
      files: 2,
      bytes: 400,
      failed: 0,
      archiveFailures: 0,
      strange: [],
      isPaused: false,
      kept: 0,
      deletedUnstored: 0,
    });
    assert.match(bench.lines.join("\n"), /INFO .*journal file deleted file=\S+ reason=age archived=true/);
  },
);

test("without an archive, the log of a deletion says that the file was not archived", DISK, async (bench) => {
  bench.write(name(50), name(1));
  await bench.keeper({ maxAgeMs: 24 * HOUR }).check();
  assert.deepEqual(bench.names, [name(1)]);
  assert.match(bench.lines.join("\n"), /INFO .*journal file deleted file=\S+ reason=age archived=false/);
});

test("statements go with their files; those of files that are missing between others stay", DISK, async (bench) => {
  const evidence = (hours: number) => [statementOf(name(hours)), signatureOf(name(hours))];
  bench.write(...[60, 50, 9, 1].map(name), ...[70, 60, 50, 20, 9, 1].flatMap(evidence));
  await bench.keeper({ maxAgeMs: 55 * HOUR }).check();
  // The next look finds what was before the oldest file.
  await bench.keeper({ maxAgeMs: 55 * HOUR }).check();
  assert.deepEqual(bench.names, [...[50, 9, 1].map(name), ...[50, 20, 9, 1].flatMap(evidence)].sort());
});

test("sidecars count toward the greatest size, and are not archived", PROCESSES, async (bench) => {
  const files = [name(3), name(2), name(1)];
  bench.write(...files, ...files.map(sidecarOf));
  const keeper = bench.keeper({ maxBytes: 450 });
  await keeper.check();
  assert.equal(keeper.status.bytes, 600);
  assert.deepEqual(bench.names, [name(2), sidecarOf(name(2)), name(1), sidecarOf(name(1))].sort());
  const command = await bench.script(`cat >>"$LOG"`);
  await bench.keeper({ archive: "on-rotate" }, { command }).check();
  const requests = (await readLog(bench.folder)).map((line) => JSON.parse(line));
  assert.deepEqual(requests.map(({ path, size }) => [path, size]), [
    [`${bench.directory}/${name(2)}`, 100],
    [`${bench.directory}/${name(1)}`, 100],
  ]);
});

test("without a command nothing is archived or waits for it, whatever the trigger", DISK, async (bench) => {
  bench.write(name(50), name(1));
  await bench.keeper({ maxAgeMs: 24 * HOUR, archive: "before-expire" }).check();
  assert.deepEqual(bench.names, [name(1)]);
});

test("a file that is open is neither deleted nor archived, even when it is the oldest", PROCESSES, async (bench) => {
  bench.write(name(50), name(40));
  bench.open.add(name(50));
  const command = await bench.script(ALL_OK);
  const keeper = bench.keeper({ maxAgeMs: HOUR, maxBytes: 1, archive: "on-rotate" }, { command });
  await keeper.check();
  assert.deepEqual(bench.names, [name(50), `${name(40)}+`]);
  bench.open.clear();
  await keeper.check();
  await keeper.check();
  assert.deepEqual(bench.names, []);
  assert.deepEqual(await bench.runs(), [[name(40)], [name(50)]]);
});

test("strange files are told once and left alone", DISK, async (bench) => {
  bench.write("holiday.lpj", formatFileName("nmea2k", 0), name(50));
  const keeper = bench.keeper({ maxAgeMs: HOUR });
  await keeper.check();
  await keeper.check();
  assert.deepEqual(bench.names, ["holiday.lpj", formatFileName("nmea2k", 0)]);
  assert.deepEqual(keeper.status.strange.map(({ why }) => why), ["name", "clock"]);
  assert.equal(bench.lines.filter((line) => line.includes("left alone")).length, 2);
});

test("the first check archives what earlier runs left, in batches of bounded size", PROCESSES, async (bench) => {
  const names = Array.from({ length: 70 }, (_, i) => name(100 - i));
  bench.write(...names, `${name(100)}.archived`);
  const command = await bench.script(ALL_OK);
  await bench.keeper({ archive: "on-rotate" }, { command }).check();
  const runs = await bench.runs();
  assert.deepEqual(runs.map(({ length }) => length), [32, 32, 5]);
  assert.deepEqual(runs.flat(), names.slice(1));
  assert.ok(bench.names.every((each) => each.endsWith("+")));
  await bench.keeper({ archive: "on-rotate" }, { command }).check();
  assert.equal((await bench.runs()).length, 3, "a marker outlives the keeper");
});

test("a long sweep looks at the limits in between", PROCESSES, async (bench) => {
  bench.write(...Array.from({ length: 70 }, (_, i) => name(100 - i)));
  const command = await bench.script(ALL_OK);
  const slow = {
    wallUs: () => bench.clock.wallUs(),
    monoMs: () => (bench.clock.advance(4 * MINUTE), bench.clock.monoMs()),
  };
  const keeper = bench.keeper({ archive: "on-rotate" }, { command, clock: slow });
  await keeper.check();
  assert.equal((await bench.runs()).length, 1);
  keeper.start();
  await eventually("the other batches", async () => (await bench.runs()).flat().length === 70);
  await keeper.stop();
});

test("before it expires a file is archived, and deleted at the next check", PROCESSES, async (bench) => {
  bench.write(name(50), name(1));
  const command = await bench.script(ALL_OK);
  const keeper = bench.keeper({ archive: "before-expire", maxAgeMs: 24 * HOUR }, { command });
  await keeper.check();
  assert.deepEqual(bench.names, [`${name(50)}+`, name(1)]);
  await keeper.check();
  assert.deepEqual(bench.names, [name(1)]);
  assert.deepEqual(await bench.runs(), [[name(50)]]);
});

test("of a batch that succeeds in part only that part is marked, by path", PROCESSES, async (bench) => {
  bench.write(name(3), name(2), name(1));
  // One answer in the second place, about the first file: by position it would be the second's.
  const command = await bench.script(`echo garbage; printf '{"path":"%s","status":"ok"}\\n' "$1"; exit 1`);
  const keeper = bench.keeper({ archive: "on-rotate" }, { command });
  await keeper.check();
  assert.deepEqual(bench.names, [`${name(3)}+`, name(2), name(1)]);
  assert.equal(keeper.status.failed, 2);
  assert.equal(bench.lines.filter((line) => /WARN .*not archived.*it ended with code 1/.test(line)).length, 2);
});

test(
  "failed files are tried again after a minute, doubling up to an hour; success starts afresh",
  PROCESSES,
  async (bench) => {
    bench.write(name(1));
    const command = await bench.script(`echo run >>"$LOG"; exit 1`);
    const keeper = bench.keeper({ archive: "on-rotate" }, { command });
    const tries: number[] = [];
    let runs = 0;
    for (let minute = 0; minute <= 400; minute++) {
      await keeper.check();
      const now = (await readLog(bench.folder)).length;
      if (now > runs) tries.push(minute);
      runs = now;
      bench.clock.advance(MINUTE);
    }
    assert.deepEqual(tries, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363]);
    assert.equal(keeper.status.archiveFailures, tries.length);
    await bench.script(ALL_OK);
    bench.clock.advance(HOUR);
    await keeper.check();
    assert.equal(keeper.status.failed, 0);
    bench.write(name(0));
    await bench.script(`echo run >>"$LOG"; exit 1`);
    await keeper.check();
    bench.clock.advance(MINUTE);
    await bench.script(ALL_OK);
    await keeper.check();
    assert.deepEqual(bench.names, [`${name(1)}+`, `${name(0)}+`]);
  },
);

test("a new file is tried at once while others wait, and does not put their try off", PROCESSES, async (bench) => {
  bench.write(name(3));
  const command = await bench.script(`${ALL_OK.replaceAll('"ok"', '"error"')}`);
  const keeper = bench.keeper({ archive: "on-rotate" }, { command });
  await keeper.check();
  bench.clock.advance(MINUTE / 2);
  bench.write(name(2));
  await keeper.check();
  bench.clock.advance(MINUTE / 2);
  await keeper.check();
  assert.deepEqual(await bench.runs(), [[name(3)], [name(2)], [name(3), name(2)]]);
});

test("pauses between tries are spread", PROCESSES, async (bench) => {
  bench.write(name(1));
  const command = await bench.script(`echo run >>"$LOG"`);
  for (const [random, seconds] of [[0, 48], [0.999, 71]] as const) {
    const keeper = bench.keeper({ archive: "on-rotate" }, { command, random: () => random });
    await keeper.check();
    const before = (await readLog(bench.folder)).length;
    bench.clock.advance(seconds * 1000 - 1000);
    await keeper.check();
    assert.equal((await readLog(bench.folder)).length, before, `${seconds} s`);
    bench.clock.advance(2000);
    await keeper.check();
    assert.equal((await readLog(bench.folder)).length, before + 1, `${seconds} s`);
  }
});

test(
  "with no room and the policy to delete, a file goes after one try in vain, and that is a warning",
  PROCESSES,
  async (bench) => {
    bench.write(name(3), name(2), name(1));
    const command = await bench.script("exit 1");
    const keeper = bench.keeper({ archive: "on-rotate", maxBytes: 250 }, { command });
    await keeper.check();
    assert.equal(bench.names.length, 3);
    await keeper.check();
    assert.deepEqual(bench.names, [name(2), name(1)]);
    assert.match(bench.lines.join("\n"), /WARN .*journal file deleted .*reason=size archived=false/);
    assert.deepEqual(bench.pauses, []);
  },
);

const PAUSING = { archive: "on-rotate", maxBytes: 250, overflow: "pause-recording" } as const;

test("with no room and the policy to pause, recording pauses until files are archived", PROCESSES, async (bench) => {
  bench.write(name(3), name(2), name(1));
  const command = await bench.script("exit 1");
  const keeper = bench.keeper(PAUSING, { command });
  for (let i = 0; i < 3; i++) await keeper.check();
  assert.deepEqual(bench.pauses, [true]);
  assert.equal(keeper.status.isPaused, true);
  assert.equal(bench.names.length, 3);
  const later = bench.keeper(PAUSING, { command });
  await later.check();
  await later.check();
  assert.deepEqual(bench.pauses, [true, true], "a new keeper finds out again");
  await bench.script(ALL_OK);
  bench.clock.advance(10 * MINUTE);
  await keeper.check();
  await keeper.check();
  assert.deepEqual(bench.pauses, [true, true, false]);
  assert.deepEqual(bench.names, [`${name(2)}+`, `${name(1)}+`]);
});

test("a pause ends within 30 s of archiving working again, however long it has failed", PROCESSES, async (bench) => {
  bench.write(name(3), name(2), name(1));
  const keeper = bench.keeper(PAUSING, { command: await bench.script("exit 1") });
  for (let hour = 0; hour < 12; hour++) {
    await keeper.check();
    bench.clock.advance(HOUR);
  }
  await keeper.check();
  await bench.script(ALL_OK);
  bench.clock.advance(30_000);
  for (let looks = 0; looks < 2; looks++) await keeper.check();
  assert.deepEqual(bench.pauses, [true, false]);
  assert.equal(bench.lines.filter((line) => line.includes("file not archived")).length, 3, "each file once");
});

test(
  "a pause ends soon after somebody makes room, between two looks and while the command runs",
  PROCESSES,
  async (bench) => {
    bench.write(name(3), name(2), name(1));
    const hang = `${bench.folder}/hang`;
    const command = await bench.script(`[ -e "${hang}" ] && echo run >>"$LOG" && cat "${hang}"; exit 1`);
    const keeper = bench.keeper(PAUSING, { command });
    const isPaused = () => bench.pauses.at(-1) === true || (keeper.wake(), false);
    keeper.start();
    await eventually("the pause", isPaused);
    Deno.removeSync(`${bench.directory}/${name(3)}`);
    await eventually("the end of the pause", () => bench.pauses.at(-1) === false);
    bench.write(name(4));
    await eventually("another pause", isPaused);
    new Deno.Command("mkfifo", { args: [hang] }).outputSync();
    bench.clock.advance(HOUR);
    keeper.wake();
    await eventually("a run that hangs", async () => (await bench.runs()).length === 1);
    Deno.removeSync(`${bench.directory}/${name(4)}`);
    await eventually("its end", () => bench.pauses.at(-1) === false);
    await keeper.stop();
  },
);

test("keepers of two directories pause each for itself", PROCESSES, async (bench) => {
  const other = new Bench(await Deno.makeTempDir({ dir: bench.folder }));
  bench.write(name(1));
  other.write(name(1));
  const settings = { archive: "on-rotate", maxBytes: 50, overflow: "pause-recording" } as const;
  const failing = bench.keeper(settings, { command: await bench.script("exit 1") });
  const working = other.keeper(settings, { command: await other.script(ALL_OK) });
  for (let i = 0; i < 2; i++) await Promise.all([failing.check(), working.check()]);
  assert.deepEqual([bench.pauses, other.pauses], [[true], []]);
});

test("a notice makes the keeper check now, also one that comes while it looks", PROCESSES, async (bench) => {
  const command = await bench.script(`${ALL_OK}; sleep 0.2`);
  const keeper = bench.keeper({ archive: "on-rotate" }, { command });
  bench.write(name(9));
  keeper.start();
  keeper.start();
  for (let hours = 8; hours > 0; hours--) {
    bench.write(name(hours));
    keeper.wake();
    if (hours % 3 === 0) await eventually("a run", async () => (await bench.runs()).flat().includes(name(hours)));
  }
  await eventually("all files", async () => (await bench.runs()).flat().length === 9);
  await eventually("all markers", () => bench.names.every((each) => each.endsWith("+")));
  await keeper.stop();
  assert.equal((await bench.runs()).flat().length, 9, "each once");
});

test("a keeper that is stopped ends its command, and the files count as not yet tried", PROCESSES, async (bench) => {
  bench.write(name(1));
  const command = await bench.script(`echo run >>"$LOG"; sleep 600`);
  const keeper = bench.keeper({ archive: "on-rotate" }, { command });
  keeper.start();
  await eventually("the command", async () => (await readLog(bench.folder)).length === 1);
  await keeper.stop();
  assert.deepEqual([keeper.status.failed, bench.names], [0, [name(1)]]);
  assert.equal(bench.lines.filter((line) => line.includes("not archived")).length, 0);
});

test("a directory that cannot be read is an error until it can, logged once", DISK, async (bench) => {
  const keeper = bench.keeper({ maxAgeMs: HOUR }, { directory: `${bench.directory}/none` });
  await keeper.check();
  await keeper.check();
  assert.match(keeper.status.error!, /^Cannot list the journal directory ".*\/none": No such file/);
  assert.equal(bench.lines.length, 1);
  Deno.mkdirSync(`${bench.directory}/none`);
  await keeper.check();
  assert.equal(keeper.status.error, undefined);
});

test("a file that cannot be marked as archived is not deleted, and is tried again", PROCESSES, async (bench) => {
  bench.write(name(50));
  Deno.mkdirSync(`${bench.directory}/${name(50)}.archived`);
  const command = await bench.script(ALL_OK);
  const keeper = bench.keeper({ archive: "before-expire", maxAgeMs: HOUR }, { command });
  await keeper.check();
  await keeper.check();
  assert.match(bench.lines.join("\n"), /WARN .*Cannot mark as archived with .*\.archived/);
  assert.ok(!bench.lines.some((line) => line.includes("files archived")));
  assert.equal(keeper.status.failed, 1);
  Deno.removeSync(`${bench.directory}/${name(50)}.archived`);
  bench.clock.advance(MINUTE);
  await keeper.check();
  await keeper.check();
  assert.deepEqual(bench.names, []);
});

test(
  "one file of the year 2252 does not keep later files, and is old itself some time after it was seen",
  DISK,
  async (bench) => {
    const wrong = formatFileName("nmea2k", Date.UTC(2252, 0, 1) * 1000);
    bench.write(wrong, name(30), name(2));
    Deno.utimeSync(`${bench.directory}/${wrong}`, Date.UTC(2252, 0, 1) / 1000, Date.UTC(2252, 0, 1) / 1000);
    const keeper = bench.keeper({ maxAgeMs: 24 * HOUR });
    await keeper.check();
    assert.deepEqual(bench.names, [name(2), wrong].toSorted());
    bench.clock.advance(23 * HOUR);
    await keeper.check();
    assert.deepEqual(bench.names, [wrong]);
    bench.clock.advance(2 * HOUR);
    await keeper.check();
    assert.deepEqual(bench.names, []);
  },
);

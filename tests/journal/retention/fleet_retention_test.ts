import assert from "node:assert/strict";
import { Logger } from "../../../src/base/mod.ts";
import { formatFileName } from "../../../src/journal/file/name.ts";
import { FleetRetention, type FleetRetentionOptions } from "../../../src/journal/retention/fleet_retention.ts";
import type { RetentionSettings } from "../../../src/journal/retention/plan.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { inFolder } from "../../support/folder.ts";
import { START_US } from "../../support/messages.ts";
import { needs } from "../../support/needs.ts";
import { readLog, writeScript } from "./script.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PROCESSES = needs({ permissions: ["read", "write", "run"], programs: ["sh", "cat", "chmod"] });
const HOUR = 3_600_000;

/** A name of so many hours before the test begins. */
function name(hoursAgo: number): string {
  return formatFileName("nmea2k", START_US - hoursAgo * HOUR * 1000);
}

/** Tells what it got, from whom, and that it runs: nobody else may then. */
const TELL_WHO = `
mkdir "\${LOG}.running" || echo "two at a time" >>"$LOG"
names=""
while read -r line; do id=\${line#*instance_id\\":\\"}; names="$names \${id%%\\"*}"; done
for path in "$@"; do printf '{"path":"%s","status":"ok"}\\n' "$path"; done
echo "$names" >>"$LOG"
rmdir "\${LOG}.running"
`;

/** Directories of several boats with their keeper. */
class Fleet {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly told: string[] = [];
  readonly open = new Set<string>();
  readonly ids: string[] = [];
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  boat(id: string, ...names: string[]): void {
    if (!this.ids.includes(id)) this.ids.push(id);
    Deno.mkdirSync(`${this.folder}/${id}`, { recursive: true });
    for (const each of names) Deno.writeFileSync(`${this.folder}/${id}/${each}`, new Uint8Array(100));
  }

  /** Names in a boat's directory, without markers. */
  names(id: string): string[] {
    return [...Deno.readDirSync(`${this.folder}/${id}`)].map((entry) => entry.name)
      .filter((each) => !each.endsWith(".archived")).sort();
  }

  marked(id: string): number {
    return [...Deno.readDirSync(`${this.folder}/${id}`)].filter((entry) => entry.name.endsWith(".archived")).length;
  }

  keepers(settings: Partial<RetentionSettings>, options: Partial<FleetRetentionOptions> = {}): FleetRetention {
    return new FleetRetention({
      directories: () => this.ids.map((id) => ({ id, directory: `${this.folder}/${id}` })),
      settings: { softPercent: 80, overflow: "delete-unarchived", archive: "off", ...settings },
      isOpen: (id, each) => this.open.has(`${id}/${each}`),
      onPause: (id, isPaused) => this.told.push(`${id} ${isPaused ? "pauses" : "goes on"}`),
      onRemoved: (id, each) => this.told.push(`${id} lost ${each}`),
      log: new Logger({ write: (line) => this.lines.push(line) }),
      clock: this.clock,
      ...options,
    });
  }
}

function test(claim: string, where: { ignore: boolean }, run: (fleet: Fleet) => Promise<void>): void {
  Deno.test(claim, where, () => inFolder((folder) => run(new Fleet(folder))));
}

test("a sweep has looked at every directory when it ends, each by limits of its own", DISK, async (fleet) => {
  fleet.boat("ada", name(30), name(3), name(2));
  fleet.boat("bob", name(30), name(1));
  fleet.boat("cyd", name(4));
  fleet.open.add(`bob/${name(30)}`);
  const keepers = fleet.keepers({ maxAgeMs: 24 * HOUR, maxBytes: 150 });
  assert.equal(keepers.status("ada"), undefined);
  await keepers.sweep();
  assert.deepEqual(["ada", "bob", "cyd"].map((id) => fleet.names(id)), [[name(2)], [name(30)], [name(4)]]);
  assert.deepEqual(fleet.told, [
    `ada lost ${name(30)}`,
    `ada lost ${name(3)}`,
    `bob lost ${name(1)}`,
  ]);
  assert.match(fleet.lines.join("\n"), /INFO .*journal file deleted id=ada /);
  assert.equal(keepers.status("cyd")?.files, 1);
  assert.equal(keepers.status("dan"), undefined);
  await keepers.stop();
});

for (const archive of ["on-rotate", "before-expire"] as const) {
  test(`a sweep with ${archive} ends when every file of all boats is archived`, PROCESSES, async (fleet) => {
    const ids = ["ada", "bob"];
    for (const id of ids) fleet.boat(id, ...Array.from({ length: 40 }, (_, i) => name(100 - i)));
    fleet.open.add(`bob/${name(61)}`);
    const command = await writeScript(fleet.folder, TELL_WHO);
    const keepers = fleet.keepers({ archive }, { command });
    assert.equal(await keepers.sweep({ archiveMs: HOUR }), true);
    assert.deepEqual(ids.map((id) => fleet.marked(id)), [40, 39], "one is being written");
    await keepers.stop();
    const runs = (await readLog(fleet.folder)).map((line) => line.trim().split(" "));
    assert.deepEqual(runs.map(({ length }) => length), [32, 32, 8, 7], "each gets a batch in turn");
  });

  test(`a sweep with ${archive} that takes too long goes on after the start`, PROCESSES, async (fleet) => {
    fleet.boat("ada", ...Array.from({ length: 40 }, (_, i) => name(100 - i)));
    const command = await writeScript(fleet.folder, `while [ ! -e "$LOG.go" ]; do sleep 0.05; done\n${TELL_WHO}`);
    const keepers = fleet.keepers({ archive }, { command, checkIntervalMs: HOUR });
    assert.equal(await keepers.sweep({ archiveMs: 50 }), false);
    keepers.start();
    assert.equal(fleet.marked("ada"), 0);
    Deno.writeTextFileSync(`${fleet.folder}/archive.log.go`, "");
    await eventually("all archived", () => fleet.marked("ada") === 40);
    await keepers.stop();
  });
}

test("what a sweep cannot archive is tried again when it is about to expire", PROCESSES, async (fleet) => {
  fleet.boat("ada", name(30), name(3));
  const command = await writeScript(fleet.folder, `echo run >>"$LOG"; exit 1`);
  const settings = { archive: "before-expire", maxAgeMs: 100 * HOUR, maxBytes: 10_000 } as const;
  const keepers = fleet.keepers(settings, { command, checkIntervalMs: 20 });
  assert.equal(await keepers.sweep({ archiveMs: HOUR }), true, "each was tried once");
  assert.deepEqual(await readLog(fleet.folder), ["run"]);
  assert.equal(fleet.lines.filter((line) => line.includes("not archived")).length, 2);
  await writeScript(fleet.folder, TELL_WHO);
  keepers.start();
  fleet.clock.advance(75 * HOUR);
  fleet.clock.advance(0);
  await eventually("the old one archived and deleted", () => fleet.names("ada").length === 1);
  await keepers.stop();
  assert.deepEqual((await readLog(fleet.folder)).map((line) => line.trim()), ["run", "ada"]);
});

test(
  "a sweep without time archives nothing; then batches run one at a time, and the command is told whose",
  PROCESSES,
  async (fleet) => {
    const ids = ["ada", "bob", "cyd"];
    for (const id of ids) fleet.boat(id, ...Array.from({ length: 40 }, (_, i) => name(100 - i)));
    const command = await writeScript(fleet.folder, TELL_WHO);
    const keepers = fleet.keepers({ archive: "on-rotate" }, { command });
    await keepers.sweep();
    assert.deepEqual(await readLog(fleet.folder), []);
    keepers.start();
    await eventually("all archived", () => ids.every((id) => fleet.marked(id) === 40));
    await eventually("the last line", async () => (await readLog(fleet.folder)).length === 6);
    await keepers.stop();
    const runs = (await readLog(fleet.folder)).map((line) => line.trim().split(" "));
    assert.deepEqual(runs.map((run) => [...new Set(run)].join()), [...ids, ...ids], "each gets a batch in turn");
    assert.deepEqual(runs.map(({ length }) => length), [32, 32, 32, 8, 8, 8]);
  },
);

test("a directory that is made later joins with the next round, or when it is woken", DISK, async (fleet) => {
  fleet.boat("ada", name(30));
  const keepers = fleet.keepers({ maxAgeMs: 24 * HOUR }, { checkIntervalMs: 20 });
  keepers.start();
  await eventually("the first", () => fleet.names("ada").length === 0);
  fleet.boat("bob", name(30));
  await eventually("the second", () => fleet.names("bob").length === 0);
  await keepers.stop();
  const patient = fleet.keepers({ maxAgeMs: 24 * HOUR }, { checkIntervalMs: HOUR });
  await patient.sweep();
  patient.start();
  fleet.boat("cyd", name(30));
  patient.wake("cyd");
  patient.wake("nobody");
  await eventually("the one that was woken", () => fleet.names("cyd").length === 0);
  await patient.stop();
});

test("one that is not there any more is forgotten", DISK, async (fleet) => {
  fleet.boat("ada", name(3));
  const keepers = fleet.keepers({ maxAgeMs: 24 * HOUR });
  await keepers.sweep();
  fleet.ids.splice(0);
  await keepers.sweep();
  assert.equal(keepers.status("ada"), undefined);
  await keepers.stop();
});

test("a command that hangs delays no limit of others, and ends with the keeper", PROCESSES, async (fleet) => {
  fleet.boat("ada", name(3));
  const command = await writeScript(fleet.folder, `echo run >>"$LOG"; sleep 600`);
  const keepers = fleet.keepers(
    { archive: "on-rotate", maxBytes: 250, overflow: "delete-unarchived" },
    { command, checkIntervalMs: 20 },
  );
  keepers.start();
  await eventually("the command", async () => (await readLog(fleet.folder)).length === 1);
  fleet.boat("bob", name(5), name(4), name(3));
  Deno.writeFileSync(`${fleet.folder}/bob/${name(5)}.archived`, new Uint8Array(0));
  keepers.wake("bob");
  await eventually("room", () => fleet.names("bob").length === 2);
  await keepers.stop();
  assert.deepEqual(await readLog(fleet.folder), ["run"]);
  assert.equal(keepers.status("ada")?.failed, 0, "who is told to end has not failed");
});

test(
  "one whose files cannot be archived pauses, the others do not, and it goes on when they can",
  PROCESSES,
  async (fleet) => {
    fleet.boat("ada", name(3), name(2), name(1));
    fleet.boat("bob", name(3));
    const command = await writeScript(fleet.folder, "exit 1");
    const settings = { archive: "on-rotate", maxBytes: 250, overflow: "pause-recording" } as const;
    const keepers = fleet.keepers(settings, { command, checkIntervalMs: 20 });
    keepers.start();
    await eventually("the pause", () => fleet.told.length === 1);
    assert.match(fleet.lines.join("\n"), /ERROR recording should pause: .* id=ada/);
    await writeScript(fleet.folder, TELL_WHO);
    fleet.clock.advance(10 * 60_000);
    await eventually("the end of the pause", () => fleet.told.includes("ada goes on"));
    await keepers.stop();
    assert.deepEqual(fleet.told.filter((line) => !line.includes("lost")), ["ada pauses", "ada goes on"]);
  },
);

test(
  "a directory that cannot be read is told once, and keeps nobody else from being looked at",
  DISK,
  async (fleet) => {
    fleet.boat("ada", name(30));
    fleet.boat("bob", name(30));
    Deno.removeSync(`${fleet.folder}/ada`, { recursive: true });
    const keepers = fleet.keepers({ maxAgeMs: 24 * HOUR });
    await keepers.sweep();
    await keepers.sweep();
    assert.deepEqual(fleet.names("bob"), []);
    assert.match(keepers.status("ada")?.error ?? "", /^Cannot list the journal directory/);
    assert.equal(fleet.lines.filter((line) => line.includes("journal retention failed")).length, 1);
    await keepers.stop();
  },
);

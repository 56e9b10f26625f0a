import assert from "node:assert/strict";
import { audit, type AuditOptions, type EpochReport } from "../../cli/commands/audit/compare.ts";
import { expectedLine } from "../../cli/commands/audit/expected.ts";
import { encodeState, STATE_FILE } from "../../src/cloud/mod.ts";
import type { JournalWriterOptions } from "../../src/journal/writer/journal_writer.ts";
import type { LostRange, Range } from "../../src/replication/mod.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { appendRange, EPOCH, frameOf, journalFiles, makeWriter } from "../support/journal_run.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { taskArgs } from "../support/task.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PROCESSES = needs({ permissions: ["read", "write", "run"] });
const OTHER_EPOCH = Uint8Array.from({ length: 16 }, (_, i) => 0x20 + i);

/** Writes frames of number ranges, both ends included, into files of a directory. */
async function write(
  directory: string,
  ranges: readonly (readonly [from: number, to: number])[],
  { make = (seq) => frameOf(seq), ...options }: Partial<JournalWriterOptions> & { make?: typeof frameOf } = {},
): Promise<void> {
  Deno.mkdirSync(directory, { recursive: true });
  const { writer } = makeWriter(directory, options);
  for (const [from, to] of ranges) for (let seq = from; seq <= to; seq++) writer.append(seq, make(seq));
  await writer.close();
}

/** The figures of the only run of numbers, as text. */
async function figures(options: AuditOptions): Promise<Record<string, string>> {
  const { epochs } = await audit(options);
  assert.equal(epochs.length, 1);
  return textsOf(epochs[0]!);
}

/** Those figures that are not 0. */
function textsOf(report: EpochReport): Record<string, string> {
  const all = Object.entries(report).map(([key, value]) => [key, String(value)]);
  return Object.fromEntries(all.filter(([key, value]) => key !== "epoch" && value !== "0"));
}

function test(claim: string, run: (dirs: { boat: string; cloud: string; folder: string }) => Promise<void>): void {
  Deno.test(`audit: ${claim}`, DISK, () =>
    inFolder(async (folder) => {
      const dirs = { boat: `${folder}/boat`, cloud: `${folder}/cloud`, folder };
      Deno.mkdirSync(dirs.boat);
      Deno.mkdirSync(dirs.cloud);
      await run(dirs);
    }));
}

function writeState(cloud: string, { ranges, lost }: { ranges: Range[]; lost: LostRange[] }): void {
  const state = {
    epochs: { current: EPOCH.toHex(), previous: [] },
    ...{ headSeq: 2000, journalBytes: 0, lastSeenMs: undefined, buses: ["can0"] },
    received: { durable: ranges, void: [], lost },
  };
  Deno.writeTextFileSync(`${cloud}/${STATE_FILE}`, JSON.stringify(encodeState("boat", state)));
}

test("what both have is the same, in whatever blocks it lies, and overlaps count once", async ({ boat, cloud }) => {
  await write(boat, [[1, 2000]]);
  await write(cloud, [[900, 2000]], { blockBytes: 8192 });
  await write(cloud, [[700, 1000]], { prefix: "backfill" });
  await write(cloud, [[1, 750]], { prefix: "backfill", compression: "none" });
  assert.deepEqual(await figures({ boat, cloud }), { same: "2000" });
  assert.ok((await audit({ boat, cloud })).isGood);
});

test("what the cloud has not is missing, and of that it is told what it knows to lack", async ({ boat, cloud }) => {
  await write(boat, [[1, 2000]]);
  await write(cloud, [[1, 99], [200, 200], [202, 1990]]);
  const missing = "111 (100-199, 201, 1991-2000)";
  assert.deepEqual(await figures({ boat, cloud }), { same: "1889", missing });
  writeState(cloud, {
    ranges: [{ start: 1, end: 151 }, { start: 200, end: 201 }, { start: 202, end: 1991 }],
    lost: [],
  });
  assert.deepEqual(await figures({ boat, cloud }), {
    ...{ same: "1889", missing, holes: "60" },
    claimed: "51 (100-150)",
  });
  assert.equal((await audit({ boat, cloud })).isGood, false);
});

test("a reason in the state makes a missing frame lost, and a frame that came after all does not", async (dirs) => {
  const { boat, cloud } = dirs;
  await write(boat, [[1, 2000]]);
  await write(cloud, [[1, 100], [181, 2000]]);
  const lost = [{ start: 90, end: 150, reason: "pruned" }, { start: 151, end: 181, reason: "disk" }];
  writeState(cloud, { ranges: [{ start: 1, end: 101 }, { start: 181, end: 2001 }], lost });
  assert.deepEqual(await figures({ boat, cloud }), {
    same: "1920",
    missing: "1 (150)",
    holes: "1",
    lost: "79 (101-149, 151-180)",
  });
});

test("a frame with another time, identifier, bus or payload is different", async ({ boat, cloud }) => {
  await write(boat, [[1, 50]]);
  const changed: typeof frameOf = (seq) => {
    const frame = frameOf(seq);
    if (seq === 10) frame.timeUs++;
    if (seq === 20) frame.id ^= 1;
    if (seq === 30) frame.bus ^= 1;
    if (seq === 40) frame.data[frame.offset + 3]! ^= 4;
    return seq === 41 ? { ...frame, length: frame.length - 1 } : frame;
  };
  await write(cloud, [[1, 50]], { make: changed });
  assert.deepEqual(await figures({ boat, cloud }), { same: "45", different: "5 (10, 20, 30, 40-41)" });
});

test("a number that is twice in the cloud with different contents is different", async ({ boat, cloud }) => {
  await write(boat, [[1, 100]]);
  await write(cloud, [[1, 100]]);
  await write(cloud, [[50, 60]], { prefix: "backfill", make: (seq) => frameOf(seq, { length: seq === 55 ? 7 : 8 }) });
  const twice = await figures({ boat, cloud });
  assert.equal(twice.different, "2 (55-56)", "56 is a long one in the boat's journal");
  assert.equal(twice.same, "98");
});

test("what only the cloud has is extra, unless the boat tells a gap, ends before, or begins later", async (dirs) => {
  const { boat, cloud } = dirs;
  await write(boat, [[501, 600], [701, 800], [901, 1000]]);
  await write(cloud, [[480, 1010]]);
  assert.deepEqual(await figures({ boat, cloud }), {
    same: "300",
    recovered: "210 (601-700, 801-900, 1001-1010)",
    pruned: "21 (480-500)",
  });
  for (const name of journalFiles(boat)) Deno.removeSync(`${boat}/${name}`);
  assert.deepEqual(await figures({ boat, cloud }), { extra: "531 (480-1010)" });
});

test("a block with a flipped byte is damage, and its frames are missing or extra", async ({ boat, cloud, folder }) => {
  await write(boat, [[1, 1000]]);
  await write(cloud, [[1, 1000]]);
  const [name = ""] = journalFiles(cloud);
  const bytes = Deno.readFileSync(`${cloud}/${name}`);
  bytes[Math.floor(bytes.length / 2)]! ^= 0x10;
  Deno.writeFileSync(`${cloud}/${name}`, bytes);
  const report = await audit({ boat, cloud });
  assert.equal(report.damage.cloud.length, 1);
  const missing = report.epochs[0]!.missing.count;
  assert.ok(missing > 50 && missing < 500, `${missing} are missing`);
  assert.equal(report.epochs[0]!.same, 1000 - missing);
  const turned = await audit({ boat: cloud, cloud: boat });
  assert.equal(turned.epochs[0]!.extra.count, missing);
  assert.equal(turned.damage.boat.length, 1);
  assert.deepEqual([...Deno.readDirSync(folder)].map((entry) => entry.name).sort(), ["boat", "cloud"]);
});

test("what is in a tail alone is there, and a torn file counts as far as it goes", async ({ boat, cloud, folder }) => {
  await write(boat, [[1, 1000]]);
  Deno.mkdirSync(`${folder}/recording`);
  // As a process leaves it that is killed now.
  const { writer } = makeWriter(`${folder}/recording`);
  appendRange(writer, 1, 1000);
  await writer.sync();
  for (const { name } of Deno.readDirSync(`${folder}/recording`)) {
    Deno.copyFileSync(`${folder}/recording/${name}`, `${cloud}/${name}`);
  }
  await writer.close();
  const before = [...Deno.readDirSync(cloud)].map((entry) => entry.name).sort();
  assert.ok(before.includes("tail-a") || before.includes("tail-b"));
  assert.deepEqual(await figures({ boat, cloud }), { same: "1000" });
  const [name = ""] = journalFiles(cloud);
  Deno.truncateSync(`${cloud}/${name}`, Deno.statSync(`${cloud}/${name}`).size - 100);
  const report = await audit({ boat, cloud });
  assert.match(report.damage.cloud.join(), /torn behind byte/);
  assert.ok(report.epochs[0]!.missing.count > 0);
  assert.deepEqual([...Deno.readDirSync(cloud)].map((entry) => entry.name).sort(), before, "nothing is changed");
});

test("runs of numbers are compared each for itself", async ({ boat, cloud }) => {
  const later: typeof frameOf = (seq) => frameOf(seq, { timeUs: START_US + 60_000_000 + seq * 1000, length: 8 });
  await write(boat, [[1, 100]]);
  await write(boat, [[1, 80]], { epoch: OTHER_EPOCH, make: later });
  await write(cloud, [[1, 100]]);
  await write(cloud, [[11, 80]], { epoch: OTHER_EPOCH, make: later });
  const { epochs } = await audit({ boat, cloud });
  assert.deepEqual(epochs.map(({ epoch }) => epoch), [EPOCH.toHex(), OTHER_EPOCH.toHex()]);
  assert.deepEqual(epochs.map(textsOf), [{ same: "100" }, { same: "70", missing: "10 (1-10)" }]);
  assert.deepEqual(await figures({ boat, cloud, epoch: EPOCH.toHex() }), { same: "100" });
});

test("what the cloud holds is compared with what was put on the bus", async ({ boat, cloud, folder }) => {
  const truth = `${folder}/truth`;
  const lineOf = (seq: number) => {
    const { id, data, offset, length } = frameOf(seq);
    return expectedLine(id, data.subarray(offset, offset + length));
  };
  const lines = Array.from({ length: 100 }, (_, i) => lineOf(i + 1));
  Deno.writeTextFileSync(truth, [...lines, "0123"].join("\n"));
  await write(boat, [[1, 98]]);
  await write(cloud, [[1, 98]]);
  const good = { found: 98, unrecorded: 2, doubled: 0, disordered: 0, strange: 0, others: 0 };
  const report = await audit({ boat, cloud, truth });
  assert.deepEqual([report.truth, report.isGood], [good, true]);
  // Numbers 99 to 101 hold what was on the bus before, what never was, and what came from somebody else.
  const wrong: typeof frameOf = (seq) => seq === 99 ? frameOf(5) : frameOf(seq, seq === 100 ? { length: 5 } : {});
  const more = (dir: string) =>
    write(dir, [[99, 102]], { make: (seq) => seq === 101 ? { ...frameOf(seq), id: 0x19f112fe } : wrong(seq) });
  await more(boat);
  await more(cloud);
  const bad = await audit({ boat, cloud, truth });
  assert.deepEqual(bad.truth, { ...good, doubled: 1, strange: 2, others: 1 });
  assert.equal(bad.isGood, false);
});

Deno.test(
  "audit: the program's last lines sum up, and its code tells whether all is well",
  PROCESSES,
  () =>
    inFolder(async (folder) => {
      const [boat, cloud] = [`${folder}/boat`, `${folder}/cloud`];
      await write(boat, [[1, 100]]);
      await write(cloud, [[1, 100]]);
      const run = async (...args: string[]) => {
        const command = new Deno.Command(Deno.execPath(), { args: taskArgs("cli", "audit", ...args) });
        const { code, stdout, stderr } = await command.output();
        return { code, text: new TextDecoder().decode(code === 2 ? stderr : stdout) };
      };
      const good = await run("-json=false", "--boat", boat, "--cloud", cloud);
      assert.equal(good.code, 0);
      assert.match(good.text, /\nmissing 0, extra 0, different 0\nrecovered 0, lost 0\n$/);
      const other = `${folder}/other`;
      await write(other, [[101, 150]]);
      const bad = await run("-json=false", "--boat", boat, "--cloud", other);
      assert.equal(bad.code, 1);
      assert.match(bad.text, /missing 100 \(1-100\), extra 0, different 0\n/);
      const { code, text } = await run("--boat", boat, "--cloud", other);
      const { ok, epochs: [epoch] } = JSON.parse(text);
      assert.deepEqual([code, ok, epoch.missing], [1, false, { count: 100, first: [[1, 100]] }]);
      assert.equal((await run("--boat", boat)).code, 2);
    }),
);

Deno.test(
  "audit: of a data directory with one boat that boat is meant, and with more one has to be named",
  DISK,
  () =>
    inFolder(async (folder) => {
      const [boat, data] = [`${folder}/boat`, `${folder}/data`];
      await write(boat, [[1, 100]]);
      await write(`${data}/aurora`, [[1, 100]]);
      Deno.mkdirSync(`${data}/.trash`);
      for (const cloud of [data, `${data}/aurora`]) {
        const { code, out } = await runCommand(["audit", "-boat", boat, "-cloud", cloud, "-json"]);
        assert.deepEqual([code, JSON.parse(out).epochs[0].same], [0, 100]);
      }
      Deno.mkdirSync(`${data}/borealis`);
      writeState(`${data}/borealis`, { ranges: [], lost: [] });
      assert.deepEqual(await runCommand(["audit", "-boat", boat, "-cloud", data]), {
        code: 2,
        out: "",
        err: `vbg audit: Cannot choose a boat of "${data}": give -cloud ${data}/ID with one of aurora, borealis\n`,
      });
    }),
);

Deno.test(
  "audit: a directory without anything of a boat is refused, and so is one that is not there",
  DISK,
  () =>
    inFolder(async (folder) => {
      const [boat, empty] = [`${folder}/boat`, `${folder}/empty`];
      await write(boat, [[1, 100]]);
      Deno.mkdirSync(`${empty}/deeper`, { recursive: true });
      for (
        const [args, expected] of [
          [["-boat", boat, "-cloud", empty], /Cannot compare with ".*empty": it is neither a boat's directory nor/],
          [["-boat", boat, "-cloud", `${folder}/none`], /Cannot read ".*none": No such file or directory/],
          [["-boat", empty, "-cloud", boat], /Cannot compare ".*empty": it is not the journal directory of a boat/],
        ] as const
      ) {
        const { code, err } = await runCommand(["audit", ...args]);
        assert.equal(code, 2);
        assert.match(err, expected);
      }
    }),
);

Deno.test(
  "audit: a boat with a new card has nothing of what the cloud has, and nothing is missing",
  DISK,
  () =>
    inFolder(async (folder) => {
      await write(`${folder}/cloud`, [[1, 100]]);
      Deno.mkdirSync(`${folder}/boat`);
      const { code, out } = await runCommand(["audit", "-boat", `${folder}/boat`, "-cloud", `${folder}/cloud`]);
      const [{ missing, extra }] = JSON.parse(out).epochs;
      assert.deepEqual([code, missing.count, extra.count], [1, 0, 100]);
    }),
);

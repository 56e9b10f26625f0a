// The ledger of a boat after faults, compared with what was put on its buses and with what is in its files.
import assert from "node:assert/strict";
import { ledgerOfDirectory, type LedgerReport } from "../../src/ledger/mod.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { inFolder } from "../support/folder.ts";
import { LedgerRound } from "../support/ledger_round.ts";
import { needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const ROUNDS = rounds(250, 10);
const FILES = needs({ permissions: ["read", "write", "net"] });

/** One thing that happens to a boat, besides traffic. */
const FAULTS: Readonly<Record<string, (round: LedgerRound, random: Random) => Promise<void>>> = {
  restart: async (round, random) => {
    await round.stop();
    await round.run(random.int(200));
    await round.start();
  },
  kill: async (round, random) => {
    if (random.chance(0.7)) await round.rest();
    await round.run(random.int(30));
    await round.kill();
    await round.run(random.int(200));
    await round.start();
  },
  "full disk": async (round, random) => {
    round.disk.mode = "full";
    await round.run(random.between(1000, 3000));
    round.disk.mode = "works";
    round.pass(20_000);
    await round.rest();
  },
  "hung disk": async (round, random) => {
    round.disk.mode = "hung";
    await round.run(random.between(1000, 3000));
    round.disk.mode = "works";
    await round.rest();
  },
  flood: (round) => Promise.resolve(round.flood()),
  "pruned files": async (round) => {
    await round.stop();
    round.prune();
    await round.start();
  },
};

/** The report agrees with what was put on the buses. */
function assertTrue(round: LedgerRound, report: LedgerReport, what: string): void {
  const text = `${what}: ${JSON.stringify(report, null, 1)}`;
  assert.equal(report.closed, true, text);
  for (const [index, { frames, messages, unknown, closed, off }] of report.buses.entries()) {
    assert.ok(frames);
    for (const { reason, interface_frames: counted, ...times } of unknown) {
      if (counted !== null) assert.equal(counted, round.framesIn(times, index), text);
      else assert.ok(!["stopped", "crashed"].includes(reason), text);
    }
    const known = round.knownOf(report, index);
    const unfinished = Object.values(frames.incomplete).reduce((sum, count) => sum + count, 0) + frames.waiting;
    assert.deepEqual(
      { ...frames, incomplete: undefined, waiting: unfinished, messages: messages.numbered, closed, off },
      {
        received: known.received,
        dropped: known.dropped,
        incomplete: undefined,
        waiting: known.received - known.dropped - known.inMessages,
        in_messages: known.inMessages,
        messages: known.messages,
        closed: true,
        off: { frames: 0, messages: 0 },
      },
      text,
    );
  }
}

/** Messages that a report says are in files. */
function recordedIn({ buses }: LedgerReport): number {
  return buses.reduce(
    (sum, { messages, unknown }) =>
      sum + messages.recorded + unknown.reduce((tails, { recorded }) => tails + recorded, 0),
    0,
  );
}

Deno.test({
  name: `the ledger closes and is what was counted outside, in ${ROUNDS} runs with kills, full and hanging disks, ` +
    "floods and pruned journals",
  ...FILES,
  fn: async () => {
    const happened = new Set<string>();
    for (let seed = 1; seed <= ROUNDS; seed++) {
      await inFolder(async (folder) => {
        const random = new Random(seed);
        await using round = new LedgerRound(folder, { random, buses: 1 + seed % 2 });
        await round.start();
        const faults = Array.from({ length: 3 }, (_, i) => Object.keys(FAULTS)[(seed + i * 2 + random.int(2)) % 6]!);
        for (const fault of faults) {
          await round.run(random.between(100, 1500));
          await FAULTS[fault]!(round, random);
          happened.add(fault);
          await round.run(random.between(20, 200));
        }
        const what = `seed ${seed}: ${faults.join(", ")}`;
        const all = await round.ledger();
        assertTrue(round, all, what);
        for (let i = 0; i < 3; i++) {
          const [from, to] = [random.next(), random.next()].sort().map((part) => round.timeAt(part));
          const part = await round.ledger(`?from=${from}&to=${to}`);
          assertTrue(round, part, `${what}, from ${from} to ${to}`);
          assert.ok(part.from! <= from! && part.to! >= to!, `${what}: ${part.from} ${from} ${to} ${part.to}`);
        }
        await round.stop();
        const report = await ledgerOfDirectory(round.journal, { log: silentLogger });
        assertTrue(round, report, `${what}, offline`);
        assert.equal(recordedIn(report), round.recorded(), what);
      });
    }
    assert.deepEqual([...happened].sort(), Object.keys(FAULTS).sort());
  },
});

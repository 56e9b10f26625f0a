import assert from "node:assert/strict";
import { AtomicFile } from "../../src/base/mod.ts";
import { HEAD_FILE, type SequenceStore } from "../../src/journal/sequence/sequence_store.ts";
import type { JournalEnd } from "../../src/journal/sequence/sequence_start.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { pause } from "../support/eventually.ts";
import { bench, endAt, RESERVE, take } from "./sequence_bench.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PROCESSES = needs({ permissions: ["read", "write", "run"] });
const CHILD = new URL("./sequence_child.ts", import.meta.url).href;

function statusOf({ state }: SequenceStore): string {
  return state.status;
}

Deno.test("the first start begins an epoch at 1, reserved on disk before the first number", async () => {
  const { disk, open, lines } = bench();
  const store = await open();
  assert.deepEqual(store.start, {
    kind: "new",
    first: 1,
    reason: { code: "first_start", message: "this is the first start" },
  });
  assert.deepEqual(JSON.parse(disk.content!), { epoch: store.epoch.toHex(), reserved_through: RESERVE, previous: [] });
  assert.deepEqual(take(store, 3), [1, 2, 3]);
  assert.deepEqual(store.state, { status: "durable" });
  assert.match(lines.join("\n"), /INFO .*sequence numbers begin at 1 in a new epoch/);
});

Deno.test("after an orderly end the numbers go on without a gap", async () => {
  const { open, told, disk } = bench();
  const first = await open();
  take(first, 10);
  await first.close();
  assert.equal(JSON.parse(disk.content!).clean_head, 10);
  const second = await open({ journalEnd: endAt(first) });
  assert.deepEqual(second.start, { kind: "continued", first: 11 });
  assert.deepEqual(second.epoch, first.epoch);
  assert.equal(JSON.parse(disk.content!).clean_head, undefined, "the orderly end is over with the first number");
  assert.equal(second.next(), 11);
  assert.deepEqual(told, []);
});

Deno.test("after a kill the numbers go on behind the reserve, and what was skipped is told", async () => {
  const { open } = bench();
  const first = await open();
  take(first, 10);
  const second = await open({ journalEnd: endAt(first, 7) });
  assert.deepEqual(second.start, { kind: "continued", first: RESERVE + 1, skipped: { from: 8, to: RESERVE } });
  assert.equal(second.next(), RESERVE + 1);
  await second.close();
  // The journal got no block, so that the gap is still to be written down.
  const third = await open({ journalEnd: endAt(first, 7) });
  const skipped = { from: 8, to: RESERVE + 1 };
  assert.deepEqual(third.start, { kind: "continued", first: RESERVE + 2, skipped, isUnrecorded: true });
  const fourth = await open();
  assert.deepEqual(fourth.start, {
    kind: "continued",
    first: 2 * RESERVE + 2,
    skipped: { from: 1, to: 2 * RESERVE + 1 },
    isUnrecorded: true,
  });
});

Deno.test("the reserve is extended when half of it is used, while numbers are given out", async () => {
  const { open, disk, told } = bench();
  const store = await open();
  take(store, RESERVE / 2 - 1);
  assert.equal(disk.writes, 1);
  for (let round = 0; round < 50; round++) {
    take(store, RESERVE / 2);
    await pause();
    assert.ok(JSON.parse(disk.content!).reserved_through >= store.head + RESERVE / 2 - 1);
  }
  assert.equal(disk.writes, 51);
  assert.deepEqual(told, []);
});

Deno.test("numbers beyond the reserve on disk are never given out: a new epoch begins, told before its 1", async () => {
  const { open, disk, told } = bench();
  const store = await open();
  const old = store.epoch.toHex();
  disk.held = true;
  assert.deepEqual(take(store, RESERVE), Array.from({ length: RESERVE }, (_, i) => i + 1));
  assert.deepEqual(told, []);
  assert.equal(store.next(), 1);
  assert.deepEqual(told, [`not_durable ${store.epoch.toHex()}`]);
  assert.notEqual(store.epoch.toHex(), old);
  disk.release();
  await pause();
  assert.equal(
    JSON.parse(disk.content!).epoch,
    store.epoch.toHex(),
    "the new epoch is on disk behind the old one's write",
  );
  assert.deepEqual(JSON.parse(disk.content!).previous, [old]);
  assert.deepEqual(store.state, { status: "durable" });
});

Deno.test("a card that turned read-only is health first, then one new epoch, and no second one", async () => {
  const { open, disk, clock, told, lines } = bench();
  const store = await open();
  disk.failure = "untouched";
  take(store, RESERVE / 2);
  await pause();
  assert.deepEqual(store.state, {
    status: "overdue",
    left: RESERVE / 2,
    error: 'Cannot write "head.json": Read-only file system',
  });
  for (let i = 0; i < 100; i++) {
    take(store, RESERVE);
    clock.advance(60_000);
    await pause();
  }
  assert.equal(told.length, 1);
  assert.equal(statusOf(store), "volatile");
  assert.equal(lines.filter((line) => line.includes("sequence numbers cannot be reserved")).length, 1);
  disk.failure = undefined;
  clock.advance(60_000);
  store.next();
  await pause();
  assert.equal(statusOf(store), "durable");
  assert.equal(JSON.parse(disk.content!).reserved_through, store.head + RESERVE);
  assert.match(lines.at(-1)!, /reserved on disk again/);
});

Deno.test("tries to reserve on a broken disk come with pauses", async () => {
  const { open, disk, clock } = bench();
  const store = await open();
  disk.failure = "untouched";
  const before = disk.writes;
  for (let second = 0; second < 120; second++) {
    take(store, 50);
    clock.advance(5000);
    await pause();
  }
  assert.ok(disk.writes - before < 20, String(disk.writes - before));
  assert.ok(disk.writes - before > 10, String(disk.writes - before));
});

Deno.test("a start on a read-only card begins an epoch in memory, and the next start knows nothing of it", async () => {
  const { open, disk } = bench();
  const first = await open();
  take(first, 5);
  await first.close();
  disk.failure = "untouched";
  const second = await open({ journalEnd: endAt(first) });
  assert.equal(second.start.kind === "new" && second.start.reason.code, "not_durable");
  take(second, 10 * RESERVE);
  await second.close();
  disk.failure = undefined;
  const third = await open({ journalEnd: endAt(first) });
  assert.deepEqual(third.epoch, first.epoch);
  assert.deepEqual(third.start, { kind: "continued", first: 6 });
});

Deno.test("an epoch whose write may have landed is given out only as far as that write says", async () => {
  const { open, disk, told } = bench();
  disk.failure = "unknown";
  const store = await open();
  assert.equal(statusOf(store), "volatile");
  assert.deepEqual(take(store, RESERVE).at(-1), RESERVE);
  assert.deepEqual(told, []);
  assert.equal(store.next(), 1);
  assert.equal(told.length, 1);
});

for (
  const [what, content] of [
    ["no JSON", "{"],
    ["empty, as a power cut leaves files", ""],
    ["no object", "null"],
    ["without an epoch", `{"reserved_through":5}`],
    ["with a number that is none", `{"epoch":"${"0".repeat(32)}","reserved_through":"5"}`],
    ["with a number that is not exact", `{"epoch":"${"0".repeat(32)}","reserved_through":1e16}`],
    ["with an end beyond the reserve", `{"epoch":"${"0".repeat(32)}","reserved_through":5,"clean_head":6}`],
    ["with previous epochs that are none", `{"epoch":"${"0".repeat(32)}","reserved_through":5,"previous":[1]}`],
    ["not UTF-8", "\ufffd"],
  ] as const
) {
  Deno.test(`a head.json that is ${what} begins a new epoch and says why`, async () => {
    const { open, disk, lines } = bench();
    disk.put(content);
    const store = await open({ journalEnd: { epoch: new Uint8Array(16), seq: 3 } });
    assert.ok(store.start.kind === "new");
    assert.equal(store.start.reason.code, "head_damaged");
    assert.match(store.start.reason.message, /^head\.json is damaged: ./);
    assert.match(lines.join("\n"), /WARN .*head\.json is damaged/);
    assert.equal(store.next(), 1);
  });
}

Deno.test("a head.json that cannot be read begins a new epoch and says why", async () => {
  const { open, disk } = bench();
  disk.read = () => Promise.reject(new Error("Input/output error"));
  const store = await open();
  assert.ok(store.start.kind === "new");
  assert.equal(store.start.reason.message, "head.json is damaged: Input/output error");
});

Deno.test("a head.json that the journal contradicts is an older copy: a new epoch begins", async () => {
  const epoch = "ab".repeat(16);
  const other = "cd".repeat(16);
  const stored = { epoch, reserved_through: 1000, previous: ["ef".repeat(16)] };
  const outcomes: [what: string, head: object, journal: JournalEnd | undefined, first: number | "new"][] = [
    ["as left by a kill", stored, { epoch: Uint8Array.fromHex(epoch), seq: 900 }, 1001],
    ["no journal", stored, undefined, 1001],
    ["too close to the end", stored, { epoch: Uint8Array.fromHex(epoch), seq: 985 }, "new"],
    ["beyond the end", stored, { epoch: Uint8Array.fromHex(epoch), seq: 1001 }, "new"],
    ["another epoch", stored, { epoch: Uint8Array.fromHex(other), seq: 5 }, "new"],
    ["other software's files", stored, { seq: 5 }, "new"],
    ["the epoch before", stored, { epoch: Uint8Array.fromHex("ef".repeat(16)), seq: 5000 }, 1001],
    ["orderly end", { ...stored, clean_head: 950 }, { epoch: Uint8Array.fromHex(epoch), seq: 950 }, 951],
    ["beyond the orderly end", { ...stored, clean_head: 950 }, { epoch: Uint8Array.fromHex(epoch), seq: 951 }, "new"],
  ];
  for (const [what, head, journalEnd, first] of outcomes) {
    const { open, disk } = bench();
    disk.put(JSON.stringify(head));
    const { start, state } = await open({ journalEnd });
    assert.equal(
      start.kind === "continued" ? start.first : start.reason.code,
      first === "new" ? "head_outdated" : first,
      what,
    );
    assert.equal(state.status, "durable");
  }
});

Deno.test("a missing head.json beside a journal begins a new epoch, and restarts without a frame stay in it", async () => {
  const { open } = bench();
  const journalEnd = { epoch: Uint8Array.fromHex("ab".repeat(16)), seq: 500 };
  const first = await open({ journalEnd });
  assert.equal(first.start.kind === "new" && first.start.reason.code, "head_missing");
  const second = await open({ journalEnd });
  assert.deepEqual(second.start, { kind: "continued", first: RESERVE + 1, skipped: { from: 1, to: RESERVE } });
  assert.deepEqual(second.epoch, first.epoch);
});

Deno.test("whoever knows of higher numbers asks for a new epoch, at once and durably", async () => {
  const { open, told, disk } = bench();
  const store = await open();
  take(store, 9);
  store.newEpoch("the cloud has seen 2000");
  assert.deepEqual(told, [`asked ${store.epoch.toHex()}`]);
  assert.equal(store.next(), 1);
  await pause();
  assert.equal(JSON.parse(disk.content!).epoch, store.epoch.toHex());
  await store.close();
  const next = await open();
  assert.equal(next.next(), 2);
});

Deno.test("a closed store gives out no numbers, and may be closed again", async () => {
  const { open, disk } = bench();
  const store = await open();
  take(store, 2);
  await Promise.all([store.close(), store.close()]);
  assert.throws(() => store.next(), /^Error: Cannot assign a number: the store is closed$/);
  store.newEpoch("late");
  assert.equal(store.head, 2);
  assert.equal(JSON.parse(disk.content!).clean_head, 2);
});

Deno.test("an end that cannot be written down is logged, and the next start skips the reserve", async () => {
  const { open, disk, lines } = bench();
  const store = await open();
  take(store, 2);
  disk.failure = "untouched";
  await store.close();
  assert.match(lines.at(-1)!, /WARN .*last sequence number not stored/);
  disk.failure = undefined;
  assert.equal((await open({ journalEnd: endAt(store) })).next(), RESERVE + 1);
});

Deno.test("a process that is killed at any moment never repeats a number", PROCESSES, async () => {
  const random = new Random(77);
  await inFolder(async (folder) => {
    const high = new Map<string, number>();
    let epoch: string | undefined;
    for (let round = 0; round < 8; round++) {
      const journalSeq = String(Math.max(0, (high.get(epoch ?? "") ?? 0) - random.int(50)));
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", CHILD, folder, epoch ?? "", journalSeq, String(RESERVE * 16)],
        stdin: "null",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      const killAfter = random.between(1, 3000);
      let told = "";
      let isKilled = false;
      for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
        told += part;
        if (isKilled || told.length <= killAfter * 10) continue;
        isKilled = true;
        child.kill("SIGKILL");
      }
      await child.status;
      for (const line of told.split("\n").slice(0, -1)) {
        const [lineEpoch, seq] = line.split(" ");
        assert.ok(Number(seq) > (high.get(lineEpoch!) ?? 0), `${line} after ${high.get(lineEpoch!)}`);
        high.set(lineEpoch!, Number(seq));
        epoch = lineEpoch;
      }
    }
  });
});

Deno.test("a state directory that is not there gives numbers in memory", DISK, async () => {
  await inFolder(async (folder) => {
    const { open } = bench();
    const file = new AtomicFile(`${folder}/none`, { name: HEAD_FILE });
    const store = await open({ file });
    assert.equal(statusOf(store), "volatile");
    take(store, 5 * RESERVE);
    await Deno.mkdir(`${folder}/none`);
    await store.close();
    assert.equal((await open({ file, journalEnd: endAt(store) })).next(), 5 * RESERVE + 1);
  });
});

import assert from "node:assert/strict";
import { Ranges } from "../../src/base/mod.ts";
import type { BusCounts, FrameFates } from "../../src/journal/mod.ts";
import { type Account, LedgerWalk, messagesInCloud, sumOf } from "../../src/ledger/mod.ts";

const EPOCH = 1;
const RUN = { id: "a", startUs: 1000, firstSeq: 1 };

type Counts = Partial<Omit<BusCounts, "fates">> & { fates?: Partial<FrameFates> };

function counts({ fates = {}, ...rest }: Counts = {}): BusCounts {
  const none = { inMessages: 0, incomplete: {}, waiting: 0, numbered: 0, unrecorded: 0 };
  return { received: 0, dropped: 0, incomplete: {}, ...rest, fates: { ...none, ...fates } };
}

/** What a bus may have counted after 100 messages of 250 frames. */
const AFTER: Counts = {
  received: 262,
  dropped: 5,
  fates: { inMessages: 250, incomplete: { timeout: 7, tp_control: 2 }, waiting: 3, numbered: 100, unrecorded: 10 },
};

/** A block of 90 messages, the first 10 of the run having been lost by the disk. */
function block(after: Counts = AFTER, changed: Partial<Account> = {}): Account {
  const at = (timeUs: number, each: Counts) => ({ run: RUN, timeUs, counts: [counts(each)] });
  return {
    epochWord: EPOCH,
    firstSeq: 11,
    messages: 90,
    busOf: undefined,
    buses: ["can0"],
    firstUs: 2000,
    begin: at(2000, { received: 20, fates: { inMessages: 20, numbered: 10, unrecorded: 10 } }),
    end: { ...at(3000, after), messages: 90 },
    gap: { firstMissing: 1, reason: "disk" },
    ...changed,
  };
}

function ledgerOf(...accounts: Account[]) {
  const walk = new LedgerWalk({ isFromStart: true });
  for (const account of accounts) walk.add(account);
  return walk.finish();
}

Deno.test("a ledger adds up frames and messages by where they went", () => {
  const { fromUs, toUs, buses: [bus] } = ledgerOf(block());
  assert.deepEqual([fromUs, toUs], [1000, 3000]);
  assert.deepEqual(bus, {
    bus: "can0",
    frames: { received: 267, dropped: 5, incomplete: { timeout: 7, tp_control: 2 }, inMessages: 250, waiting: 3 },
    messages: { numbered: 100, recorded: 90, acknowledged: undefined, stored: undefined, missing: { disk: 10 } },
    unknown: [],
    off: { frames: 0, messages: 0 },
  });
});

/** Counters that do not count, and by how much the ledger is off then: frames, messages. */
const BROKEN: readonly [string, Counts, number, number][] = [
  ["received", { ...AFTER, received: 261 }, -1, 0],
  ["in messages", { ...AFTER, fates: { ...AFTER.fates, inMessages: 240 } }, 10, 0],
  ["incomplete", { ...AFTER, fates: { ...AFTER.fates, incomplete: { timeout: 7 } } }, 2, 0],
  ["waiting", { ...AFTER, fates: { ...AFTER.fates, waiting: 0 } }, 3, 0],
  ["numbered", { ...AFTER, fates: { ...AFTER.fates, numbered: 99 } }, 0, -1],
];
for (const [name, after, frames, messages] of BROKEN) {
  Deno.test(`a ledger does not close, and says by how much, when this is not counted: ${name}`, () => {
    assert.deepEqual(ledgerOf(block(after)).buses[0]?.off, { frames, messages });
  });
}

Deno.test("a ledger does not close when a loss of the disk is not counted, or a file has fewer messages than it should", () => {
  const begin = { run: RUN, timeUs: 2000, counts: [counts({ received: 20, fates: { inMessages: 20, numbered: 10 } })] };
  const after = { ...AFTER, fates: { ...AFTER.fates, unrecorded: 0 } };
  assert.equal(ledgerOf(block(after, { begin })).buses[0]?.off.messages, 10);
  const end = { ...block().end!, messages: 89 };
  assert.equal(ledgerOf(block(AFTER, { messages: 89, end })).buses[0]?.off.messages, 1);
});

Deno.test("what came while the program did not run is unknown, with the frames that the interface has counted", () => {
  const own = (received: number, atStart: number, id = 9) => ({ id, atStart, received });
  const first = block({ ...AFTER, fates: { ...AFTER.fates, interface: own(300, 0) } });
  const again = { id: "b", startUs: 9000, firstSeq: 101 };
  const second = (interfaceNow: FrameFates["interface"], firstSeq = 101): Account => ({
    ...block(),
    ...{ firstSeq, messages: 1, gap: firstSeq > 101 ? { firstMissing: 101, reason: "restart" } : undefined },
    begin: {
      run: { ...again, firstSeq },
      timeUs: 9500,
      counts: [counts({ received: 1, fates: { waiting: 1, ...(interfaceNow && { interface: interfaceNow }) } })],
    },
    end: undefined,
  });
  const unknownOf = (account: Account) => ledgerOf(first, account).buses[0]?.unknown[0];
  const base = { fromUs: 3000, toUs: 9000, recorded: 0, acknowledged: 0, stored: 0 };
  assert.deepEqual(unknownOf(second(own(350, 340))), { ...base, reason: "stopped", interfaceFrames: 40 });
  assert.deepEqual(unknownOf(second(own(350, 340, 8))), { ...base, reason: "stopped" });
  assert.deepEqual(unknownOf(second(own(15, 5))), { ...base, reason: "stopped" });
  assert.deepEqual(unknownOf(second(undefined, 2_000_000)), { ...base, reason: "crashed" });
});

Deno.test("blocks of older software are unknown with their messages, and not taken for a gap", () => {
  const old = block(AFTER, {
    begin: undefined,
    end: undefined,
    firstUs: 500,
    firstSeq: 1,
    messages: 10,
    gap: undefined,
  });
  const run = { id: "b", startUs: 1500, firstSeq: 11 };
  const { fates, ...rest } = counts(AFTER);
  const begin = { run, timeUs: 2000, counts: [counts()] };
  const end = {
    ...{ run, timeUs: 3000, messages: 90 },
    counts: [{ ...rest, fates: { ...fates!, numbered: 90, unrecorded: 0 } }],
  };
  const { fromUs, buses: [bus] } = ledgerOf(old, block(AFTER, { begin, end, gap: undefined }));
  assert.equal(fromUs, 500);
  assert.deepEqual(bus?.unknown.map(({ reason, fromUs, toUs, recorded }) => [reason, fromUs, toUs, recorded]), [
    ["no_counters", 500, 1500, 10],
  ]);
  assert.deepEqual([bus?.off, bus?.messages.recorded], [{ frames: 0, messages: 0 }, 90]);
});

Deno.test("the files of a run that began in a former epoch are deleted: what they had is unknown, and the rest closes", () => {
  const run = { ...RUN, firstSeq: 1 };
  const at = (timeUs: number, numbered: number) => ({
    ...{ run, timeUs },
    counts: [counts({ received: numbered, fates: { inMessages: numbered, numbered } })],
  });
  // 300 messages of the former epoch, and 20 of this one, whose file is gone, too.
  const rest = { ...block(), firstSeq: 21, messages: 90, gap: undefined, begin: at(2000, 320) };
  const { fromUs, buses: [bus] } = ledgerOf({ ...rest, end: { ...at(3000, 410), messages: 90 } });
  assert.equal(fromUs, 1000);
  assert.deepEqual(bus?.unknown, [{
    ...{ fromUs: 1000, toUs: 2000, reason: "pruned", recorded: 0, acknowledged: 0, stored: 0 },
  }]);
  assert.deepEqual([bus?.off, bus?.messages.numbered, bus?.messages.recorded, bus?.messages.missing], [
    { frames: 0, messages: 0 },
    90,
    90,
    {},
  ]);
});

Deno.test("a cloud says why messages are missing, and does not close when its numbers and its files disagree", () => {
  const found = new Ranges([{ start: 11, end: 41 }, { start: 51, end: 61 }]);
  const epoch = {
    epochWord: EPOCH,
    headSeq: 100,
    durable: [{ start: 11, end: 46 }, { start: 51, end: 61 }],
    stored: new Ranges([{ start: 1, end: 31 }]),
    void: [{ start: 1, end: 11 }],
    lost: [{ start: 46, end: 51, reason: "pruned on the boat" }],
    holes: [{ start: 61, end: 101 }],
  };
  const { messages, closed, off } = messagesInCloud([{ epoch, from: 1, to: 100, found }]);
  assert.deepEqual([messages.numbered, messages.recorded, messages.acknowledged, messages.stored], [90, 40, 45, 30]);
  assert.deepEqual(messages.missing, { link: 40, pruned: 5, "pruned on the boat": 5 });
  assert.equal(sumOf(messages.missing), 50);
  assert.deepEqual([closed, off], [true, { frames: 0, messages: 0 }]);
  // Received, as it says, and neither on the disk nor asked for again.
  const forgotten = { ...epoch, holes: [{ start: 71, end: 101 }] };
  assert.deepEqual(messagesInCloud([{ epoch: forgotten, from: 1, to: 100, found }]).off, { frames: 0, messages: 10 });
});

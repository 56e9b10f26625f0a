import assert from "node:assert/strict";
import { JsonFile, Logger, silentLogger } from "../../src/base/mod.ts";
import {
  checkBlock,
  encodeState,
  type InstanceState,
  loadState,
  MAX_HELD_RANGES,
  MAX_KEPT_FORMER,
  MAX_LOST_RANGES,
  MAX_STATE_BYTES,
  MAX_VOID_RANGES,
  parseState,
  Received,
  STATE_FILE,
  stateFile,
  storedForm,
  withNewerFrames,
} from "../../src/cloud/mod.ts";
import { epochWordOf, JournalFile, JournalIndex } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { FormerEpochs } from "../../src/cloud/state/former_epochs.ts";
import { Random } from "../support/random.ts";
import { EPOCH, wireBlock } from "./block_check_fixture.ts";

const BOAT = "boat-1";
const DISK = needs({ permissions: ["read", "write"] });
const OTHER_EPOCH = new Uint8Array(16).fill(0xb2);

function randomState(random: Random): InstanceState {
  const state = randomCurrent(random);
  if (random.chance(0.5)) return state;
  const former = Array.from({ length: random.between(1, 16) }, () => {
    const { headSeq, received } = randomCurrent(random);
    return { epoch: random.bytes(16).toHex(), headSeq, received };
  });
  return { ...state, former };
}

function randomCurrent(random: Random): InstanceState {
  const range = () => {
    const start = random.between(1, 5000);
    return { start, end: start + random.between(1, 200) };
  };
  const list = <T>(make: () => T) => Array.from({ length: random.int(20) }, make);
  const received = new Received();
  list(() => received.addBlock(range()));
  list(() => received.markDurable(range()));
  const reason = () => random.pick(["pruned", "disk", 'what "else"\n']);
  received.declare({ void: list(range), lost: list(() => ({ ...range(), reason: reason() })), end: 5000 });
  return {
    epochs: { current: EPOCH.toHex(), previous: list(() => random.bytes(16).toHex()) },
    headSeq: random.int(6000),
    journalBytes: random.int(2 ** 40),
    lastSeenMs: random.chance(0.2) ? undefined : random.int(2 ** 41),
    buses: random.some(["can0", "can1", "engine"]),
    accounted: { live: random.int(5000), backfill: random.pick([undefined, "backfill-20260102T030405.000Z.lpj"]) },
    received: received.record(),
    vanished: random.chance(0.5) ? [] : [{ start: random.int(100), end: 200 }],
    isOpen: random.chance(0.5),
  };
}

function textOf(state: InstanceState): string {
  return JSON.stringify(encodeState(BOAT, state));
}

/** Writes a file with blocks as a backfill does. */
async function writeFile(directory: string, { name, seqs, epoch = EPOCH }: {
  name: string;
  /** First number and count of each block. */
  seqs: [number, number][];
  epoch?: Uint8Array<ArrayBuffer>;
}): Promise<string> {
  const path = `${directory}/${name}.lpj`;
  const settings = { blockBytes: 16_384, compression: "zstd", epochWord: epochWordOf(epoch) } as const;
  const file = await JournalFile.create({ path, directory, ...settings });
  for (const [firstSeq, frames] of seqs) {
    const checked = checkBlock(wireBlock({ firstSeq, frames, epoch }), { epoch });
    assert.ok(checked.ok);
    const { sealed, packed } = storedForm(checked, { epoch, compression: "zstd" });
    await file.append(sealed, packed);
  }
  await file.end();
  return path;
}

/** Loads a boat's state from a directory; counts what it logs. */
async function load(directory: string): Promise<{ state: InstanceState; lines: string[] }> {
  const lines: string[] = [];
  const log = new Logger({ write: (line) => lines.push(line) });
  const journal = () => JournalIndex.open(directory, { log: silentLogger });
  return { state: await loadState(stateFile(directory), { id: BOAT, journal, log }), lines };
}

Deno.test("a state is read back as it was written down", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const state = randomState(new Random(seed));
    assert.deepEqual(parseState(textOf(state), BOAT), state, `seed ${seed}`);
  }
});

Deno.test("the written state tells cursor, holes and when the boat was last heard of, for whoever looks", () => {
  const received = new Received();
  received.addBlock({ start: 1, end: 1000 });
  received.addBlock({ start: 2000, end: 2500 });
  received.markDurable({ start: 1, end: 2200 });
  const lastSeenMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  const epochs = { current: EPOCH.toHex(), previous: [] };
  const state = { epochs, headSeq: 2499, journalBytes: 7, lastSeenMs, buses: ["can0"], received: received.record() };
  assert.deepEqual(JSON.parse(textOf(state)), {
    version: 1,
    id: BOAT,
    epoch: EPOCH.toHex(),
    previous_epochs: [],
    cursor: 999,
    holes: [{ start: 1000, end: 2000 }, { start: 2200, end: 2500 }],
    boat_head_seq: 2499,
    boat_journal_bytes: 7,
    last_seen: "2026-01-02T03:04:05.000Z",
    bus_names: ["can0"],
    live_through: 0,
    backfill_through: null,
    ranges: [{ start: 1, end: 1000 }, { start: 2000, end: 2200 }],
    void: [],
    lost: [],
    vanished: [],
    open: false,
  });
});

Deno.test("a state that makes no sense is refused", () => {
  const good: object = JSON.parse(textOf(randomState(new Random(3))));
  const wrong: Record<string, unknown>[] = [
    { version: 2 },
    { id: "boat-2" },
    { epoch: "a1" },
    { epoch: null },
    { previous_epochs: ["x"] },
    { previous_epochs: Array(65).fill(EPOCH.toHex()) },
    { cursor: 123_456 },
    { ranges: [{ start: 5, end: 5 }] },
    { ranges: {} },
    { void: [{ start: -1, end: 5 }] },
    { lost: [{ start: 1, end: 5 }] },
    { lost: [{ start: 1, end: 5, reason: "x".repeat(257) }] },
    { lost: null },
    { boat_head_seq: -1 },
    { boat_journal_bytes: 0.5 },
    { last_seen: "yesterday" },
    { live_through: -1 },
    { backfill_through: 7 },
    { bus_names: "can0" },
    { bus_names: [7] },
    { bus_names: ["a", "b", "c", "d", "e"] },
  ];
  for (const change of wrong) {
    assert.throws(() => parseState(JSON.stringify({ ...good, ...change }), BOAT), TypeError, JSON.stringify(change));
  }
  for (const text of ["", "{", "\0\0\0\0"]) assert.throws(() => parseState(text, BOAT), SyntaxError);
  for (const text of ["null", "[]", "7", '"x"']) assert.throws(() => parseState(text, BOAT), TypeError);
});

Deno.test("a state with changed letters is refused or read, and nothing else is thrown", () => {
  const random = new Random(9);
  for (let run = 0; run < 2000; run++) {
    const letters = [...textOf(randomState(random))];
    for (let i = random.between(1, 4); i > 0; i--) {
      letters[random.int(letters.length)] = random.pick([...'019,:{}[]"x']);
    }
    try {
      parseState(letters.join(""), BOAT);
    } catch (error) {
      assert.ok(error instanceof SyntaxError || error instanceof TypeError, `${error}`);
    }
  }
});

Deno.test("a state with as much as is kept of a boat is below the size that is read", () => {
  const far = 2 ** 52;
  const ranges = (count: number, from: number) =>
    Array.from({ length: count }, (_, i) => ({ start: far + from + 10 * i, end: far + from + 10 * i + 2 }));
  const reason = "\u0001".repeat(256);
  const received = {
    durable: ranges(MAX_HELD_RANGES, 0),
    void: ranges(MAX_VOID_RANGES, 3),
    lost: ranges(MAX_LOST_RANGES, 6).map((range) => ({ ...range, reason })),
  };
  const epochs = { current: EPOCH.toHex(), previous: [] };
  const each = { epoch: EPOCH.toHex(), headSeq: 2 ** 53 - 2, received };
  // As much as is said of them: what is kept of it is less.
  const former = new FormerEpochs(Array.from({ length: MAX_KEPT_FORMER + 1 }, () => each)).states;
  const text = textOf({ epochs, headSeq: 2 ** 53 - 2, journalBytes: 0, lastSeenMs: 0, buses: [], received, former });
  assert.ok(text.length < MAX_STATE_BYTES, `${text.length}`);
});

Deno.test(
  "a state lies in the boat's directory and is found there, with no line in the log",
  DISK,
  () =>
    inFolder(async (directory) => {
      const state = randomState(new Random(4));
      const content = () => encodeState(BOAT, state);
      const kept = new JsonFile(stateFile(directory), { what: "states", content, log: silentLogger });
      kept.changed();
      await kept.close();
      assert.deepEqual(Array.from(Deno.readDirSync(directory), ({ name }) => name), [STATE_FILE]);
      assert.deepEqual(await load(directory), { state, lines: [] });
    }),
);

Deno.test(
  "of a boat that was never here nothing is known, and nothing is logged",
  DISK,
  () =>
    inFolder(async (directory) => {
      const { state, lines } = await load(directory);
      assert.deepEqual(state.epochs, { current: undefined, previous: [] });
      assert.deepEqual(state.received, { durable: [], void: [], lost: [] });
      assert.deepEqual(lines, []);
    }),
);

Deno.test(
  "where the state makes no sense, what is here is looked up in the journal files",
  DISK,
  () =>
    inFolder(async (directory) => {
      const name = (minute: string) => `backfill-20260102T03${minute}00.000Z`;
      await writeFile(directory, { name: name("01"), seqs: [[1, 500]], epoch: OTHER_EPOCH });
      await writeFile(directory, { name: name("05"), seqs: [[701, 100], [1001, 100]] });
      await writeFile(directory, { name: name("06"), seqs: [[751, 100], [701, 100]] });
      for (const text of ["", "{", '{"version":1}', "x".repeat(MAX_STATE_BYTES + 1)]) {
        await Deno.writeTextFile(`${directory}/${STATE_FILE}`, text);
        const { state, lines } = await load(directory);
        assert.deepEqual(state.epochs, { current: EPOCH.toHex(), previous: [] });
        assert.deepEqual(state.received.durable, [{ start: 701, end: 851 }, { start: 1001, end: 1101 }]);
        assert.equal(state.headSeq, 1100);
        assert.deepEqual(state.buses, ["can0"]);
        assert.equal(lines.length, 2);
        assert.match(lines[0]!, /state file not readable what=.*boat-1/);
        assert.match(lines[1]!, /rebuilt from journal files id=boat-1 frames=250/);
      }
    }),
);

Deno.test("a damaged block is a hole in what is looked up", DISK, () =>
  inFolder(async (directory) => {
    const name = "backfill-20260102T030405.000Z";
    const path = await writeFile(directory, { name, seqs: [[1, 100], [101, 100], [201, 100]] });
    const bytes = await Deno.readFile(path);
    bytes.fill(0x55, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 40);
    await Deno.writeFile(path, bytes);
    const { state } = await load(directory);
    assert.deepEqual(state.received.durable, [{ start: 1, end: 101 }, { start: 201, end: 301 }]);
  }));

Deno.test(
  "frames that were stored after the state was last written down are found above it",
  DISK,
  () =>
    inFolder(async (directory) => {
      await writeFile(directory, { name: "nmea2k-20260102T030405.000Z", seqs: [[1, 100], [101, 100], [301, 100]] });
      const journal = await JournalIndex.open(directory, { log: silentLogger });
      const record = { durable: [{ start: 1, end: 151 }], void: [{ start: 151, end: 153 }], lost: [] };
      const accounted = { live: 150, backfill: undefined };
      const found = await withNewerFrames(record, { journal, epoch: EPOCH.toHex(), accounted });
      assert.deepEqual(found, { ...record, durable: [{ start: 1, end: 201 }, { start: 301, end: 401 }] });
      assert.deepEqual(await withNewerFrames(record, { journal, epoch: OTHER_EPOCH.toHex(), accounted }), record);
    }),
);

Deno.test(
  "fetched blocks that were stored after the state was last written down are found wherever they are",
  DISK,
  () =>
    inFolder(async (directory) => {
      const name = (minute: string) => `backfill-20260102T03${minute}00.000Z`;
      await writeFile(directory, { name: "nmea2k-20260102T030405.000Z", seqs: [[2001, 100]] });
      await writeFile(directory, { name: name("01"), seqs: [[1, 100]] });
      await writeFile(directory, { name: name("02"), seqs: [[501, 100], [301, 100]] });
      await writeFile(directory, { name: name("03"), seqs: [[701, 100]], epoch: OTHER_EPOCH });
      const journal = await JournalIndex.open(directory, { log: silentLogger });
      const record = { durable: [{ start: 2001, end: 2101 }], void: [], lost: [] };
      const accounted = { live: 2100, backfill: `${name("01")}.lpj` };
      const found = await withNewerFrames(record, { journal, epoch: EPOCH.toHex(), accounted });
      assert.deepEqual(found.durable, [
        { start: 301, end: 401 },
        { start: 501, end: 601 },
        { start: 2001, end: 2101 },
      ]);
    }),
);

import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { type JournalEnd, parseHead } from "../../src/journal/sequence/sequence_start.ts";
import { SequenceStore } from "../../src/journal/sequence/sequence_store.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { Random } from "../support/random.ts";
import { FakeDisk } from "./fake_disk.ts";

const RESERVE = 64;
const CHAINS = 2000;
const STEPS = 80;

/** Where a journal ends, as told by epoch in digits. */
interface End {
  epoch: string;
  seq: number;
}

/** What somebody copied away and may bring back. */
interface Copy {
  content: string | undefined;
  journal: End | undefined;
}

const STEPS_OF_LIFE = [
  ...["publish", "publish", "publish", "publish", "breathe", "breathe", "stop", "kill", "cutPower", "journal"],
  ...[
    "journal",
    "copy",
    "readOnly",
    "ambiguous",
    "repair",
    "hold",
    "release",
    "restore",
    "restore",
    "lose",
    "damage",
    "cloud",
  ],
] as const;

/** A boat's life in random steps, with all numbers that it ever gave out. */
class Life {
  readonly #random: Random;
  readonly #disk: FakeDisk;
  readonly #clock = new FakeClock();
  /** Highest number given out by epoch. */
  readonly #high = new Map<string, number>();
  #store: SequenceStore | undefined;
  #journal: { written: End | undefined; synced: End | undefined } = { written: undefined, synced: undefined };
  #copies: Copy[] = [];
  #told: string[] = [];
  #last: End | undefined;
  /** Something happened after which a new epoch is in order. */
  #trouble = true;
  /** An older copy of head.json is on the disk, and comes back with each start until the disk takes a write. */
  #isOlderCopy = false;
  /** Head at the last end, when that was orderly. */
  #orderlyHead: number | undefined;
  readonly counts = { numbers: 0, continued: 0, epochs: 0, witnessed: 0, orderly: 0 };

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#disk = new FakeDisk(this.#random);
  }

  async step(): Promise<void> {
    if (!this.#store && this.#random.chance(0.7)) return await this.#start();
    const what = this.#random.pick(STEPS_OF_LIFE);
    if (what === "publish") { for (let n = this.#random.int(RESERVE / 2); n > 0; n--) this.#publish(); }
    if (what === "breathe") await this.#breathe();
    if (what === "journal") this.#writeJournal();
    if (what === "stop") await this.#stop();
    if (what === "kill") this.#end(() => this.#disk.kill());
    if (what === "cutPower") this.#cutPower();
    if (what === "copy") this.#copies.push({ content: this.#disk.content, journal: this.#journal.written });
    if (what === "readOnly") this.#fail("untouched");
    if (what === "ambiguous" && this.#random.chance(0.3)) this.#fail("unknown");
    if (what === "repair") this.#disk.failure = undefined;
    if (what === "hold") this.#trouble = this.#disk.held = true;
    if (what === "release") this.#disk.release();
    if (what === "restore" && !this.#store) this.#restore();
    if (what === "lose" && !this.#store && this.#random.chance(0.3)) this.#lose(undefined);
    if (what === "damage" && !this.#store && this.#random.chance(0.3)) this.#lose(this.#disk.content?.slice(0, -4));
    if (what === "cloud" && this.#random.chance(0.1)) this.#beginAnew("the cloud says so");
  }

  async #start(): Promise<void> {
    this.#disk.release();
    const isKilled = this.#random.chance(0.1);
    this.#disk.held = isKilled && this.#random.chance(0.5);
    const { written } = this.#journal;
    const onlyCloudKnows = this.#isOlderCopy && !this.#isContradicted();
    const journalEnd: JournalEnd | undefined = written &&
      { epoch: Uint8Array.fromHex(written.epoch), seq: written.seq };
    const opening = SequenceStore.open({
      file: this.#disk,
      journalEnd,
      log: silentLogger,
      clock: this.#clock,
      randomBytes: (count) => this.#random.bytes(count),
      reserve: RESERVE,
      onNewEpoch: (epoch) => this.#told.push(epoch.toHex()),
    });
    if (isKilled) return await this.#killEarly();
    const store = await opening;
    this.#store = store;
    this.#told = [];
    const wasTrouble = this.#trouble;
    this.#trouble = this.#disk.failure !== undefined;
    this.#checkStart(store, { journal: written, wasTrouble, onlyCloudKnows });
    this.#orderlyHead = undefined;
    if (!this.#disk.failure) this.#isOlderCopy = false;
  }

  /** Ends a process before it has given out a number, in the middle of its first write or after that. */
  async #killEarly(): Promise<void> {
    for (let turns = this.#random.int(12); turns > 0; turns--) await Promise.resolve();
    this.#disk.kill();
    this.#orderlyHead = undefined;
  }

  #checkStart(
    store: SequenceStore,
    { journal, wasTrouble, onlyCloudKnows }: {
      journal: End | undefined;
      wasTrouble: boolean;
      onlyCloudKnows: boolean;
    },
  ): void {
    const epoch = store.epoch.toHex();
    if (store.start.kind === "new") {
      assert.ok(wasTrouble, `needless new epoch: ${JSON.stringify(store.start)}`);
      assert.ok(!this.#high.has(epoch));
      this.counts.epochs++;
      this.#last = { epoch, seq: 0 };
      return;
    }
    const { first, skipped } = store.start;
    const high = this.#high.get(epoch) ?? 0;
    const known = journal?.epoch === epoch ? journal.seq : 0;
    assert.deepEqual(skipped, first - 1 > known ? { from: known + 1, to: first - 1 } : undefined);
    this.#last = { epoch, seq: first - 1 };
    this.counts.continued++;
    if (this.#orderlyHead !== undefined && !wasTrouble) {
      assert.equal(first, this.#orderlyHead + 1, "an orderly end skips nothing");
      this.counts.orderly++;
    }
    if (first <= high) {
      assert.ok(onlyCloudKnows, `${epoch} goes on at ${first} after ${high}`);
      // The handshake names what the cloud has, before anything is published.
      this.#beginAnew(`the cloud has ${high}`);
      this.counts.witnessed++;
    }
  }

  /** The journal may come to know the new epoch when head.json does not yet. */
  #beginAnew(why: string): void {
    if (!this.#store) return;
    this.#store.newEpoch(why);
    this.#trouble = true;
  }

  #publish(): void {
    const store = this.#store;
    if (!store) return;
    const seq = store.next();
    const epoch = store.epoch.toHex();
    if (epoch === this.#last?.epoch) {
      assert.equal(seq, this.#last.seq + 1);
      assert.ok(seq > (this.#high.get(epoch) ?? 0), `${epoch} ${seq} twice`);
    } else {
      assert.ok(this.#told.includes(epoch), "a new epoch is told before its first number");
      assert.ok(!this.#high.has(epoch));
      assert.equal(seq, 1);
      this.counts.epochs++;
    }
    this.#high.set(epoch, seq);
    this.#last = { epoch, seq };
    this.counts.numbers++;
  }

  async #breathe(): Promise<void> {
    this.#clock.advance(this.#random.int(90_000));
    for (let turns = this.#random.int(12); turns > 0; turns--) await Promise.resolve();
  }

  #writeJournal(): void {
    if (!this.#last || !this.#store || this.#disk.failure) return;
    const { epoch, seq } = this.#last;
    // A start that has skipped numbers has no frames to write.
    if (this.#high.get(epoch) !== seq) return;
    const { written } = this.#journal;
    const least = written?.epoch === epoch ? written.seq : 1;
    if (this.#random.chance(0.5)) this.#journal.synced = written;
    this.#journal.written = { epoch, seq: this.#random.between(Math.min(least, seq), seq) };
    if (this.#random.chance(0.5)) this.#journal.synced = this.#journal.written;
  }

  async #stop(): Promise<void> {
    if (!this.#store) return;
    this.#disk.release();
    await this.#store.close();
    this.#orderlyHead = this.#disk.failure ? undefined : this.#store.head;
    this.#store = undefined;
    if (this.#random.chance(0.5)) this.#copies.push({ content: this.#disk.content, journal: this.#journal.written });
  }

  #end(how: () => void): void {
    if (!this.#store) return;
    how();
    this.#store = undefined;
    this.#orderlyHead = undefined;
  }

  #cutPower(): void {
    this.#end(() => this.#disk.cutPower());
    this.#journal.written = this.#journal.synced;
  }

  #fail(how: "untouched" | "unknown"): void {
    this.#disk.failure = how;
    this.#trouble = true;
  }

  #lose(content: string | undefined): void {
    this.#disk.put(content);
    this.#trouble = true;
    // Without state and journal nobody knows that there were numbers; the epoch is a new one all the same.
  }

  #restore(): void {
    const copy = this.#copies.length > 0 ? this.#random.pick(this.#copies) : undefined;
    if (!copy) return;
    const what = this.#random.pick(["head", "journal", "both"]);
    if (what !== "journal") this.#disk.put(copy.content);
    if (what !== "head") this.#journal = { written: copy.journal, synced: copy.journal };
    this.#trouble = true;
    if (what !== "journal") this.#isOlderCopy = true;
  }

  /** Whether the journal must show that `head.json` is too old: what the store promises, said another way. */
  #isContradicted(): boolean {
    const found = parseHead(new TextEncoder().encode(this.#disk.content ?? ""));
    if (found.kind !== "head") return true;
    const { epoch, reservedThrough, cleanHead, previous } = found.head;
    const { written } = this.#journal;
    const high = this.#high.get(epoch) ?? 0;
    if (high <= (cleanHead ?? reservedThrough)) return true;
    if (!written) return false;
    if (written.epoch !== epoch) return !previous.includes(written.epoch);
    return cleanHead === undefined ? high - written.seq <= RESERVE / 4 : written.seq > cleanHead;
  }
}

Deno.test("whatever happens to process, power, disk and files, no number is given out twice in an epoch", async () => {
  const sum = { numbers: 0, continued: 0, epochs: 0, witnessed: 0, orderly: 0 };
  for (let seed = 1; seed <= CHAINS; seed++) {
    const life = new Life(seed);
    try {
      for (let step = 0; step < STEPS; step++) await life.step();
    } catch (error) {
      throw new Error(`chain ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += life.counts[key];
  }
  // The chains lead everywhere they should.
  for (const [what, count] of Object.entries(sum)) assert.ok(count > 50, `${what}: ${count}`);
  assert.ok(sum.numbers > 50_000, String(sum.numbers));
});

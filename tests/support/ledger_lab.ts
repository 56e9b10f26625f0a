import assert from "node:assert/strict";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { ledgerOfDirectory, type LedgerReport } from "../../src/ledger/mod.ts";
import { eventually, pause } from "./eventually.ts";
import { assertBoatLedger } from "./ledger_check.ts";
import { heardBy, type KnownRun, messagesIn, noteRecorded, sum } from "./ledger_runs.ts";
import { linkOf, metricOf } from "./replication_faults.ts";
import type { FedPiece } from "./replication_feed.ts";
import { ReplicationLab } from "./replication_lab.ts";

/** Everything that is known. */
const ALL = "from=2020-01-01T00:00:00Z";
const POLL_EVERY_MS = 200;
/** Between the numbers of the messages of two buses. */
const NUMBERS_PER_BUS = 10_000_000;

/** How a {@linkcode LedgerLab} is set up. */
export interface LedgerLabOptions {
  buses: number;
  boatFlags: readonly string[];
  /** Directory of the boat's journal; default one in the lab's folder. */
  journal?: string | undefined;
  /** Data directory of the cloud; default one in the lab's folder. */
  dataDirectory?: string | undefined;
}

/**
 * Boat and cloud as real programs, whose runs are written down: what was put on the buses during each of them, how it
 * ended, and what was in its files. All the time, both are asked for their ledgers, which must close.
 */
export class LedgerLab implements AsyncDisposable {
  /** All runs of the boat, oldest first. */
  readonly runs: KnownRun[] = [];
  readonly journal: string;
  readonly cloudFiles: string;
  readonly lab: ReplicationLab;
  readonly #polling: Promise<void>;
  readonly #isPruned: boolean;
  /** Ledgers that did not close. */
  readonly open: string[] = [];
  /** Ledgers that were asked for meanwhile. */
  polls = 0;
  /** Messages that were put on the buses while a gateway was away and the boat ran. */
  unheard = 0;
  /** What a killed boat left behind, as a ledger of its directory. */
  #left: LedgerReport | undefined;
  #isOver = false;

  private constructor(lab: ReplicationLab, { journal, dataDirectory, boatFlags }: LedgerLabOptions) {
    this.lab = lab;
    this.#isPruned = boatFlags.includes("-journal-retention-max-size");
    this.journal = journal ?? `${lab.folder}/journal`;
    this.cloudFiles = `${dataDirectory ?? `${lab.folder}/cloud`}/boat-1`;
    this.#polling = this.#poll();
  }

  /** Starts both programs. */
  static async start(options: LedgerLabOptions): Promise<LedgerLab> {
    const { buses, boatFlags, journal, dataDirectory } = options;
    const owner: { lab?: LedgerLab } = {};
    const beganUs = systemClock.wallUs();
    const lab = await ReplicationLab.start({
      rate: 0,
      feeds: Array.from({ length: buses }, (_, bus) => ({
        name: `can${bus}`,
        earlier: bus * NUMBERS_PER_BUS,
        onPiece: (piece) => owner.lab?.note(piece, bus),
      })),
      boatFlags: [...boatFlags, ...(journal === undefined ? [] : ["-journal-dir", journal])],
      ...(dataDirectory !== undefined && { dataDirectory }),
    });
    const made = owner.lab = new LedgerLab(lab, options);
    await made.#noteStart(beganUs);
    return made;
  }

  /** The current run, or the last one. */
  get run(): KnownRun {
    const run = this.runs.at(-1);
    assert.ok(run);
    return run;
  }

  get isUp(): boolean {
    return this.run.end === undefined;
  }

  /** Messages that were put on the buses during the current run and were heard. */
  get heard(): number {
    return sum(this.run.buses.map((_, bus) => heardBy(this.run, bus).length));
  }

  /** Notes what is put on a bus. */
  note(piece: FedPiece, bus: number): void {
    const run = this.run;
    if (run.end) {
      assert.equal(piece.isHeard, false, "Nobody runs, and somebody listens");
      run.afterEnd.push(piece);
    } else if (piece.isHeard) run.buses[bus]?.pieces.push(piece);
    else this.unheard += piece.last - piece.first + 1;
  }

  /** Messages a second on each bus. */
  set rate(rate: number) {
    for (const feed of this.lab.feeds) feed.rate = rate;
  }

  /** Puts messages on the buses, at once. */
  async burst(messages: number): Promise<void> {
    const { feeds } = this.lab;
    await Promise.all(feeds.map((feed) => feed.burst(Math.ceil(messages / feeds.length))));
  }

  /** Lets the buses fall silent. */
  async silence(): Promise<void> {
    this.rate = 0;
    await Promise.all(this.lab.feeds.map((feed) => feed.burst(0)));
  }

  /** Lets the buses fall silent, and waits until the boat has everything. */
  async drain(): Promise<void> {
    await this.silence();
    const head = this.run.headBefore + this.heard;
    const isThere = async () => (await this.lab.boatStatus())?.local_head_seq === head;
    await eventually(`number ${head} on the boat`, isThere, { deadlineMs: 120_000 });
  }

  /** Notes what the boat reports as synced. */
  async noteDurable(): Promise<void> {
    this.run.durable = await metricOf(this.lab, "boat", "vbg_journal_durable_seq");
  }

  /** A gateway closes its connection, after frames of a message that never gets its rest; the boat connects again. */
  async hangUp(bus: number, frames: number): Promise<void> {
    await this.silence();
    const feed = this.lab.feeds[bus];
    const heard = this.run.buses[bus];
    assert.ok(feed && heard);
    heard.broken.push({ after: heardBy(this.run, bus).length, frames });
    await feed.hangUp(frames);
    // The boat waits before it connects again: nobody hears this.
    await feed.burst(50);
    await eventually("the boat on its bus", () => feed.isHeard);
  }

  /** Ends the boat under the traffic that there is. */
  async endBoat(how: "SIGKILL" | "SIGTERM"): Promise<void> {
    const run = this.run;
    run.isDrained = this.lab.feeds.every(({ rate }) => rate === 0);
    const askedUs = systemClock.wallUs();
    const code = await this.lab.end("boat", how);
    if (how === "SIGTERM") assert.equal(code, 0, this.lab.log("boat"));
    const overUs = systemClock.wallUs();
    await this.silence();
    await eventually("the end of the connections", () => this.lab.feeds.every(({ isHeard }) => !isHeard));
    run.end = { how, askedUs, overUs };
    if (how !== "SIGKILL") return;
    this.#left = await ledgerOfDirectory(this.journal, { log: silentLogger }).catch((error) => {
      // Nothing was synced yet.
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
  }

  /** Starts the boat, and notes what is in its files then. */
  async beginBoat(): Promise<void> {
    const beganUs = systemClock.wallUs();
    await this.lab.begin("boat");
    await this.#noteStart(beganUs);
    const inFiles = new Set(this.noteFiles().values());
    const left = this.#left;
    this.#left = undefined;
    // The start has written what the killed boat left in its log into files; it may also delete some.
    if (!left || this.#isPruned) return;
    assertBoatLedger(left, { runs: this.runs.slice(0, -1), inFiles, inCloud: undefined, isLive: false });
  }

  async #noteStart(beganUs: number): Promise<void> {
    const status = await this.lab.boatStatus();
    assert.ok(status);
    this.runs.push({
      ...{ beganUs, answeredUs: systemClock.wallUs(), headBefore: status.local_head_seq },
      buses: this.lab.feeds.map(() => ({ pieces: [], broken: [] })),
      ...{ isDrained: false, durable: 0, afterEnd: [], through: [] },
    });
  }

  /** Messages in the boat's files, as another reader finds them. */
  noteFiles(): Map<bigint, number> {
    const found = messagesIn(this.journal);
    noteRecorded(this.runs, new Set(found.values()));
    return found;
  }

  /** Notes that the boat has recorded all that it has heard in its run. */
  noteAll(): void {
    const { run } = this;
    run.through = run.buses.map((_, bus) => heardBy(run, bus).length);
  }

  /** Waits until the cloud has all that the boat has, synced. */
  async converged(): Promise<void> {
    await this.drain();
    await this.lab.converged();
    await eventually("all of it acknowledged", async () => {
      const status = await linkOf(this.lab);
      const head = status?.local_head_seq;
      // What is stored comes with a later message of the cloud.
      return status?.cloud_durable_seq === head && status?.cloud_stored_seq === head;
    });
  }

  /** What a side says of everything that it knows. */
  async ledger(side: "boat" | "cloud"): Promise<LedgerReport> {
    const report = await this.lab.get<LedgerReport>(side, pathOf(side));
    assert.ok(report, `the ${side} has no ledger`);
    return report;
  }

  async #poll(): Promise<void> {
    while (!this.#isOver) {
      for (const side of ["boat", "cloud"] as const) {
        const report = await this.lab.get<LedgerReport>(side, pathOf(side));
        if (report) this.polls++;
        if (report?.closed === false) this.open.push(`${side}: ${JSON.stringify(report, null, 1)}`);
      }
      await pause(POLL_EVERY_MS);
    }
  }

  /** Asks for no more ledgers. */
  async stopPolling(): Promise<void> {
    this.#isOver = true;
    await this.#polling;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopPolling();
    await this.lab[Symbol.asyncDispose]();
  }
}

function pathOf(side: "boat" | "cloud"): string {
  return side === "boat" ? `/ledger?${ALL}` : `/instances/boat-1/ledger?${ALL}`;
}

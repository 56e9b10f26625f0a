import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Boat, startBoat } from "../../src/boat/mod.ts";
import type { LedgerReport } from "../../src/ledger/mod.ts";
import { CountedBus, CountedTraffic, type Fed } from "./counted_bus.ts";
import { FakeClock } from "./fake_clock.ts";
import { FaultyDisk } from "./faulty_disk.ts";
import { copyAsCrashed } from "./folder.ts";
import { journalFiles } from "./journal_run.ts";
import { readLpj } from "./minimal_lpj_reader.ts";
import { START_US } from "./messages.ts";
import type { Random } from "./random.ts";

/** Block size that makes many blocks out of little traffic, bytes. */
const BLOCK_BYTES = 4096;
/** Frames between two chances for the disk to write. */
const FRAMES_PER_TURN = 60;
/** Blocks that may wait for the disk. */
const BACKLOG_BLOCKS = 1;

/** Counts of one bus in a time. */
export interface BusCount {
  received: number;
  dropped: number;
  inMessages: number;
  messages: number;
}

/**
 * A boat server on buses that count for themselves, whose disk fails and whose process ends when a test says so. What it
 * is compared with comes from what was put on the buses, and from its files as another reader finds them.
 */
export class LedgerRound implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly #random: Random;
  readonly #folder: string;
  readonly #traffic: readonly CountedTraffic[];
  #generation = 0;
  #boat: Boat | undefined;
  #buses: CountedBus[] = [];
  #disk: FaultyDisk | undefined;

  /** @param options.buses number of buses */
  constructor(folder: string, { random, buses }: { random: Random; buses: number }) {
    this.#folder = folder;
    this.#random = random;
    this.#traffic = Array.from(
      { length: buses },
      () => new CountedTraffic({ random, clock: this.clock, numberedAfterUs: buses > 1 ? 1500 : 500 }),
    );
  }

  /** What was put on the buses. */
  get fed(): readonly Fed[] {
    return this.#traffic.map(({ fed }) => fed);
  }

  get journal(): string {
    return `${this.#folder}/${this.#generation}/journal`;
  }

  get disk(): FaultyDisk {
    assert.ok(this.#disk);
    return this.#disk;
  }

  /** Starts the server on what is on its disk. */
  async start(): Promise<void> {
    const [directory, stateDirectory] = [this.journal, `${this.#folder}/${this.#generation}/state`];
    for (const path of [directory, stateDirectory]) await Deno.mkdir(path, { recursive: true });
    this.#disk = new FaultyDisk(directory);
    const clock = this.clock;
    this.#buses = this.fed.map((fed, index) => new CountedBus(`can${index}`, { fed, clock }));
    this.#boat = await startBoat({
      buses: this.#buses,
      listen: { hostname: "127.0.0.1", port: 0 },
      discovery: false,
      ...{ clock, stateDirectory },
      journal: {
        ...{ directory, stateDirectory, blockBytes: BLOCK_BYTES, rotateBytes: 2 * BLOCK_BYTES, syncIntervalMs: 5 },
        maxBacklogBytes: BACKLOG_BLOCKS * BLOCK_BYTES,
        compression: "none",
      },
    });
  }

  /** Puts frames on all buses, one every three milliseconds. */
  async run(frames: number): Promise<void> {
    for (let i = 0; i < frames; i++) {
      const index = this.#random.int(this.#traffic.length);
      await this.#traffic[index]?.tick(this.#boat && this.#buses[index]);
      // Messages of several buses get their numbers at the end of the turn.
      if (this.#traffic.length > 1) await nextTurn();
      this.clock.advance(1);
      if (i % FRAMES_PER_TURN === 0) await new Promise((resolve) => setTimeout(resolve));
    }
  }

  /** The kernel of a bus drops frames. */
  flood(): void {
    const index = this.#random.int(this.#traffic.length);
    const bus = this.#buses[index];
    if (bus) this.#traffic[index]?.drop(bus, 1 + this.#random.int(5000));
  }

  /** Lets time pass without a frame: longer than a message may wait for its next one. */
  pass(ms: number): void {
    for (const traffic of this.#traffic) traffic.breakOff();
    this.clock.advance(ms);
  }

  /** Lets the disk write. */
  async rest(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 12));
  }

  async stop(): Promise<void> {
    await this.#boat?.stop();
    this.#ended();
  }

  /** Ends the process at once: what it has written is on the disk, and nothing else. */
  async kill(): Promise<void> {
    const from = `${this.#folder}/${this.#generation}`;
    const boat = this.#boat;
    this.#generation++;
    const to = `${this.#folder}/${this.#generation}`;
    for (const part of ["journal", "state"]) copyAsCrashed(`${from}/${part}`, `${to}/${part}`);
    // Nothing of this run is read any more.
    await boat?.stop();
    this.#ended();
  }

  #ended(): void {
    this.#boat = undefined;
    this.#disk?.[Symbol.dispose]();
    this.#disk = undefined;
    for (const traffic of this.#traffic) traffic.breakOff();
  }

  /** Deletes some files of the journal, not the newest one. */
  prune(): void {
    for (const name of this.#random.some(journalFiles(this.journal).slice(0, -1), 0.4)) {
      Deno.removeSync(`${this.journal}/${name}`);
    }
  }

  /** What the server says of everything that it knows. */
  async ledger(query = "?from=2020-01-01T00:00:00Z"): Promise<LedgerReport> {
    assert.ok(this.#boat);
    const reply = await fetch(`http://127.0.0.1:${this.#boat.address.port}/ledger${query}`);
    assert.equal(reply.status, 200);
    return await reply.json();
  }

  /** What was put on a bus in the times that a report knows. */
  knownOf(report: LedgerReport, bus: number): BusCount {
    const { frames, dropped, messages } = this.fed[bus]!;
    const isKnown = timesOf(report, bus);
    const known = messages.filter(({ timeUs }) => isKnown(timeUs));
    const drops = dropped.filter(isKnown).length;
    return {
      received: frames.filter(isKnown).length + drops,
      dropped: drops,
      inMessages: known.reduce((sum, each) => sum + each.frames, 0),
      messages: known.length,
    };
  }

  /** Frames that were put on a bus in a time. */
  framesIn({ from, to }: { from: string; to: string }, bus: number): number {
    const [fromUs, toUs] = [Date.parse(from) * 1000, Date.parse(to) * 1000];
    return this.fed[bus]!.frames.filter((timeUs) => timeUs > fromUs && timeUs <= toUs).length;
  }

  /** The time after a part, from 0 to 1, of everything that has happened. */
  timeAt(part: number): string {
    const nowUs = this.clock.wallUs();
    return new Date(Math.floor((START_US + part * (nowUs - START_US)) / 1000)).toISOString();
  }

  /** Messages in the files, as another reader finds them. */
  recorded(): number {
    const seen = new Set<string>();
    for (const name of journalFiles(this.journal)) {
      for (const { frames } of readLpj(Deno.readFileSync(`${this.journal}/${name}`)).blocks) {
        for (const { seq, timeUs } of frames) seen.add(`${seq} ${timeUs}`);
      }
    }
    return seen.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disk) this.#disk.mode = "works";
    await this.stop();
  }
}

/** Whether a time is one of which a report knows what came. */
function timesOf({ from, to, buses }: LedgerReport, bus: number): (timeUs: number) => boolean {
  const us = (text: string | null) => Date.parse(text ?? "") * 1000;
  const unknown = (buses[bus]?.unknown ?? []).map((each) => ({ from: us(each.from), to: us(each.to) }));
  return (timeUs) =>
    timeUs > us(from) && timeUs <= us(to) && !unknown.some((each) => timeUs > each.from && timeUs <= each.to);
}

import { addressKey, type Message, type StoredFrame } from "../frame/mod.ts";
import { Doctor } from "./doctor.ts";
import type { Finding, Severity } from "./kinds.ts";
import type { BusLoad } from "./model.ts";

/** Interval of the rounds, milliseconds. */
const ROUND_MS = 1000;
/** A longer gap between two frames is a gap in the recording, not silence of the bus, milliseconds. */
const GAP_MS = 3000;
const SEVERITIES: readonly Severity[] = ["critical", "warning", "info"];

/** Checks recorded frames as a server would have checked them. */
export class RecordedDoctor {
  readonly #monoMs: (timeUs: number) => number;
  readonly #all = new Map<string, Finding>();
  readonly #learned = new Map<number, bigint>();
  #buses: readonly string[] = [];
  #doctor: Doctor | undefined;
  #roundMs = 0;
  #last: { monoMs: number; timeUs: number } | undefined;

  /** Nothing was checked yet. @param monoMs monotonic time of a recorded time in microseconds, milliseconds */
  constructor(monoMs: (timeUs: number) => number) {
    this.#monoMs = monoMs;
  }

  /** Names the buses of the frames that follow. */
  enter(buses: readonly string[]): void {
    if (this.#doctor && buses.length === this.#buses.length && buses.every((name, i) => name === this.#buses[i])) {
      return;
    }
    this.#close();
    const state = this.#doctor?.state();
    this.#buses = [...buses];
    this.#learned.clear();
    this.#doctor = new Doctor({ buses: buses.map((name, index) => name === "" ? `bus${index}` : name), state });
    this.#doctor.listen(({ finding }) => this.#keep(finding));
  }

  /** Who has an address, by the recording's device table. */
  learn({ bus, src, name }: { bus: number; src: number; name: bigint }): void {
    const key = addressKey(bus, src);
    if (this.#learned.get(key) === name) return;
    this.#learned.set(key, name);
    this.#doctor?.learn({ bus, src, name });
  }

  /** Checks a frame. */
  add({ seq, timeUs, id, pgn, bus, data, offset, length }: StoredFrame): void {
    const monoMs = this.#monoMs(timeUs);
    this.#advance(monoMs, timeUs);
    this.#last = { monoMs, timeUs };
    const message: Message = { id, pgn, bus, data, offset, length, timeUs, monoMs };
    this.#doctor?.message(message, seq);
  }

  /** A message of the recording could not be completed. */
  incomplete(message: { bus: number; src: number; pgn: number }): void {
    this.#doctor?.incomplete(message);
  }

  /** Everything that was found, also what has ended, the worst first; one row for what was found several times. */
  findings(): Finding[] {
    this.#close();
    return [...this.#all.values()].sort((a, b) =>
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || (a.since < b.since ? -1 : 1)
    );
  }

  /** Load of each bus at the end, and at most. */
  loads(): BusLoad[] {
    return this.#doctor?.loads() ?? [];
  }

  #advance(monoMs: number, timeUs: number): void {
    if (this.#last === undefined || monoMs - this.#last.monoMs > GAP_MS) {
      // As after a suspended process: nothing is missing because nothing was recorded.
      if (this.#last) this.#doctor?.round({ ...this.#last, monoMs: this.#last.monoMs + 1 });
      this.#roundMs = monoMs;
    }
    for (; this.#roundMs <= monoMs; this.#roundMs += ROUND_MS) {
      this.#doctor?.round({ monoMs: this.#roundMs, timeUs: timeUs - (monoMs - this.#roundMs) * 1000 });
    }
  }

  #close(): void {
    if (this.#last) this.#doctor?.round(this.#last);
    for (const finding of this.#doctor?.findings() ?? []) this.#keep(finding);
  }

  #keep(finding: Finding): void {
    const { kind, bus, src, name, pgn } = finding;
    const key = JSON.stringify([kind, bus, src, name, pgn]);
    const known = this.#all.get(key);
    this.#all.set(
      key,
      known ? { ...finding, since: known.since < finding.since ? known.since : finding.since } : finding,
    );
  }
}

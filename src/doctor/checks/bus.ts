import type { Severity } from "../kinds.ts";
import type { LoadMeter } from "../load.ts";
import {
  BUS_SILENCE_MS,
  type BusModel,
  type BusReading,
  type Check,
  type Context,
  type ErrorFrameCounts,
} from "../model.ts";

/** Load of ten seconds from which a bus is overloaded, percent; it ends below the lower one. */
const HIGH_LOAD = { from: 75, until: 65, critical: 92 } as const;
/** Error frames are counted over this time, milliseconds. */
const ERROR_WINDOW_MS = 30_000;
/** Fewer error frames within it are usual, as when a plug is pulled. */
const MIN_ERRORS = 10;

const STATES: Partial<Record<BusReading["controller"], { severity: Severity; text: string }>> = {
  "error-warning": { severity: "warning", text: "The CAN controller has counted more than 96 errors" },
  "error-passive": {
    severity: "warning",
    text: "The CAN controller is error-passive: it has counted more than 127 errors",
  },
  "bus-off": { severity: "critical", text: "The CAN controller is bus-off: too many errors, it no longer takes part" },
};

const ERROR_TEXTS: Record<keyof ErrorFrameCounts, { text: string; advice: string }> = {
  no_acknowledge: {
    text: "no other device acknowledges the frames of this machine",
    advice: "Check that the network has power and that the interface is connected, with a bit rate of 250000",
  },
  bus_error: {
    text: "frames are damaged on the wire (bit, stuff, form or CRC errors)",
    advice: "Check terminators (60 Ω between CAN-H and CAN-L with the power off), plugs, and the shield's ground",
  },
  overflow: {
    text: "the receive buffer of the interface overflows",
    advice: "Use another interface or a faster machine: the bus itself is not at fault",
  },
  other: {
    text: "the CAN transceiver reports errors",
    advice: "Check the wires of the interface for short circuits between CAN-H, CAN-L, supply and ground",
  },
};
const ERROR_KINDS = ["no_acknowledge", "bus_error", "overflow", "other"] as const;

/** Load, state of the controller, and error frames. */
export class BusCheck implements Check {
  readonly #context: Context;
  readonly #load: LoadMeter;
  readonly #overloaded = new Set<BusModel>();
  /** Counts of the rounds of the last window, oldest first. */
  readonly #errors = new Map<BusModel, { atMs: number; counts: Readonly<ErrorFrameCounts> }[]>();

  constructor(context: Context, load: LoadMeter) {
    this.#context = context;
    this.#load = load;
  }

  round(): void {
    for (const bus of this.#context.buses) {
      this.#checkLoad(bus);
      this.#checkState(bus);
      this.#checkErrors(bus);
    }
  }

  #checkLoad(bus: BusModel): void {
    const percent = this.#load.averageOf(bus);
    if (percent < (this.#overloaded.has(bus) ? HIGH_LOAD.until : HIGH_LOAD.from)) {
      this.#overloaded.delete(bus);
      return;
    }
    this.#overloaded.add(bus);
    const peak = this.#load.list()[bus.index]?.peak_percent ?? percent;
    const [busiest] = [...bus.all()].flatMap(({ streams }) => [...streams.values()]).sort((a, b) => b.count - a.count);
    this.#context.report({
      kind: "bus_load",
      bus,
      text: `The bus ${bus.name} is ${percent.toFixed(0)} % loaded, at its peak ${peak.toFixed(0)} %` +
        (busiest ? `; most messages: PGN ${busiest.pgn} of ${busiest.sender.label}` : ""),
      severity: percent >= HIGH_LOAD.critical ? "critical" : "warning",
      seqs: busiest ? [busiest.lastSeq] : [],
    });
  }

  #checkState(bus: BusModel): void {
    const state = bus.reading && STATES[bus.reading.controller];
    // Alone on a bus that is switched off, nobody acknowledges this computer's frames.
    if (!state || bus.reading?.controller !== "bus-off" && this.#isAlone(bus)) return;
    this.#context.report({ kind: "bus_errors", bus, ...state, text: `${state.text} (${bus.name})`, confidence: 1 });
  }

  #isAlone({ lastMs }: BusModel): boolean {
    return this.#context.nowMs - lastMs > BUS_SILENCE_MS;
  }

  #checkErrors(bus: BusModel): void {
    const counts = bus.reading?.errors;
    if (!counts) return;
    const { nowMs } = this.#context;
    const history = this.#errors.get(bus) ?? [];
    this.#errors.set(bus, history);
    history.push({ atMs: nowMs, counts: { ...counts } });
    while ((history[0]?.atMs ?? nowMs) < nowMs - ERROR_WINDOW_MS) history.shift();
    const first = history[0]?.counts;
    for (const kind of ERROR_KINDS) {
      const errors = counts[kind] - (first?.[kind] ?? 0);
      if (errors < MIN_ERRORS || kind === "no_acknowledge" && this.#isAlone(bus)) continue;
      const { text, advice } = ERROR_TEXTS[kind];
      this.#context.report({
        kind: "error_frames",
        bus,
        detail: kind,
        text: `${errors} error frames within ${ERROR_WINDOW_MS / 1000} s on ${bus.name}: ${text}`,
        advice,
      });
    }
  }
}

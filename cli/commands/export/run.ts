import type { Clock } from "@vessel/gateway/base";
import { newStoredFrame, type StoredFrame } from "@vessel/gateway/frame";
import {
  type Filter,
  FirstOfInterval,
  readRecorded,
  type RecordedDevice,
  RecordedFilter,
} from "@vessel/gateway/recordings";
import type { Where } from "@vessel/gateway/where";
import { untilStopped } from "../../program/interrupt.ts";
import type { Output } from "../../program/terminal.ts";
import { KnownDevices } from "../dump/devices.ts";
import { StoredDump } from "../dump/frame.ts";
import { findInputs, progressOf, type RecordedChoice, summaryNote, warningsTo } from "../dump/recorded_inputs.ts";
import type { Target } from "./targets.ts";

/** Which messages of which recordings are exported. */
export interface ExportChoice extends RecordedChoice {
  filter: Filter;
  where: Where | undefined;
  /** Times of the first and last message, microseconds since 1970. */
  fromUs: number | undefined;
  toUs: number | undefined;
  /** Only the first message of each kind in each interval, microseconds. */
  intervalUs: number | undefined;
  /** Where progress is shown; undefined: nowhere. */
  progressOutput: Output | undefined;
  clock: Clock;
}

/** What was read. */
export interface ReadCounts {
  /** Wanted messages. */
  messages: number;
  damagedBlocks: number;
  /** Names of the buses of wanted messages. */
  buses: ReadonlySet<string>;
}

/** The buses and devices of the current message. */
export class KnownOrigins {
  /** Devices by the name of their bus, which is undefined where there is only one: as `vbg dump` has it. */
  readonly devices = new KnownDevices();
  #buses: readonly string[] = [];
  #names: readonly (string | undefined)[] = [];

  /** Begins a part of a recording. True if a bus has another name than before. */
  enter(buses: readonly string[]): boolean {
    const isSame = buses.length === this.#buses.length && buses.every((name, index) => name === this.#buses[index]);
    this.#buses = buses;
    this.#names = buses.length > 1 ? buses : [];
    return !isSame;
  }

  /** Stores a device. True if the address had another NAME. */
  learn({ bus, src, device }: RecordedDevice): boolean {
    const before = this.nameOf(bus, src);
    this.devices.learn(this.nameAt(bus), src, device);
    return before !== device.name;
  }

  busName(bus: number): string {
    return this.#buses[bus] ?? "";
  }

  nameOf(bus: number, src: number): string | undefined {
    return this.devices.get(this.nameAt(bus), src)?.device.name;
  }

  /** Name of a bus if there are several. */
  nameAt(bus: number): string | undefined {
    return this.#names[bus];
  }
}

/** Reads recordings and adds what is wanted to a target. @throws {OfflineError} one cannot be read */
export async function exportMessages(
  choice: ExportChoice,
  { target, origins }: { target: Target; origins: KnownOrigins },
): Promise<ReadCounts> {
  const { note, signal, fromUs, toUs } = choice;
  await using opened = new AsyncDisposableStack();
  const inputs = await findInputs(choice, opened);
  const progress = progressOf(inputs, choice);
  const wanted = new WantedMessages(choice, origins);
  let damagedBlocks = 0;
  const onDamaged = (_: string, blocks: number) => damagedBlocks += blocks;
  const onSummary = summaryNote(note);
  const learn = (device: RecordedDevice) => {
    if (wanted.learn(device)) target.originsChanged();
  };
  const frame = newStoredFrame();
  const reading = readRecorded(inputs, { log: warningsTo(note), onSummary, onDamaged, fromUs, toUs });
  try {
    for await (const part of untilStopped(reading, signal)) {
      if (wanted.enter(part.buses)) target.originsChanged();
      let count = 0;
      while (part.next(frame, learn)) {
        count++;
        if (!wanted.accepts(frame)) continue;
        const full = target.add(frame);
        if (full) await full;
      }
      progress?.bar.add(progress.isOfBytes ? part.bytes : count);
    }
  } finally {
    progress?.bar.done();
  }
  return { messages: wanted.count, buses: wanted.buses, damagedBlocks };
}

/** Selects messages: by time, filter, expression and interval, in this order. */
class WantedMessages {
  /** Accepted messages. */
  count = 0;
  readonly buses = new Set<string>();
  readonly #origins: KnownOrigins;
  readonly #filter: RecordedFilter;
  readonly #where: Where | undefined;
  readonly #interval: FirstOfInterval | undefined;
  readonly #fromUs: number;
  readonly #toUs: number;
  /** The message as expressions see it. */
  #dump = new StoredDump();

  constructor({ filter, where, fromUs, toUs, intervalUs }: ExportChoice, origins: KnownOrigins) {
    this.#origins = origins;
    this.#filter = new RecordedFilter(filter);
    this.#where = where;
    this.#interval = intervalUs === undefined ? undefined : new FirstOfInterval(intervalUs);
    this.#fromUs = fromUs ?? -Infinity;
    this.#toUs = toUs ?? Infinity;
  }

  /** As {@linkcode KnownOrigins.enter}. */
  enter(buses: readonly string[]): boolean {
    this.#filter.enter(buses);
    this.#interval?.enter(buses);
    // A frame without a bus must not keep that of the part before.
    this.#dump = new StoredDump();
    return this.#origins.enter(buses);
  }

  /** As {@linkcode KnownOrigins.learn}. */
  learn(device: RecordedDevice): boolean {
    this.#filter.learn(device);
    return this.#origins.learn(device);
  }

  accepts(frame: StoredFrame): boolean {
    if (frame.timeUs < this.#fromUs || frame.timeUs > this.#toUs || !this.#filter.accepts(frame)) return false;
    if (this.#where && !this.#matches(this.#where, frame)) return false;
    if (this.#interval?.accepts(frame) === false) return false;
    this.count++;
    const bus = this.#origins.busName(frame.bus);
    if (bus !== "") this.buses.add(bus);
    return true;
  }

  #matches(where: Where, frame: StoredFrame): boolean {
    const dump = this.#dump.load(frame, this.#origins.nameAt(frame.bus));
    return where.test(dump, (bus, src) => this.#origins.devices.get(bus, src)?.device);
  }
}

import { FAST_FIRST_BYTES, type InterfaceCount, LoopbackBus, splitFastPacket } from "../../src/can/mod.ts";
import { buildCanId } from "../../src/frame/mod.ts";
import type { FakeClock } from "./fake_clock.ts";
import type { Random } from "./random.ts";

/** What was put on a bus, and when; times in microseconds since 1970. */
export interface Fed {
  /** Of each frame. */
  frames: number[];
  /** Of each frame that the kernel dropped. */
  dropped: number[];
  /** After which each complete message has its number, and how many frames it has. */
  messages: { timeUs: number; frames: number }[];
}

/**
 * A bus whose interface counts frames also while no program listens, as that of a kernel does. The clock moves with each
 * frame, before and after its delivery: which frames came before a moment is certain.
 */
export class CountedBus extends LoopbackBus {
  readonly #fed: Fed;

  constructor(name: string, { fed, clock }: { fed: Fed; clock: FakeClock }) {
    super(name, { clock: { monoMs: () => clock.monoMs(), wallUs: () => noteFrame(fed, clock) } });
    this.#fed = fed;
    this.attach(() => clock.advance(1));
  }

  get interfaceCount(): InterfaceCount {
    return { id: 7, received: this.#fed.frames.length };
  }
}

/** A frame comes now. Returns the time. */
function noteFrame(fed: Fed, clock: FakeClock): number {
  clock.advance(1);
  fed.frames.push(clock.wallUs());
  return clock.wallUs();
}

/** A message on its way: frames that are still to come. */
interface Unit {
  src: number;
  id: number;
  frames: Uint8Array[];
  sent: number;
  /** Frames that never come; 0: the message becomes complete. */
  lost: number;
  /** Frames of one message; 0: they are none. */
  message: boolean;
}

/** Time for which a source is not used again after an incomplete message, ticks. */
const REST_TICKS = 2000;
const SOURCES = 200;

/** Puts messages of all kinds on a bus, whole and broken, frame by frame, and notes what it did. */
export class CountedTraffic {
  readonly fed: Fed = { frames: [], dropped: [], messages: [] };
  readonly #random: Random;
  readonly #clock: FakeClock;
  readonly #numberedAfterUs: number;
  #open: Unit[] = [];
  readonly #free: number[] = Array.from({ length: SOURCES }, (_, i) => i + 1);
  readonly #resting: { src: number; until: number }[] = [];
  #ticks = 0;
  #sequence = 0;

  /** @param options.numberedAfterUs time from the last frame of a message until it has its number for certain */
  constructor(
    { random, clock, numberedAfterUs }: { random: Random; clock: FakeClock; numberedAfterUs: number },
  ) {
    this.#numberedAfterUs = numberedAfterUs;
    this.#random = random;
    this.#clock = clock;
  }

  /** The program has gone: what is not complete never will be. */
  breakOff(): void {
    for (const { src } of this.#open) this.#rest(src);
    this.#open = [];
  }

  /** The kernel drops frames. */
  drop(bus: CountedBus, frames: number): void {
    this.#clock.advance(1);
    bus.counters.kernelDropped += frames;
    for (let i = 0; i < frames; i++) this.fed.dropped.push(this.#clock.wallUs());
    this.#clock.advance(1);
  }

  /** Puts one frame on the bus; undefined: nobody listens. */
  async tick(bus: CountedBus | undefined): Promise<void> {
    this.#ticks++;
    while (this.#resting[0] && this.#resting[0].until < this.#ticks) this.#free.push(this.#resting.shift()!.src);
    const random = this.#random;
    if (bus && random.chance(0.01)) this.drop(bus, 1);
    if (this.#open.length < 4 && (this.#open.length === 0 || random.chance(0.4))) this.#begin();
    const unit = random.pick(this.#open);
    bus?.inject(unit.id, unit.frames[unit.sent++]!);
    if (bus) await null;
    else noteFrame(this.fed, this.#clock);
    if (unit.sent < unit.frames.length) return;
    this.#open.splice(this.#open.indexOf(unit), 1);
    const isWhole = unit.message && unit.lost === 0;
    if (isWhole && bus) {
      const timeUs = this.fed.frames.at(-1)! + this.#numberedAfterUs;
      this.fed.messages.push({ timeUs, frames: unit.frames.length });
    }
    if (unit.lost === 0) this.#free.push(unit.src);
    else this.#rest(unit.src);
  }

  #rest(src: number): void {
    this.#resting.push({ src, until: this.#ticks + REST_TICKS });
  }

  #begin(): void {
    const random = this.#random;
    const src = this.#free.shift()!;
    const kind = random.pick([
      "single",
      "single",
      "single",
      "fast",
      "fast",
      "transport",
      "stray",
      "control",
      "malformed",
    ]);
    const make = (pgn: number, frames: Uint8Array[], { isMessage = true, dst = 255 } = {}) => {
      const lost = isMessage && frames.length > 1 && random.chance(0.15) ? 1 + random.int(frames.length - 1) : 0;
      const id = buildCanId({ prio: 6, pgn, src, dst });
      const kept = lost > 0 ? frames.slice(0, frames.length - lost) : frames;
      this.#open.push({ src, id, frames: kept, sent: 0, lost, message: isMessage });
    };
    if (kind === "single") make(127250, [random.bytes(8)]);
    else if (kind === "fast") {
      make(129029, splitFastPacket(random.bytes(FAST_FIRST_BYTES + random.int(210)), this.#sequence++));
    } else if (kind === "transport") this.#beginTransport(src);
    else if (kind === "stray") make(60160, [Uint8Array.of(3, ...random.bytes(7))], { isMessage: false });
    else if (kind === "control") {
      make(60416, [Uint8Array.of(17, 1, 1, 255, 255, 0, 238, 0)], { isMessage: false, dst: 250 });
    } else make(129029, [Uint8Array.of(0)], { isMessage: false });
  }

  /** A broadcast of ISO transport: its frames have two identifiers. */
  #beginTransport(src: number): void {
    const random = this.#random;
    const packets = 2 + random.int(30);
    const announcement = Uint8Array.of(32, packets * 7, 0, packets, 255, 0, 255, 1);
    const lost = random.chance(0.2) ? 1 : 0;
    const frames = [
      announcement,
      ...Array.from({ length: packets - lost }, (_, i) => Uint8Array.of(i + 1, ...random.bytes(7))),
    ];
    const control = buildCanId({ prio: 7, pgn: 60416, src, dst: 255 });
    const data = buildCanId({ prio: 7, pgn: 60160, src, dst: 255 });
    const unit: Unit = { src, id: control, frames, sent: 0, lost, message: true };
    Object.defineProperty(unit, "id", { get: () => unit.sent === 0 ? control : data });
    this.#open.push(unit);
  }
}

import { Assembler, LoopbackBus } from "../../src/can/mod.ts";
import { type OutgoingMessage, Transmitter, type TransmitterOptions } from "../../src/transmit/mod.ts";
import { type Seen, seen } from "./messages.ts";
import type { TpReceiver } from "./tp_receiver.ts";
import { FakeTime } from "./tp_time.ts";

/** A frame as everybody on the bus hears it. */
export interface WireFrame {
  atMs: number;
  id: number;
  data: Uint8Array<ArrayBuffer>;
}

/** A loopback bus that can be made to refuse frames. */
export class StubbornBus extends LoopbackBus {
  /** Whether a frame is refused. */
  refuses: (id: number, data: Uint8Array) => boolean = () => false;

  override send(id: number, data: Uint8Array): Promise<void> {
    return this.refuses(id, data) ? Promise.reject(new Error("no room")) : super.send(id, data);
  }
}

/** What a test says of a message; the rest has defaults. */
export type MessageInit = Partial<OutgoingMessage> & { length?: number };

/** A message to send, by default of 8 bytes on the first bus. */
export function outgoing({ length = 8, ...init }: MessageInit = {}): OutgoingMessage {
  return { bus: 0, prio: 2, pgn: 127250, src: 5, dst: 255, data: new Uint8Array(length), ...init };
}

/** A transmitter on loopback buses, everything that goes over them, and the time. */
export class Wire {
  readonly time: FakeTime = new FakeTime();
  readonly buses: readonly StubbornBus[];
  readonly transmitter: Transmitter;
  /** Frames by bus. */
  readonly frames: WireFrame[][];
  /** Messages by bus, as the gateway's assembler sees them. */
  readonly messages: Seen[][];
  readonly #assemblers: readonly Assembler[];

  private constructor(count: number, options: Partial<TransmitterOptions>) {
    const { clock, startTimer } = this.time;
    this.buses = Array.from({ length: count }, (_, i) => new StubbornBus(`can${i}`, { clock }));
    this.frames = this.buses.map(() => []);
    this.messages = this.buses.map(() => []);
    this.#assemblers = this.messages.map((list, bus) => new Assembler((message) => list.push(seen(message)), { bus }));
    this.transmitter = new Transmitter({ buses: this.buses, clock, startTimer, ...options });
  }

  /** Makes it and opens the buses. */
  static async open(
    { count = 1, receivers = [], ...options }: Partial<TransmitterOptions> & {
      count?: number;
      receivers?: readonly TpReceiver[];
    } = {},
  ): Promise<Wire> {
    const wire = new Wire(count, options);
    for (const index of wire.buses.keys()) await wire.openBus(index);
    for (const receiver of receivers) wire.#join(receiver);
    return wire;
  }

  /** Opens a bus, for the first time or again. */
  async openBus(index: number): Promise<void> {
    const assembler = this.#assemblers[index]!;
    await this.buses[index]!.open({
      frame: (frame) => {
        const data = frame.data.slice(frame.offset, frame.offset + frame.length);
        this.frames[index]!.push({ atMs: this.time.clock.monoMs(), id: frame.id, data });
        assembler.push(frame);
        this.transmitter.heard(index, frame);
      },
      state: () => {},
    });
  }

  /** A receiver answers what it hears on the first bus; {@linkcode Wire.pass} lets it speak by itself, too. */
  #join(receiver: TpReceiver): void {
    const [bus] = this.buses;
    const say = (id: number, data: ArrayLike<number>) => bus!.inject(id, Uint8Array.from(data));
    bus!.attach(({ id, data, offset, length }) => {
      const bytes = data.slice(offset, offset + length);
      for (const each of receiver.hear({ id, data: bytes }, this.time.clock.monoMs())) say(each.id, each.data);
    });
    const tick = () => {
      for (const each of receiver.tick(this.time.clock.monoMs())) say(each.id, each.data);
      this.time.startTimer(tick, 50);
    };
    tick();
  }
}

/** What came of a promise, by the time one looks: `sent`, a reason, or `waiting`. */
export function watch(sent: Promise<void>): { readonly outcome: string; readonly message: string } {
  const watched = { outcome: "waiting", message: "" };
  sent.then(() => watched.outcome = "sent", (error: { reason?: string; message: string }) => {
    watched.outcome = error.reason ?? "fault";
    watched.message = error.message;
  });
  return watched;
}

import type { Logger, StallDetector } from "../base/mod.ts";
import type { BoatTransmit } from "./transmit.ts";
import {
  ArrivalOrder,
  Assembler,
  type AssemblerDrops,
  BusError,
  type BusState,
  type CanBus,
  type FrameDrops,
  type InterfaceCount,
  newDrops,
  newFrameDrops,
} from "../can/mod.ts";
import { type CanFrame, type Message, pgnOfId } from "../frame/mod.ts";
import type { MonitoredBus } from "../http/mod.ts";
import type { BusCounts } from "../journal/mod.ts";
import type { IdentityRequests } from "../transmit/mod.ts";

/** Closes all buses and logs errors. */
async function closeBuses(buses: readonly CanBus[], log: Logger): Promise<void> {
  for (const each of await Promise.allSettled(buses.map((bus) => bus.close()))) {
    if (each.status === "rejected") log.error("bus not closed", { error: String(each.reason) });
  }
}

/** A bus with its assembler. */
export type BusPipeline = MonitoredBus & {
  readonly assembler: Assembler;
  /** Receives complete messages. */
  readonly publish: (message: Message) => void;
  /** Resolves when messages that wait to be published are; undefined while there are few. */
  readonly drained: () => Promise<void> | undefined;
};

/** The pipelines of all buses of a server. */
export interface BusPipelines {
  /** One for each bus, in the order of their indexes. */
  readonly pipelines: readonly BusPipeline[];
  /** Closes the buses, then publishes the messages that still wait in the arrival order. */
  readonly close: () => Promise<void>;
}

/**
 * Connects each bus through its assembler to `publish`. Messages of several buses are sorted by time first; those of a
 * single bus are in order already.
 */
export function busPipelinesOf(
  buses: readonly CanBus[],
  { counters, maxAssemblies, publish, incomplete, log, stall }: {
    counters: readonly BusCounter[];
    maxAssemblies: number;
    publish: (message: Message) => void;
    /** Called for each incomplete fast packet, with the identifier of its frames. */
    incomplete: (bus: number, id: number) => void;
    log: Logger;
    stall: StallDetector;
  },
): BusPipelines {
  const order = new ArrivalOrder((message) => {
    stall.mark("frames");
    try {
      publish(message);
    } catch (error) {
      const pipeline = pipelines[message.bus];
      if (pipeline) countFault(pipeline, { error, log });
    }
  }, { buses: buses.length });
  const each = buses.length > 1 ? (message: Message) => order.add(message) : publish;
  const pipelines = buses.map((bus, index): BusPipeline => {
    const counter = counters[index];
    const { drops, frameDrops } = counter ?? {};
    const onIncomplete = (id: number) => incomplete(index, id);
    const assembler = new Assembler(each, { bus: index, maxAssemblies, drops, frameDrops, onIncomplete });
    counter?.follow(() => assembler.waitingFrames + order.waitingFrames(index));
    return { bus, index, assembler, publish: each, drained: () => order.drained(), fault: { count: 0, message: "" } };
  });
  const close = async () => {
    await closeBuses(buses, log);
    order.flush();
  };
  return { pipelines, close };
}

/** Counters of a bus and its assembler. */
export class BusCounter {
  /** Frames that never became a message, by reason. */
  readonly drops: AssemblerDrops = newDrops();
  /** Frames of these. */
  readonly frameDrops: FrameDrops = newFrameDrops();
  readonly #bus: CanBus;
  readonly #interfaceAtStart: InterfaceCount | undefined;
  #waitingFrames: () => number = () => 0;

  constructor(bus: CanBus) {
    this.#bus = bus;
    this.#interfaceAtStart = bus.interfaceCount;
  }

  /** Counts the frames that wait on their way from the bus to the feed. */
  follow(waitingFrames: () => number): void {
    this.#waitingFrames = waitingFrames;
  }

  /** The counters in the form of the journal. The feed adds those of the messages. */
  read(): BusCounts {
    const { counters: { received, kernelDropped, interfaceDropped }, interfaceCount: now } = this.#bus;
    const start = this.#interfaceAtStart;
    const incomplete = { ...this.frameDrops };
    const messages = { inMessages: 0, numbered: 0, unrecorded: 0 };
    return {
      received,
      dropped: kernelDropped + interfaceDropped,
      incomplete: { ...this.drops },
      fates: {
        ...messages,
        incomplete,
        waiting: this.#waitingFrames(),
        ...(now && now.id === start?.id && { interface: { ...now, atStart: start.received } }),
      },
    };
  }
}

interface OpenBusesContext {
  /** Resolves when more frames can be recorded; undefined while they can. */
  ready: () => Promise<void> | undefined;
  identity: IdentityRequests | undefined;
  transmit: BoatTransmit;
  /** Gets each frame as it came, and the messages of gateways that deliver no frames. */
  tap: { frame(bus: number, frame: CanFrame): void; message(bus: number, message: CanFrame): void } | undefined;
  log: Logger;
  stall: StallDetector;
}

/**
 * Opens the buses, which deliver frames from then on.
 *
 * @throws {BusError} a bus cannot be opened, or is listed twice
 */
export async function openBuses(
  pipelines: readonly BusPipeline[],
  { ready, identity, transmit, tap, log, stall }: OpenBusesContext,
): Promise<void> {
  const names = pipelines.map(({ bus }) => bus.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new BusError(`Cannot open bus "${twice}" twice`);
  for (const pipeline of pipelines) {
    const { bus, index, assembler, publish } = pipeline;
    let wasUp = true;
    await bus.open({
      frame: (frame) => {
        stall.mark("frames");
        try {
          assembler.push(frame);
        } catch (error) {
          countFault(pipeline, { error, log });
        }
        transmit.received(index, frame);
        tap?.frame(index, frame);
      },
      message: (message) => {
        stall.mark("frames");
        tap?.message(index, message);
        try {
          publish({ ...message, bus: index, pgn: pgnOfId(message.id) });
        } catch (error) {
          countFault(pipeline, { error, log });
        }
      },
      ready: () => pipeline.drained() ?? ready(),
      state: (state) => {
        logState(log, bus.name, state);
        const isUp = state.type === "up" && state.controller !== "bus-off";
        if (isUp && !wasUp) {
          identity?.askAll(index);
          transmit.up(index);
        }
        wasUp = isUp;
      },
    });
  }
}

/** An internal error loses one frame and never ends the server: it is counted, reported by health, and logged once. */
function countFault({ bus, fault }: BusPipeline, { error, log }: { error: unknown; log: Logger }): void {
  fault.count++;
  fault.message = String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  if (fault.count > 1) return;
  log.error("a frame is lost by a fault of the server", { bus: bus.name, error: fault.message, stack });
}

function logState(log: Logger, bus: string, state: BusState): void {
  if (state.type === "closed") log.info("bus closed", { bus });
  else if (state.type !== "up") log.warn(`bus is ${state.type}`, { bus, reason: state.message });
  else if (state.controller === "bus-off") log.warn("bus is off", { bus, controller: state.controller });
  else if (state.controller === "error-active") log.info("bus is up", { bus, controller: state.controller });
  else log.warn("bus has errors", { bus, controller: state.controller });
}

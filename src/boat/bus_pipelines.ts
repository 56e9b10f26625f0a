import type { Logger, StallDetector } from "../base/mod.ts";
import type { BoatTransmit } from "./transmit.ts";
import {
  ArrivalOrder,
  Assembler,
  type AssemblerDrops,
  BusError,
  type BusState,
  type CanBus,
  newDrops,
} from "../can/mod.ts";
import { type Message, pgnOfId } from "../frame/mod.ts";
import type { MonitoredBus } from "../http/mod.ts";
import type { BusCounts } from "../journal/mod.ts";
import type { IdentityRequests } from "../transmit/mod.ts";

/** Closes all buses; what goes wrong is logged. */
async function closeBuses(buses: readonly CanBus[], log: Logger): Promise<void> {
  for (const each of await Promise.allSettled(buses.map((bus) => bus.close()))) {
    if (each.status === "rejected") log.error("bus not closed", { error: String(each.reason) });
  }
}

/** A bus on its way through the server. */
export type BusPipeline = MonitoredBus & {
  readonly assembler: Assembler;
  /** Where whole messages go. */
  readonly take: (message: Message) => void;
};

/** All buses of a server. */
export interface BusPipelines {
  /** One for each bus, in the order of their indexes. */
  readonly lines: readonly BusPipeline[];
  /** Closes the buses; what they have delivered is handed over by then. */
  readonly close: () => Promise<void>;
}

/**
 * The way of the buses: what their assemblers put together goes to `take`. Messages of several buses are put in order of
 * time first; those of a single bus are in order already.
 */
export function busPipelinesOf(
  buses: readonly CanBus[],
  { counters, maxAssemblies, take, log, stall }: {
    counters: readonly BusCounter[];
    maxAssemblies: number;
    take: (message: Message) => void;
    log: Logger;
    stall: StallDetector;
  },
): BusPipelines {
  const order = new ArrivalOrder((message) => {
    stall.mark("frames");
    try {
      take(message);
    } catch (error) {
      const line = lines[message.bus];
      if (line) noteFault(line, { error, log });
    }
  }, { buses: buses.length });
  const each = buses.length > 1 ? (message: Message) => order.add(message) : take;
  const lines = buses.map((bus, index): BusPipeline => {
    const assembler = new Assembler(each, { bus: index, maxAssemblies, drops: counters[index]?.drops });
    return { bus, index, assembler, take: each, fault: { count: 0, message: "" } };
  });
  const close = async () => {
    await closeBuses(buses, log);
    order.flush();
  };
  return { lines, close };
}

/** What a bus and its assembler have counted. */
export class BusCounter {
  /** Why frames on this bus never became a message. */
  readonly drops: AssemblerDrops = newDrops();
  readonly #bus: CanBus;

  constructor(bus: CanBus) {
    this.#bus = bus;
  }

  /** The counts as the journal keeps them. */
  read(): BusCounts {
    const { received, kernelDropped, interfaceDropped } = this.#bus.counters;
    return { received, dropped: kernelDropped + interfaceDropped, incomplete: { ...this.drops } };
  }
}

interface Surroundings {
  /** Resolves when more frames can be recorded; undefined while they can. */
  ready: () => Promise<void> | undefined;
  identity: IdentityRequests | undefined;
  voice: BoatTransmit;
  log: Logger;
  stall: StallDetector;
}

/**
 * Opens the buses, which deliver from then on.
 *
 * @throws {BusError} one cannot be opened, or is there twice
 */
export async function openBuses(
  lines: readonly BusPipeline[],
  { ready, identity, voice, log, stall }: Surroundings,
): Promise<void> {
  const names = lines.map(({ bus }) => bus.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new BusError(`Cannot open bus "${twice}" twice`);
  for (const line of lines) {
    const { bus, index, assembler, take } = line;
    let wasUp = true;
    await bus.open({
      frame: (frame) => {
        stall.mark("frames");
        try {
          assembler.push(frame);
        } catch (error) {
          noteFault(line, { error, log });
        }
        voice.heard(index, frame);
      },
      message: (message) => {
        stall.mark("frames");
        try {
          take({ ...message, bus: index, pgn: pgnOfId(message.id) });
        } catch (error) {
          noteFault(line, { error, log });
        }
      },
      ready,
      state: (state) => {
        logState(log, bus.name, state);
        const isUp = state.type === "up" && state.controller !== "bus-off";
        if (isUp && !wasUp) {
          identity?.askAll(index);
          voice.up(index);
        }
        wasUp = isUp;
      },
    });
  }
}

/** A fault of ours costs a frame, never the server: it is counted, told by health, and logged the first time. */
function noteFault({ bus, fault }: BusPipeline, { error, log }: { error: unknown; log: Logger }): void {
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

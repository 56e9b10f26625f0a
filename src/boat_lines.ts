import type { Logger, StallDetector } from "./base/mod.ts";
import type { Stores } from "./boat_stores.ts";
import type { Voice } from "./boat_voice.ts";
import { Assembler, BusError, type BusState, type CanBus } from "./can/mod.ts";
import { type Message, pgnOfId } from "./frame/mod.ts";
import type { BusLine } from "./http/mod.ts";
import type { BusCounts } from "./journal/mod.ts";
import type { IdentityRequests } from "./node/mod.ts";

/** Closes all buses; what goes wrong is logged. */
export async function closeBuses(buses: readonly CanBus[], log: Logger): Promise<void> {
  for (const each of await Promise.allSettled(buses.map((bus) => bus.close()))) {
    if (each.status === "rejected") log.error("bus not closed", { error: String(each.reason) });
  }
}

/** A bus on its way through the server. */
export type Line = BusLine & {
  readonly assembler: Assembler;
  /** Where whole messages go. */
  readonly take: (message: Message) => void;
};

/** The way of a bus: what its assembler puts together goes to `take`. */
export function lineOf(
  bus: CanBus,
  { index, maxAssemblies, take }: { index: number; maxAssemblies: number; take: (message: Message) => void },
): Line {
  const assembler = new Assembler(take, { bus: index, maxAssemblies });
  return { bus, index, assembler, take, fault: { count: 0, message: "" } };
}

/** What a bus and its assembler have counted, as the journal keeps it. */
function countsOf({ bus: { counters }, assembler: { drops } }: Line): BusCounts {
  const { received, kernelDropped, interfaceDropped } = counters;
  return { received, dropped: kernelDropped + interfaceDropped, incomplete: { ...drops } };
}

interface Surroundings {
  stores: Pick<Stores, "countWith">;
  identity: IdentityRequests | undefined;
  voice: Voice;
  log: Logger;
  stall: StallDetector;
}

/**
 * Opens the buses, which deliver from then on.
 *
 * @throws {BusError} one cannot be opened, or is there twice
 */
export async function openBuses(
  lines: readonly Line[],
  { stores, identity, voice, log, stall }: Surroundings,
): Promise<void> {
  const names = lines.map(({ bus }) => bus.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new BusError(`Cannot open bus "${twice}" twice`);
  stores.countWith(() => lines.map(countsOf));
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
function noteFault({ bus, fault }: Line, { error, log }: { error: unknown; log: Logger }): void {
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

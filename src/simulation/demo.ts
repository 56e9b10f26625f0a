import { systemClock } from "../base/mod.ts";
import { type Boat, type BoatOptions, startBoat } from "../boat/mod.ts";
import { LoopbackBus } from "../can/mod.ts";
import { attachSimulatedBoat } from "../simulator/mod.ts";

/** Name of the demo's bus. */
const DEMO_BUS = "can0";

/**
 * Starts a boat server with a simulated boat under way on a bus in memory. Needs no CAN interface.
 *
 * @throws {ListenError} the port cannot be opened
 */
export async function startDemo(options: Omit<BoatOptions, "buses"> = {}): Promise<Boat> {
  const bus = new LoopbackBus(DEMO_BUS);
  const boat = await startBoat({ ...options, buses: [bus] });
  const simulator = attachSimulatedBoat(bus, { clock: options.clock ?? systemClock });
  simulator.start();
  return {
    ...boat,
    stop: async () => {
      simulator.stop();
      await boat.stop();
    },
  };
}

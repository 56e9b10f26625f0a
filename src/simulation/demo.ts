import { systemClock } from "../base/mod.ts";
import { type Boat, type BoatOptions, startBoat } from "../boat/mod.ts";
import { LoopbackBus } from "../can/mod.ts";
import { attachSimulatedBoat } from "../simulator/mod.ts";

/** Name of the demo's bus. */
const DEMO_BUS = "can0";

/**
 * Starts a boat server together with a simulated boat under way, on a bus in memory: everything works, and no CAN
 * interface is needed.
 *
 * @throws {ListenError} the port cannot be had
 */
export async function startDemo(options: Omit<BoatOptions, "buses"> = {}): Promise<Boat> {
  const bus = new LoopbackBus(DEMO_BUS);
  const boat = await startBoat({ ...options, buses: [bus] });
  const twin = attachSimulatedBoat(bus, { clock: options.clock ?? systemClock });
  twin.start();
  return {
    ...boat,
    stop: async () => {
      twin.stop();
      await boat.stop();
    },
  };
}

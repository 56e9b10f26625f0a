import { type Clock, systemClock } from "../base/mod.ts";
import { BusError, type CanBus } from "./bus.ts";
import { LoopbackBus } from "./loopback.ts";
import { SocketCanBus } from "./socketcan.ts";

/** The drivers of buses: `ffi` is SocketCAN by the C library, `socketcan` the npm package of that name. */
export const BUS_DRIVERS = ["ffi", "socketcan", "loopback"] as const;
/** One of {@linkcode BUS_DRIVERS}. */
export type BusDriver = (typeof BUS_DRIVERS)[number];

/**
 * Makes a bus, closed.
 *
 * @param name interface, for example `can0`
 * @param options.driver default `ffi`
 * @param options.clock default the machine's
 * @throws {BusError} there is no such driver
 */
export async function createBus(
  name: string,
  { driver = "ffi", clock = systemClock }: { driver?: BusDriver; clock?: Clock } = {},
): Promise<CanBus> {
  switch (driver) {
    case "ffi":
      return new SocketCanBus(name, { clock });
    case "socketcan": {
      const { SocketCanAddonBus } = await import("./socketcan_addon.ts");
      return new SocketCanAddonBus(name, { clock });
    }
    case "loopback":
      return new LoopbackBus(name, { clock });
    default:
      throw new BusError(
        `Cannot make bus "${name}": no driver "${String(driver)}", known are ${BUS_DRIVERS.join(", ")}`,
      );
  }
}

import type { Clock, Logger } from "../base/mod.ts";
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
 * @throws {BusError} there is no such driver
 */
export async function createBus(
  name: string,
  { driver = "ffi", log, clock }: { driver?: BusDriver; log: Logger; clock: Clock },
): Promise<CanBus> {
  switch (driver) {
    case "ffi":
      return new SocketCanBus(name, { log, clock });
    case "socketcan": {
      const { SocketCanAddonBus } = await import("./socketcan_addon.ts");
      return new SocketCanAddonBus(name, { log, clock });
    }
    case "loopback":
      return new LoopbackBus(name, { clock });
    default:
      throw new BusError(
        `Cannot make bus "${name}": no driver "${String(driver)}", known are ${BUS_DRIVERS.join(", ")}`,
      );
  }
}

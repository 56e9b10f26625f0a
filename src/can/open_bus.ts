import { type Clock, systemClock } from "../base/mod.ts";
import type { CanBus } from "./bus.ts";
import { createSourceBus, isBusSource, parseBusSource } from "./gateways/mod.ts";
import { LoopbackBus } from "./loopback.ts";
import { SocketCanBus } from "./socketcan/socketcan.ts";

/** Driver of a bus: SocketCAN by the C library, SocketCAN by the npm package of that name, or in memory. */
export type BusDriver = "ffi" | "socketcan" | "loopback";

/**
 * Creates a bus, not yet open.
 *
 * @param name interface, for example `can0`; or a source, for example `tcp://192.168.4.1:1457`, which has no driver
 * @param options.driver default `ffi`
 * @param options.clock default: the system's
 * @throws {BusSourceError} the name is an invalid source
 */
export async function createBus(
  name: string,
  { driver = "ffi", clock = systemClock }: { driver?: BusDriver; clock?: Clock } = {},
): Promise<CanBus> {
  if (driver !== "loopback" && isBusSource(name)) return createSourceBus(parseBusSource(name), { clock });
  switch (driver) {
    case "ffi":
      return new SocketCanBus(name, { clock });
    case "socketcan": {
      const { SocketCanAddonBus } = await import("./socketcan/addon.ts");
      return new SocketCanAddonBus(name, { clock });
    }
    case "loopback":
      return new LoopbackBus(name, { clock });
  }
}

import { type Clock, systemClock } from "../base/mod.ts";
import type { CanBus } from "./bus.ts";
import { createSourceBus, isBusSource, parseBusSource } from "./gateways/mod.ts";
import { LoopbackBus } from "./loopback.ts";
import { SocketCanBus } from "./socketcan/socketcan.ts";

/** How a bus is reached: SocketCAN by the C library, SocketCAN by the npm package of that name, or in memory. */
export type BusDriver = "ffi" | "socketcan" | "loopback";

/**
 * Makes a bus, closed.
 *
 * @param name interface, for example `can0`; or a source, for example `tcp://192.168.4.1:1457`, which has no driver
 * @param options.driver default `ffi`
 * @param options.clock default the machine's
 * @throws {BusSourceError} the name is a source that says what cannot be
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

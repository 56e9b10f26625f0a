import { type Clock, systemClock } from "../base/mod.ts";
import type { CanBus } from "./bus.ts";
import { GatewayBus } from "./gateways/gateway_bus.ts";
import type { OpenLink } from "./gateways/link.ts";
import { RecordingBus } from "./gateways/recording_bus.ts";
import { serialLink } from "./gateways/serial_link.ts";
import { type BusSource, isBusSource, parseBusSource } from "./gateways/source.ts";
import { tcpLink } from "./gateways/tcp_link.ts";
import { udpLink } from "./gateways/udp_link.ts";
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

/**
 * Creates the bus of a source, not yet open.
 *
 * @param options.clock default: the system's
 */
export function createSourceBus(source: BusSource, { clock = systemClock }: { clock?: Clock } = {}): CanBus {
  const { name, format, bus } = source;
  const gateway = (openLink: OpenLink, more: { silenceMs?: number; mustExist?: boolean } = {}) =>
    new GatewayBus(name, { openLink, format, bus, clock, ...more });
  switch (source.type) {
    case "tcp":
      return gateway(tcpLink(source), { silenceMs: source.silenceMs });
    case "udp":
      return gateway(udpLink(source));
    case "serial":
      return gateway(serialLink(source), { mustExist: true });
    case "file":
      return new RecordingBus(name, { path: source.path, format, bus, speed: source.speed, clock });
  }
}

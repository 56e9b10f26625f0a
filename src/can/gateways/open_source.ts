import { type Clock, systemClock } from "../../base/mod.ts";
import type { CanBus } from "../bus.ts";
import { GatewayBus } from "./gateway_bus.ts";
import type { OpenLink } from "./link.ts";
import { RecordingBus } from "./recording_bus.ts";
import { serialLink } from "./serial_link.ts";
import type { BusSource } from "./source.ts";
import { tcpLink } from "./tcp_link.ts";
import { udpLink } from "./udp_link.ts";

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

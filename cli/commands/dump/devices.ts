import type { Device } from "@vessel/gateway/frame";

/** A device, and what lines say of it. */
export interface NamedDevice {
  device: Partial<Device>;
  /** `"name":"0x…",` or nothing. */
  nameText: string;
  /** For people, the address first as the end may be cut: `[5] Garmin GPS 24xd`. */
  label: string;
}

/** Who has which address now. */
export class KnownDevices {
  readonly #buses = new Map<string | undefined, (NamedDevice | undefined)[]>();

  /** Takes note of a device; what was known of its address is forgotten. `bus` as in frames. */
  learn(bus: string | undefined, src: number, device: Partial<Device>): void {
    let addresses = this.#buses.get(bus);
    if (addresses === undefined) this.#buses.set(bus, addresses = []);
    const { name, manufacturer, model_id } = device;
    const label = [`[${src}]`, manufacturer, model_id].filter((part) => part).join(" ");
    addresses[src] = {
      device,
      nameText: name ? `"name":${JSON.stringify(name)},` : "",
      label,
    };
  }

  /** Somebody has left an address. */
  forget(bus: string | undefined, src: number): void {
    const addresses = this.#buses.get(bus);
    if (addresses) addresses[src] = undefined;
  }

  /** All devices of a server; what was known before is forgotten. */
  replace(devices: readonly Device[]): void {
    this.#buses.clear();
    for (const device of devices) this.learn(device.bus, device.src, device);
  }

  get(bus: string | undefined, src: number): NamedDevice | undefined {
    return this.#buses.get(bus)?.[src];
  }
}

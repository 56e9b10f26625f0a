import type { Device } from "@vessel/gateway/frame";

/** A device with its texts for lines. */
export interface NamedDevice {
  device: Partial<Device>;
  /** `"name":"0x…",` or nothing. */
  nameText: string;
  /** For text lines, the address first because the end may be cut: `[5] Garmin GPS 24xd`. */
  label: string;
}

/** The device at each address. */
export class KnownDevices {
  readonly #buses = new Map<string | undefined, (NamedDevice | undefined)[]>();

  /** Stores a device in place of the previous one at its address. `bus` as in frames. */
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

  /** Removes the device at an address. */
  forget(bus: string | undefined, src: number): void {
    const addresses = this.#buses.get(bus);
    if (addresses) addresses[src] = undefined;
  }

  /** Replaces all devices by those of a server. */
  replace(devices: readonly Device[]): void {
    this.#buses.clear();
    for (const device of devices) this.learn(device.bus, device.src, device);
  }

  get(bus: string | undefined, src: number): NamedDevice | undefined {
    return this.#buses.get(bus)?.[src];
  }
}

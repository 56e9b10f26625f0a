import type { BlockDevice } from "../types.ts";

/** Walks the device table of a block: who holds which address when a frame comes. */
export class ActiveDevices {
  readonly #devices: readonly BlockDevice[];
  #at = 0;
  /** Index of the frame from which on the next device is active. */
  #nextFrom: number;

  /**
   * Begins before the first frame.
   *
   * @param devices in the order of the table: of two for one address from the same frame on, the later one holds it
   */
  constructor(devices: readonly BlockDevice[]) {
    this.#devices = devices.toSorted((one, other) => one.activeFrom - other.activeFrom);
    this.#nextFrom = this.#devices[0]?.activeFrom ?? Infinity;
  }

  /** Reports each device that is active when frame `index` comes and was not reported before. */
  advance(index: number, report: (device: BlockDevice) => void): void {
    while (this.#nextFrom <= index) {
      const device = this.#devices[this.#at++];
      this.#nextFrom = this.#devices[this.#at]?.activeFrom ?? Infinity;
      if (device) report(device);
    }
  }
}

import type { Clock } from "../../base/mod.ts";
import type { InterfaceCount } from "../bus.ts";

/** Status of a network interface. */
export type InterfaceStatus =
  | { type: "missing" }
  | { type: "down"; index: number }
  /** `carrier` is false while a CAN controller is bus-off (linux drivers/net/can/dev: can_bus_off). */
  | { type: "up"; index: number; carrier: boolean }
  /** The status cannot be read: Deno reads /sys only with --allow-all. */
  | { type: "unknown" };

/** Polling interval of the interface. Recovery within 2 s is promised; this allows several polls. */
export const INTERFACE_POLL_MS = 250;

const SYSFS_NETWORK = "/sys/class/net";
/** linux/if.h: the interface is switched on. */
const IFF_UP = 0x1;
/** Dropped frames are read at most this often. */
const DROPS_READ_INTERVAL_MS = 1000;
/**
 * Statistics that count lost frames: out of memory or queue full, and overrun of the controller. rx_fifo_errors is
 * not included: the drivers that count it (rx-offload) count rx_dropped as well.
 */
const DROP_STATISTICS = ["rx_dropped", "rx_over_errors"];

/**
 * Reads the status of an interface.
 *
 * @param options.root folder of the interfaces, default `/sys/class/net`
 */
export function readInterface(name: string, { root = SYSFS_NETWORK }: { root?: string } = {}): InterfaceStatus {
  try {
    const index = Number(Deno.readTextFileSync(`${root}/${name}/ifindex`));
    const flags = Number(Deno.readTextFileSync(`${root}/${name}/flags`));
    if ((flags & IFF_UP) === 0) return { type: "down", index };
    return { type: "up", index, carrier: readCarrier(`${root}/${name}/carrier`) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { type: "missing" };
    return { type: "unknown" };
  }
}

function readCarrier(path: string): boolean {
  try {
    return Deno.readTextFileSync(path).trim() !== "0";
  } catch {
    // Not every driver has this file, and it cannot be read while the interface goes down.
    return true;
  }
}

/** Different at each start of the computer. */
const KERNEL_BOOT_ID = "/proc/sys/kernel/random/boot_id";

/**
 * Reads how many frames an interface has received; undefined if it cannot be read.
 *
 * @param options.root folder of the interfaces, default `/sys/class/net`
 * @param options.bootId file with the id of the computer's start
 */
export function readInterfaceCount(
  name: string,
  { root = SYSFS_NETWORK, bootId = KERNEL_BOOT_ID }: { root?: string; bootId?: string } = {},
): InterfaceCount | undefined {
  try {
    const received = Number(Deno.readTextFileSync(`${root}/${name}/statistics/rx_packets`));
    const index = Number(Deno.readTextFileSync(`${root}/${name}/ifindex`));
    const boot = Number.parseInt(Deno.readTextFileSync(bootId).slice(0, 8), 16);
    const id = (boot ^ index) >>> 0;
    return Number.isSafeInteger(received) && id > 0 ? { id, received } : undefined;
  } catch {
    return undefined;
  }
}

/** Counts the frames that an interface has lost since the start. */
export class InterfaceDrops {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #root: string;
  readonly #last = new Map<string, number>();
  #total = 0;
  /** Index of the interface; undefined when it cannot be read. */
  #index: number | undefined;
  #readAtMs = -Infinity;

  /**
   * @param name the interface
   * @param options.clock limits the reads to one per second
   * @param options.root folder of the interfaces, default `/sys/class/net`
   */
  constructor(name: string, { clock, root = SYSFS_NETWORK }: { clock: Clock; root?: string }) {
    this.#name = name;
    this.#clock = clock;
    this.#root = root;
  }

  /** Sets the current statistics as the baseline: at opening, and when the interface was replaced. */
  rebase(): void {
    this.#readAtMs = this.#clock.monoMs();
    this.#index = this.#read("ifindex");
    for (const statistic of DROP_STATISTICS) this.#last.set(statistic, this.#read(`statistics/${statistic}`) ?? 0);
  }

  /** Frames lost so far. Reads at most once a second; an unreadable value counts as no loss. */
  total(): number {
    if (this.#clock.monoMs() - this.#readAtMs < DROPS_READ_INTERVAL_MS) return this.#total;
    return this.totalNow();
  }

  /** Frames lost so far, always read afresh: for the final count of a bus or its interface. */
  totalNow(): number {
    this.#readAtMs = this.#clock.monoMs();
    // A new interface of the same name has its own statistics, which do not concern this bus.
    if (this.#read("ifindex") !== this.#index) return this.#total;
    for (const statistic of DROP_STATISTICS) {
      const value = this.#read(`statistics/${statistic}`);
      if (value === undefined) continue;
      this.#total += Math.max(0, value - (this.#last.get(statistic) ?? 0));
      this.#last.set(statistic, value);
    }
    return this.#total;
  }

  #read(file: string): number | undefined {
    try {
      return Number(Deno.readTextFileSync(`${this.#root}/${this.#name}/${file}`));
    } catch {
      return undefined;
    }
  }
}

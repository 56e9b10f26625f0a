import type { Accept, Broker, Registry } from "../broker/mod.ts";
import { type CompiledFilter, compileFilter, type Filter, type FilterDevice } from "../filter/mod.ts";
import { parseName, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { ActiveDevices, type BlockDevice, MAX_BUSES } from "../journal/mod.ts";
import { manufacturerCode } from "../pgn/mod.ts";

/** Compiles a filter for the buses of one server. */
export type CompileFilter = (filter: Filter) => CompiledFilter;

/** A filter for live frames. */
export interface LiveFilter {
  accept: Accept;
  /** True when the filter does not depend on devices, so that several streams can share it. */
  shareable: boolean;
  /** Stops following address claims. */
  close: () => void;
}

/** Resolves a filter against the known devices, and again on every address claim until closed. */
export function followDevices(compiled: CompiledFilter, registry: Registry): LiveFilter {
  const { accept, learn, usesDevices } = compiled;
  if (!usesDevices) return { accept, shareable: true, close: () => {} };
  for (const { bus, src, name } of registry) if (name !== undefined) learn({ bus, src, name, ...parseName(name) });
  const close = registry.listen(({ event, device: { bus, src, name } }) => {
    if (event !== "removed" && name !== undefined) learn({ bus, src, name, ...parseName(name) });
  });
  return { accept, shareable: false, close };
}

/** Compiles a filter for the buses of a broker. */
export function compileFor(filter: Filter, { buses }: Broker): CompiledFilter {
  return compileFilter(filter, { buses, manufacturerCode });
}

/** Compiles a filter for a broker and follows its devices: see {@linkcode followDevices}. */
export function openFilter(filter: Filter, broker: Broker): LiveFilter {
  return followDevices(compileFor(filter, broker), broker.registry);
}

/** A NAME at an address. */
export type AddressHolder = Pick<BlockDevice, "bus" | "src" | "name">;

/** How devices are known from block to block. */
export interface RecordedFilterOptions {
  /**
   * For each block only its own device table counts, so that the answers do not depend on where reading began.
   * Default false: an address keeps its last NAME until another one claims it.
   */
  separateBlocks?: boolean;
}

/** Accepts recorded frames, by the devices that held the addresses when the frames were recorded. */
export class RecordedFilter {
  readonly #filter: Filter;
  readonly #separateBlocks: boolean;
  readonly #learnEntry = (device: AddressHolder) => this.learn(device);
  /** Devices by name of the bus and address: the index of a bus may change. */
  readonly #known = new Map<string, { busName: string; device: FilterDevice }>();
  #buses: readonly string[] = [];
  #compiled: CompiledFilter;
  #devices = new ActiveDevices([]);

  /** Begins with no buses: call {@linkcode RecordedFilter.enter}. @throws {FilterError} a NAME is not hex */
  constructor(filter: Filter, { separateBlocks = false }: RecordedFilterOptions = {}) {
    this.#filter = filter;
    this.#separateBlocks = separateBlocks;
    this.#compiled = this.#compile();
  }

  /** Whether the answers depend on devices. */
  get usesDevices(): boolean {
    return this.#compiled.usesDevices;
  }

  /**
   * Begins a block.
   *
   * @param buses names by index; the list may grow later
   * @param devices device table with the same indexes; left out where {@linkcode RecordedFilter.learn} is called instead
   */
  enter(buses: readonly string[], devices: readonly BlockDevice[] = []): void {
    const isSame = buses.length === this.#buses.length && buses.every((name, index) => name === this.#buses[index]);
    const forgets = this.#separateBlocks && this.usesDevices;
    if (forgets) this.#known.clear();
    if (forgets || !isSame) {
      this.#buses = [...buses];
      this.#compiled = this.#compile();
    }
    this.#devices = new ActiveDevices(this.usesDevices ? devices : []);
  }

  /** Sets the device that holds an address from the next frame on. Ignores the NAME 0. */
  learn({ bus, src, name }: AddressHolder): void {
    if (name === 0n || !this.usesDevices) return;
    const device = { bus, src, name, ...parseName(name) };
    const busName = this.#buses[bus];
    if (busName) this.#known.set(`${src} ${busName}`, { busName, device });
    this.#compiled.learn(device);
  }

  /** Whether a frame is wanted. To be called in the order of the block; `index`: that of the frame in it. */
  accepts({ bus, id, pgn }: StoredFrame, index = 0): boolean {
    this.#devices.advance(index, this.#learnEntry);
    return this.#compiled.accept(bus, sourceOfId(id), pgn);
  }

  /** Compiles the filter for the current buses. Frames of a bus without a name are wanted, too, unless buses are named. */
  #compile(): CompiledFilter {
    const buses = Array.from({ length: MAX_BUSES }, (_, index) => this.#buses[index] ?? "");
    const compiled = compileFilter(this.#filter, { buses, manufacturerCode });
    for (const { busName, device } of this.#known.values()) {
      const bus = buses.indexOf(busName);
      if (bus >= 0) compiled.learn({ ...device, bus });
    }
    return compiled;
  }
}

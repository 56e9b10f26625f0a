import { type Signal, signal } from "@preact/signals";
import type { ClientFrame, Device, Filter, KnownPgn, StreamEvent } from "@vessel/gateway/client";
import { parseWhere, type Where, WhereError } from "@vessel/gateway/where";
import type { BoatStore } from "../../shell/boat_store.ts";
import { Catalogue } from "./catalogue.ts";
import { LoadMeter } from "./load.ts";
import { BusLog } from "./log.ts";

/** What the stream did not deliver. */
export interface NotShown {
  /** Messages that the server has dropped, where it says how many. */
  count: number;
  /** Drops of which the number is unknown, and times without a connection. */
  gaps: number;
  /** Another filter has replaced the stream: what passed meanwhile is missing. */
  isReplaced: boolean;
}

/** What the filter box says. */
export type FilterState =
  | { type: "all" }
  | { type: "reading" }
  | { type: "filtering" }
  /** What was filtered before goes on. */
  | { type: "wrong"; message: string };

/** Receives messages for the bus view: the server filters where it can, the rest is filtered here. */
export class BusMonitor {
  readonly log = new BusLog();
  readonly load = new LoadMeter();
  readonly filter: Signal<FilterState> = signal<FilterState>({ type: "all" });
  readonly notShown: Signal<NotShown> = signal<NotShown>({ count: 0, gaps: 0, isReplaced: false });
  /** The part of the messages that the server sends; empty: all. */
  readonly sent: Signal<Filter> = signal<Filter>({});
  readonly catalogue: Catalogue;
  readonly #boat: BoatStore;
  readonly #devices = new Map<string, Device>();
  #text = "";
  #where: Where | undefined;
  #stop: (() => void) | undefined;
  #isClosed = false;

  constructor(boat: BoatStore) {
    this.#boat = boat;
    this.catalogue = new Catalogue(boat, () => this.#describedMore());
  }

  /** Starts receiving. */
  async open(text: string): Promise<void> {
    void this.catalogue.load().then((known: readonly KnownPgn[]) => this.load.learn(known));
    await this.apply(text);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
  }

  /** Filters by another expression. A wrong one changes nothing but {@linkcode BusMonitor.filter}. */
  async apply(text: string): Promise<void> {
    this.#text = text;
    this.filter.value = { type: "reading" };
    if (text.trim() !== "") await this.catalogue.learnFrom(text);
    if (this.#isClosed || this.#text !== text) return;
    const read = readFilter(text, this.catalogue);
    if (read instanceof WhereError) {
      this.filter.value = { type: "wrong", message: read.message };
      if (!this.#stop) this.#listen({});
      return;
    }
    this.#where = read;
    this.filter.value = { type: read ? "filtering" : "all" };
    this.log.retain((frame) => this.#matches(frame));
    const wanted = read?.filter ?? {};
    if (this.#stop && JSON.stringify(wanted) === JSON.stringify(this.sent.peek())) return;
    if (this.#stop) this.notShown.value = { ...this.notShown.peek(), isReplaced: true };
    this.#listen(wanted);
  }

  /** The device at an address, if it is known. */
  deviceAt(bus: string | undefined, src: number): Device | undefined {
    return this.#devices.get(`${bus}/${src}`);
  }

  #listen(wanted: Filter): void {
    this.#stop?.();
    this.sent.value = wanted;
    this.#stop = this.#boat.listen(wanted, { decode: true, devices: true }, (event) => this.#received(event));
  }

  #received(event: StreamEvent): void {
    switch (event.type) {
      case "frame": {
        const nowMs = performance.now();
        const { frame } = event;
        this.load.received(frame, nowMs);
        this.catalogue.see(frame.pgn);
        if (this.#matches(frame)) this.log.add(frame, nowMs);
        return;
      }
      case "device": {
        const { device } = event;
        const key = `${device.bus}/${device.src}`;
        if (event.event === "removed") this.#devices.delete(key);
        else this.#devices.set(key, device);
        return;
      }
      case "connected":
        for (const part of [this.log, this.load]) part.begin(performance.now());
        return void this.#loadDevices();
      case "dropped": {
        const before = this.notShown.peek();
        this.notShown.value = event.count === null
          ? { ...before, gaps: before.gaps + 1 }
          : { ...before, count: before.count + event.count };
        return;
      }
      case "missed": {
        const before = this.notShown.peek();
        this.notShown.value = { ...before, gaps: before.gaps + 1 };
      }
    }
  }

  #matches(frame: ClientFrame): boolean {
    return this.#where?.test(frame, (bus, src) => this.deviceAt(bus, src)) ?? true;
  }

  async #loadDevices(): Promise<void> {
    try {
      for (const device of await this.#boat.client.devices()) {
        this.#devices.set(`${device.bus}/${device.src}`, device);
      }
    } catch {
      // The stream reports an unreachable server; its next connection asks again.
    }
  }

  /** Units and labels of the expression depend on descriptions that were unknown until now. */
  #describedMore(): void {
    const { type } = this.filter.peek();
    if (type === "wrong") return void this.apply(this.#text);
    if (type !== "filtering") return;
    const read = readFilter(this.#text, this.catalogue);
    if (!(read instanceof WhereError)) this.#where = read;
  }
}

/** Reads the text of the filter box; undefined: all messages. */
function readFilter(text: string, catalogue: Catalogue): Where | WhereError | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parseWhere(text, catalogue);
  } catch (error) {
    if (error instanceof WhereError) return error;
    throw error;
  }
}

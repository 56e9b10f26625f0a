import { errorText } from "../base/mod.ts";
import type { BusSink, BusState, ControllerState } from "./bus.ts";

/** State of one bus: tells its sink of each change, once. */
export class BusStatus {
  #sink: BusSink | undefined;
  #state: BusState = { type: "closed" };
  #hadCarrier = true;

  get state(): BusState {
    return this.#state;
  }

  /** Tells this sink from now on, or nobody. */
  attach(sink: BusSink | undefined): void {
    this.#sink = sink;
  }

  /** State of the controller; error-active while the bus is not up. */
  get controller(): ControllerState {
    return this.#state.type === "up" ? this.#state.controller : "error-active";
  }

  /** The interface works, and its controller is in this state. */
  up(controller: ControllerState = "error-active"): void {
    if (this.#state.type === "up" && this.#state.controller === controller) return;
    this.#set({ type: "up", controller });
  }

  /**
   * The interface was looked at and is switched on. Its carrier tells of a bus-off whose error frame did not come, and of
   * its end.
   */
  seenUp(carrier: boolean): void {
    if (!carrier) this.up("bus-off");
    else if (!this.#hadCarrier || this.#state.type !== "up") this.up();
    this.#hadCarrier = carrier;
  }

  /** The interface is a new one: what was seen of the carrier does not count. */
  forgetCarrier(): void {
    this.#hadCarrier = true;
  }

  /** The interface is switched off, or something else keeps the bus from working for now. */
  down(message: string): void {
    if (this.#state.type === "down" && this.#state.message === message) return;
    this.#set({ type: "down", message });
  }

  /** Something threw, in the bus or in its sink. Says so; nothing once the bus is closed. */
  failed(error: unknown): void {
    if (this.#state.type === "closed") return;
    this.down(`an error in the gateway: ${errorText(error)}`);
  }

  /** The interface has gone. */
  missing(message: string): void {
    if (this.#state.type === "missing") return;
    this.#set({ type: "missing", message });
  }

  /** The end: nobody is told anything after. */
  closed(): void {
    if (this.#state.type === "closed") return;
    this.#set({ type: "closed" });
    this.#sink = undefined;
  }

  #set(state: BusState): void {
    this.#state = state;
    try {
      this.#sink?.state(state);
    } catch {
      // Whoever would be told is the one that threw; the bus must live on, and be closed.
    }
  }
}

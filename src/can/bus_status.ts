import { errorText } from "../base/mod.ts";
import type { BusSink, BusState, ControllerState } from "./bus.ts";

/** State of one bus. Reports each change to the sink once. */
export class BusStatus {
  #sink: BusSink | undefined;
  #state: BusState = { type: "closed" };
  #hadCarrier = true;

  get state(): BusState {
    return this.#state;
  }

  /** Sets the sink that changes are reported to, or none. */
  attach(sink: BusSink | undefined): void {
    this.#sink = sink;
  }

  /** State of the controller; error-active while the bus is not up. */
  get controller(): ControllerState {
    return this.#state.type === "up" ? this.#state.controller : "error-active";
  }

  /** Sets the state to up, with this state of the controller. */
  up(controller: ControllerState = "error-active"): void {
    if (this.#state.type === "up" && this.#state.controller === controller) return;
    this.#set({ type: "up", controller });
  }

  /**
   * The interface was inspected and is switched on. Its carrier shows a bus-off whose error frame was missed, and the
   * recovery from it.
   */
  seenUp(carrier: boolean): void {
    if (!carrier) this.up("bus-off");
    else if (!this.#hadCarrier || this.#state.type !== "up") this.up();
    this.#hadCarrier = carrier;
  }

  /** Resets the known carrier for a new interface. */
  forgetCarrier(): void {
    this.#hadCarrier = true;
  }

  /** Sets the state to down: the interface is switched off, or the bus cannot work for another reason. */
  down(message: string): void {
    if (this.#state.type === "down" && this.#state.message === message) return;
    this.#set({ type: "down", message });
  }

  /** Sets the state to down after an exception in the bus or its sink. Has no effect once the bus is closed. */
  failed(error: unknown): void {
    if (this.#state.type === "closed") return;
    this.down(`an error in the gateway: ${errorText(error)}`);
  }

  /** Sets the state to missing: the interface does not exist. */
  missing(message: string): void {
    if (this.#state.type === "missing") return;
    this.#set({ type: "missing", message });
  }

  /** Sets the state to closed, the last one that is reported. */
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
      // An exception would be reported to the sink that threw it. The bus must keep working and be closable.
    }
  }
}

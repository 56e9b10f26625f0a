import type { CanFrame } from "../frame/mod.ts";

/** What a bus is doing right now. `message` says why in words for a person. */
export type BusState =
  | { type: "closed" }
  | { type: "up"; controller: ControllerState }
  /**
   * The interface exists but is switched off, or the bus met an exception and rests for a moment. Not bus-off: that is
   * `up` with the controller `bus-off`.
   */
  | { type: "down"; message: string }
  /** The interface has gone (unplugged, deleted, driver unloaded); the bus looks for it again by itself. */
  | { type: "missing"; message: string };

/** Fault confinement of the CAN controller (ISO 11898-1 §12.1.4). Interfaces that cannot tell stay error-active. */
export type ControllerState = "error-active" | "error-warning" | "error-passive" | "bus-off";

/** Running totals of one bus since it was opened. Nothing that was not delivered is missing here. */
export interface BusCounters {
  /** Data frames, and whole messages of gateways, handed to the sink. */
  received: number;
  /** Frames that the kernel threw away because we did not read in time (socket buffer full). */
  kernelDropped: number;
  /** Frames that controller or driver lost before the kernel's socket saw them; datagrams that were not read in time. */
  interfaceDropped: number;
  /** Frames that are no NMEA 2000: 11-bit identifiers and remote requests; of a gateway also lines that cannot be read. */
  ignored: number;
  /** CAN error frames. */
  errorFrames: number;
  /** Frames handed to the kernel, or to the connection to a gateway. */
  sent: number;
  /** Frames given up: bus down, its queue still full after all tries, too many bytes, or the connection to a gateway lost. */
  sendFailed: number;
}

/**
 * Where a bus delivers. Calls never overlap, and must not throw. A bus that meets an exception all the same goes down,
 * with the message as its state, and comes back by itself; the frame it was met at counts as received, and the frames
 * after it are delivered.
 */
export interface BusSink {
  /** One data frame with a 29-bit identifier. The object and its buffer are reused: copy what must live on. */
  frame(frame: CanFrame): void;
  /**
   * One message that a gateway has put together, in the form of a frame but up to 1785 bytes long; it goes past the
   * assembler. Those that fit one frame come as that frame. A bus counts what nobody takes as ignored.
   */
  message?(message: CanFrame): void;
  /**
   * Asked by buses that can wait, such as recordings, before they deliver: resolves when more can be taken, undefined
   * while it can be taken now.
   */
  ready?(): Promise<void> | undefined;
  /** Called on each change of state. An exception from here is dropped: this is where it would be told. */
  state(state: BusState): void;
}

/**
 * A CAN bus: frames in, frames out. After `open` a bus looks after itself: whatever happens to the interface is told
 * through `state` and mended without help.
 */
export interface CanBus {
  /** Interface name, for example `can0`. */
  readonly name: string;
  /** What the bus is doing now. */
  readonly state: BusState;
  /** False where nothing can be sent, ever: a recording. Default true. */
  readonly canSend?: boolean;
  /** Totals, as of now. */
  readonly counters: Readonly<BusCounters>;
  /**
   * Starts delivery to `sink`.
   *
   * @throws {BusError} the interface does not exist or cannot be opened; nothing is left open then
   */
  open(sink: BusSink): Promise<void>;
  /**
   * Queues one frame and resolves when the kernel has taken it. Frames leave in the order of the calls, and come back
   * through the sink as the kernel echoes them.
   *
   * @param id 29-bit identifier
   * @param data 0 to 8 bytes
   * @throws {BusError} the bus is not up, or its queue stayed full, or there are more than 8 bytes
   */
  send(id: number, data: Uint8Array): Promise<void>;
  /** Stops delivery and frees the interface. Safe to call twice. */
  close(): Promise<void>;
}

/** A bus could not do what was asked; the message names bus and reason. */
export class BusError extends Error {
  /** `BusError`. */
  override name = "BusError";
}

/** Counters that start at zero. */
export function newCounters(): BusCounters {
  return {
    received: 0,
    kernelDropped: 0,
    interfaceDropped: 0,
    ignored: 0,
    errorFrames: 0,
    sent: 0,
    sendFailed: 0,
  };
}

import type { CanFrame } from "../frame/mod.ts";

/** State of a bus. `message` is the reason, human-readable. */
export type BusState =
  | { type: "closed" }
  | { type: "up"; controller: ControllerState }
  /**
   * The interface exists but is switched off, or the bus pauses after an exception. Not bus-off: that is
   * `up` with the controller `bus-off`.
   */
  | { type: "down"; message: string }
  /** The interface does not exist (unplugged, deleted, driver unloaded); the bus keeps looking for it. */
  | { type: "missing"; message: string };

/** Fault confinement of the CAN controller (ISO 11898-1 §12.1.4); error-active for interfaces that do not report it. */
export type ControllerState = "error-active" | "error-warning" | "error-passive" | "bus-off";

/** Totals of one bus since it was opened. Every frame that was not delivered is counted. */
export interface BusCounters {
  /** Data frames, and complete messages of gateways, delivered to the sink. */
  received: number;
  /** Frames that the kernel dropped because the socket's buffer was full. */
  kernelDropped: number;
  /** Frames lost by the controller or driver before they reached the socket; datagrams that were not read in time. */
  interfaceDropped: number;
  /** Frames that are not NMEA 2000 (11-bit identifiers, remote requests) and unreadable lines of gateways. */
  ignored: number;
  /** CAN error frames. */
  errorFrames: number;
  /** Of them, those that show a fault, by kind. */
  errors: ErrorFrameCounts;
  /** Frames accepted by the kernel or the connection to a gateway. */
  sent: number;
  /** Frames not sent: bus down, queue full after all retries, too many bytes, or connection to the gateway lost. */
  sendFailed: number;
}

/** Error frames by kind. Lost arbitration and changes of the controller's state are no faults. */
export interface ErrorFrameCounts {
  /** No other node acknowledged a frame. */
  no_acknowledge: number;
  /** Bit, stuff, form and CRC errors. */
  bus_error: number;
  /** The controller's buffer was full. */
  overflow: number;
  /** Transceiver errors, and frames that could not be sent in time. */
  other: number;
}

/** Frames that a network interface has received. */
export interface InterfaceCount {
  /** Different for each interface and each start of the computer: counts with the same id can be compared. */
  id: number;
  /** Frames of all kinds, without those that this computer sent. */
  received: number;
}

/**
 * Receiver of a bus's frames. Calls never overlap and must not throw. If one does, the bus goes down with the exception
 * as its message, and recovers by itself; the failing frame counts as received, and the frames
 * after it are delivered.
 */
export interface BusSink {
  /** A data frame with a 29-bit identifier. The object and its buffer are reused: copy what must outlive the call. */
  frame(frame: CanFrame): void;
  /**
   * A message reassembled by a gateway, in the form of a frame but up to 1785 bytes long; it bypasses the
   * assembler. Messages that fit one frame are delivered by `frame`. Without this method the bus counts them as ignored.
   */
  message?(message: CanFrame): void;
  /**
   * Back-pressure for buses that can wait, such as recordings: called before a delivery. Resolves when the sink accepts
   * more; undefined when it does already.
   */
  ready?(): Promise<void> | undefined;
  /** Called on each change of state. Exceptions are ignored, since they would be reported here. */
  state(state: BusState): void;
}

/**
 * A CAN bus: receives and sends frames. After `open` it recovers from all faults of the interface by itself and reports
 * them through `state`.
 */
export interface CanBus {
  /** Interface name, for example `can0`. */
  readonly name: string;
  /** Current state. */
  readonly state: BusState;
  /** False for buses that can never send, such as recordings. Default true. */
  readonly canSend?: boolean;
  /** Current totals. */
  readonly counters: Readonly<BusCounters>;
  /** What the interface itself has counted, also while no program listened; undefined if it cannot be read. */
  readonly interfaceCount?: InterfaceCount | undefined;
  /**
   * Starts delivery to `sink`.
   *
   * @throws {BusError} the interface does not exist or cannot be opened; nothing stays open
   */
  open(sink: BusSink): Promise<void>;
  /**
   * Queues one frame and resolves when the kernel has accepted it. Frames are sent in the order of the calls, and the
   * kernel echoes them to the sink.
   *
   * @param id 29-bit identifier
   * @param data 0 to 8 bytes
   * @throws {BusError} the bus is not up, its queue stayed full, or there are more than 8 bytes
   */
  send(id: number, data: Uint8Array): Promise<void>;
  /** Stops delivery and closes the interface. Safe to call twice. */
  close(): Promise<void>;
}

/** An operation of a bus failed; the message names the bus and the reason. */
export class BusError extends Error {
  /** `BusError`. */
  override name = "BusError";
}

/** Creates counters that start at zero. */
export function newCounters(): BusCounters {
  return {
    received: 0,
    kernelDropped: 0,
    interfaceDropped: 0,
    ignored: 0,
    errorFrames: 0,
    errors: { no_acknowledge: 0, bus_error: 0, overflow: 0, other: 0 },
    sent: 0,
    sendFailed: 0,
  };
}

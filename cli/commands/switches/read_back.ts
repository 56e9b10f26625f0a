import { timerMs } from "@vessel/gateway/base";
import type { Client, ClientFrame, MessageToSend } from "@vessel/gateway/client";
import { BANK_STATUS, GROUP_FUNCTION, isRefusal, readBank, type Switches } from "./banks.ts";

/** A message to send, and the report that it must cause. */
export interface WantedSwitches {
  message: MessageToSend & { data: string };
  instance: number;
  switches: Switches;
  /** Addresses of the devices that have the bank; empty: wait for the first report of any device. */
  awaited: readonly number[];
  /** Longest wait after the server has queued the message, milliseconds. */
  timeoutMs: number;
}

/** Result for one device. */
export interface DeviceReport {
  src: number;
  /** Its newest report after the message has the wanted states. */
  hasStates: boolean;
  /** It has refused the command. */
  isRefused: boolean;
  /** States of its newest report; undefined without one. */
  reported: Switches | undefined;
}

/** Result of all devices. */
export interface ReadBack {
  /** The message was received on the bus. */
  wasOnBus: boolean;
  /** The awaited devices, or those that have reported. */
  devices: DeviceReport[];
}

/**
 * Sends a message and reads the reports of the bank that follow it on the bus; earlier ones do not count.
 *
 * @throws {ApiError} the server refuses the message
 */
export async function sendAndReadBack(
  wanted: WantedSwitches,
  { client, signal, onQueued }: { client: Client; signal: AbortSignal; onQueued: () => Promise<void> | void },
): Promise<ReadBack> {
  const { message, timeoutMs } = wanted;
  const filter = { pgn: [BANK_STATUS, message.pgn], ...(message.bus !== undefined && { bus: [message.bus] }) };
  const events = client.subscribe(filter).events();
  const reports = new Reports(wanted);
  const leave = () => void events.return();
  signal.addEventListener("abort", leave);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isSent = false;
  try {
    if (signal.aborted) leave();
    for await (const event of events) {
      if (event.type === "connected" && !isSent) {
        isSent = true;
        await client.send(message, { signal });
        await onQueued();
        timer = setTimeout(leave, timerMs(timeoutMs));
      } else if (event.type === "frame") reports.add(event.frame);
      if (reports.isComplete) break;
    }
    signal.throwIfAborted();
    return { wasOnBus: reports.wasOnBus, devices: reports.list() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
    await events.return();
  }
}

/** Reports since our message. */
class Reports {
  wasOnBus = false;
  readonly #wanted: WantedSwitches;
  readonly #devices: Map<number, DeviceReport>;

  constructor(wanted: WantedSwitches) {
    this.#wanted = wanted;
    this.#devices = new Map(wanted.awaited.map((src) => [src, newReport(src)]));
  }

  /** Every device has reported the wanted states or refused. */
  get isComplete(): boolean {
    if (this.#devices.size === 0) return false;
    return this.#devices.values().every(({ hasStates, isRefused }) => hasStates || isRefused);
  }

  list(): DeviceReport[] {
    return [...this.#devices.values()];
  }

  add(frame: ClientFrame): void {
    const { message, instance, switches, awaited } = this.#wanted;
    const { pgn, src, data } = frame;
    if (pgn === message.pgn && data === message.data) this.wasOnBus = true;
    if (!this.wasOnBus) return;
    if (pgn === GROUP_FUNCTION && src === message.dst && isRefusal(data)) this.#reportOf(src).isRefused = true;
    const bank = pgn === BANK_STATUS ? readBank(frame) : undefined;
    if (bank?.instance !== instance || (awaited.length > 0 && !awaited.includes(src))) return;
    const report = this.#reportOf(src);
    report.reported = bank.switches;
    report.hasStates = switches.entries().every(([number, state]) => bank.switches.get(number) === state);
  }

  #reportOf(src: number): DeviceReport {
    const known = this.#devices.get(src) ?? newReport(src);
    this.#devices.set(src, known);
    return known;
  }
}

function newReport(src: number): DeviceReport {
  return { src, hasStates: false, isRefused: false, reported: undefined };
}

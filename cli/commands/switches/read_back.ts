import type { Client, ClientFrame, MessageToSend } from "@vessel/gateway/client";
import { BANK_STATUS, GROUP_FUNCTION, isRefusal, readBank, type Switches } from "./banks.ts";

/** What is sent, and what is to be reported then. */
export interface WantedSwitches {
  message: MessageToSend & { data: string };
  instance: number;
  switches: Switches;
  /** Addresses of the devices that carry the bank; empty: whoever reports it first. */
  awaited: readonly number[];
  /** Longest wait, milliseconds, from when the server has queued the message. */
  timeoutMs: number;
}

/** What a device has reported. */
export interface DeviceReport {
  src: number;
  /** Its newest report since the message was on the bus is the wanted one. */
  isShown: boolean;
  /** It said no. */
  isRefused: boolean;
  /** Its newest report; undefined: none came. */
  reported: Switches | undefined;
}

/** What came of it. */
export interface ReadBack {
  /** The message was seen on the bus. */
  isOut: boolean;
  /** Those that were awaited, or that have reported. */
  devices: DeviceReport[];
}

/**
 * Sends a message and reads what the bank reports from then on: what was on the bus before the message does not count.
 *
 * @throws {ApiError} the server does not send it
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
        timer = setTimeout(leave, timeoutMs);
      } else if (event.type === "frame") reports.take(event.frame);
      if (reports.isComplete) break;
    }
    signal.throwIfAborted();
    return { isOut: reports.isOut, devices: reports.list() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
    await events.return();
  }
}

/** What was reported since our message. */
class Reports {
  isOut = false;
  readonly #wanted: WantedSwitches;
  readonly #devices: Map<number, DeviceReport>;

  constructor(wanted: WantedSwitches) {
    this.#wanted = wanted;
    this.#devices = new Map(wanted.awaited.map((src) => [src, newReport(src)]));
  }

  /** Every device has answered in one way or another. */
  get isComplete(): boolean {
    if (this.#devices.size === 0) return false;
    return this.#devices.values().every(({ isShown, isRefused }) => isShown || isRefused);
  }

  list(): DeviceReport[] {
    return [...this.#devices.values()];
  }

  take(frame: ClientFrame): void {
    const { message, instance, switches, awaited } = this.#wanted;
    const { pgn, src, data } = frame;
    if (pgn === message.pgn && data === message.data) this.isOut = true;
    if (!this.isOut) return;
    if (pgn === GROUP_FUNCTION && src === message.dst && isRefusal(data)) this.#reportOf(src).isRefused = true;
    const bank = pgn === BANK_STATUS ? readBank(frame) : undefined;
    if (bank?.instance !== instance || (awaited.length > 0 && !awaited.includes(src))) return;
    const report = this.#reportOf(src);
    report.reported = bank.switches;
    report.isShown = switches.entries().every(([number, state]) => bank.switches.get(number) === state);
  }

  #reportOf(src: number): DeviceReport {
    const known = this.#devices.get(src) ?? newReport(src);
    this.#devices.set(src, known);
    return known;
  }
}

function newReport(src: number): DeviceReport {
  return { src, isShown: false, isRefused: false, reported: undefined };
}

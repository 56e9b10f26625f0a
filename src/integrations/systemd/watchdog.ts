import { errorText, type Logger } from "../../base/mod.ts";

/** Notification settings from systemd's environment. */
export interface NotifySettings {
  /** Socket path; a leading `@` means an abstract socket. */
  socket: string;
  /** Watchdog timeout, milliseconds; undefined: no watchdog. */
  watchdogMs: number | undefined;
}

/** Options of {@linkcode Watchdog}. */
export interface WatchdogOptions {
  intervalMs: number;
  /** Whether the server still works. */
  probe: () => boolean | Promise<boolean>;
  ping: () => Promise<void>;
  log: Logger;
}

/**
 * Reads what systemd has put into the environment of a service (sd_notify(3), sd_watchdog_enabled(3)).
 *
 * @param environment at least `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` of those that are set
 * @param pids the process, and its parent: with tracing on, the server is the child of the one that systemd watches
 * @returns nothing when no systemd has started us
 */
export function readNotifySettings(
  environment: Readonly<Record<string, string | undefined>>,
  pids: readonly number[],
): NotifySettings | undefined {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: micros, WATCHDOG_PID: watched } = environment;
  // Other kinds of sockets (vsock:, for virtual machines) are the manager's own.
  if (socket === undefined || !/^[/@]./.test(socket)) return undefined;
  const isOurs = watched === undefined || pids.includes(Number(watched));
  const watchdogMs = Number(micros) / 1000;
  return { socket, watchdogMs: isOurs && Number.isFinite(watchdogMs) && watchdogMs > 0 ? watchdogMs : undefined };
}

/** A probe that wants a count to grow: something is done, not just asked, since the last time. */
export function growing(count: () => number): () => boolean {
  let last: number | undefined;
  return () => {
    const now = count();
    const isGrown = last === undefined || now > last;
    last = now;
    return isGrown;
  };
}

/** Gives a sign of life in each interval in which the server works, and none otherwise: it must never lie. */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #state: "waiting" | "asking" | "stopped" = "waiting";
  #isSilent = false;

  /** Starts the watchdog. */
  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.tick(), options.intervalMs);
  }

  /** What an interval brings; done by the timer. */
  async tick(): Promise<void> {
    if (this.#state === "stopped") return;
    if (this.#state === "asking") return this.#tell("it does not answer");
    this.#state = "asking";
    const problem = await this.#ask();
    // It may have been stopped while it asked.
    if (this.#state !== "asking") return;
    if (problem === undefined) {
      await this.#options.ping();
      this.#isSilent = false;
    } else this.#tell(problem);
    if (this.#state === "asking") this.#state = "waiting";
  }

  stop(): void {
    this.#state = "stopped";
    clearInterval(this.#timer);
  }

  async #ask(): Promise<string | undefined> {
    try {
      return await this.#options.probe() ? undefined : "nothing is done";
    } catch (error) {
      return errorText(error);
    }
  }

  #tell(reason: string): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    this.#options.log.error("the server does not work: no sign of life for systemd", { reason });
  }
}

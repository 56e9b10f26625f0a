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
  /** Returns whether the server still works. */
  probe: () => boolean | Promise<boolean>;
  ping: () => Promise<void>;
  log: Logger;
}

/**
 * Reads systemd's variables from the environment of a service (sd_notify(3), sd_watchdog_enabled(3)).
 *
 * @param environment `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`, if set
 * @param pids the process and its parent: with tracing on, the server is the child of the process that systemd watches
 * @returns undefined when the process was not started by systemd
 */
export function readNotifySettings(
  environment: Readonly<Record<string, string | undefined>>,
  pids: readonly number[],
): NotifySettings | undefined {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: micros, WATCHDOG_PID: watched } = environment;
  // `vsock:` sockets are for virtual machines, not for services.
  if (socket === undefined || !/^[/@]./.test(socket)) return undefined;
  const isOurs = watched === undefined || pids.includes(Number(watched));
  const watchdogMs = Number(micros) / 1000;
  return { socket, watchdogMs: isOurs && Number.isFinite(watchdogMs) && watchdogMs > 0 ? watchdogMs : undefined };
}

/** A probe that returns whether a counter has grown since the last call. */
export function growing(count: () => number): () => boolean {
  let last: number | undefined;
  return () => {
    const now = count();
    const isGrown = last === undefined || now > last;
    last = now;
    return isGrown;
  };
}

/** Calls `ping` in each interval in which the probe succeeds, and not otherwise. */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #state: "waiting" | "probing" | "stopped" = "waiting";
  #isFailureLogged = false;

  /** Starts the watchdog. */
  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.tick(), options.intervalMs);
  }

  /** Called by the timer once per interval. */
  async tick(): Promise<void> {
    if (this.#state === "stopped") return;
    if (this.#state === "probing") return this.#logFailure("the probe does not return");
    this.#state = "probing";
    const problem = await this.#probe();
    // May have been stopped during the probe.
    if (this.#state !== "probing") return;
    if (problem === undefined) {
      await this.#options.ping();
      this.#isFailureLogged = false;
    } else this.#logFailure(problem);
    if (this.#state === "probing") this.#state = "waiting";
  }

  stop(): void {
    this.#state = "stopped";
    clearInterval(this.#timer);
  }

  async #probe(): Promise<string | undefined> {
    try {
      return await this.#options.probe() ? undefined : "no progress";
    } catch (error) {
      return errorText(error);
    }
  }

  #logFailure(reason: string): void {
    if (this.#isFailureLogged) return;
    this.#isFailureLogged = true;
    this.#options.log.error("the server does not work: no watchdog message for systemd", { reason });
  }
}

import { errorText, type Logger } from "../../base/mod.ts";
import { type NotifySettings, Watchdog } from "./watchdog.ts";

/** Options of systemd notifications. */
export interface SystemdOptions {
  /** See {@linkcode readNotifySettings}. */
  settings: NotifySettings;
  /**
   * Returns whether the server still works; called before each watchdog message. No message is sent while a call has not
   * returned. See {@linkcode growing}.
   */
  probe: () => boolean | Promise<boolean>;
  /** Receives failed notifications, and failed probes. */
  log: Logger;
}

/** Program of systemd that sends notifications: Deno does not support Unix datagram sockets. */
const PROGRAM = "systemd-notify";

/**
 * Notifies systemd of the server's state (sd_notify(3)). Messages are sent one at a time. Failures are not fatal and are
 * logged once.
 *
 * The unit needs `NotifyAccess=all`, since a child process sends the messages.
 */
export class SystemdNotifier {
  readonly #options: SystemdOptions;
  #sending: Promise<void> = Promise.resolve();
  #watchdog: Watchdog | undefined;
  #isFailureLogged = false;

  /** Sends nothing until `ready` is called. */
  constructor(options: SystemdOptions) {
    this.#options = options;
  }

  /** Reports that the server listens. Starts the watchdog if the unit has one. */
  async ready(status: string): Promise<void> {
    const { settings: { watchdogMs }, probe, log } = this.#options;
    await this.#send("READY=1", statusLine(status));
    if (watchdogMs === undefined || this.#watchdog) return;
    const ping = () => this.#send("WATCHDOG=1");
    this.#watchdog = new Watchdog({ intervalMs: watchdogMs / 2, probe, ping, log });
  }

  /** Sets the text shown by `systemctl status`. */
  status(status: string): Promise<void> {
    return this.#send(statusLine(status));
  }

  /** Reports that settings are being reloaded; call `ready` afterwards. */
  reloading(): Promise<void> {
    return this.#send("RELOADING=1", ...monotonicLine());
  }

  /** Reports that the server is stopping, and stops the watchdog: from now on the unit's stop timeout applies. */
  stopping(): Promise<void> {
    this.#watchdog?.stop();
    this.#watchdog = undefined;
    return this.#send("STOPPING=1", statusLine("stopping"));
  }

  #send(...lines: string[]): Promise<void> {
    return this.#sending = this.#sending.then(() => this.#run(lines));
  }

  async #run(lines: string[]): Promise<void> {
    const { settings: { socket }, log } = this.#options;
    try {
      const env = { NOTIFY_SOCKET: socket };
      const settings = { args: lines, env, stdin: "null", stdout: "null", stderr: "piped" } as const;
      const { success, stderr } = await new Deno.Command(PROGRAM, settings).output();
      if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
    } catch (error) {
      if (this.#isFailureLogged) return;
      this.#isFailureLogged = true;
      log.warn("systemd notification failed", { message: lines.join(" "), reason: errorText(error) });
    }
  }
}

/** A line break would begin another message. */
function statusLine(status: string): string {
  return `STATUS=${status.replace(/\s+/g, " ")}`;
}

/**
 * The machine's monotonic time, which newer versions of systemd require. Deno's clock starts with the process. The uptime
 * includes suspended time, unlike systemd's clock; that is harmless, as the value must only not precede the request.
 */
function monotonicLine(): string[] {
  try {
    // Whole seconds, which Linux rounds up.
    return [`MONOTONIC_USEC=${Deno.osUptime() * 1e6}`];
  } catch {
    // No permission. A systemd that requires the line reports it.
    return [];
  }
}

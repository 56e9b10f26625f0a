import { errorText, type Logger } from "../../base/mod.ts";
import { type NotifySettings, Watchdog } from "./watchdog.ts";

/** Options of systemd notifications. */
export interface SystemdOptions {
  /** See {@linkcode readNotifySettings}. */
  settings: NotifySettings;
  /**
   * Whether the server still works; asked before each sign of life. One that does not answer is one that does not work.
   * See {@linkcode growing}.
   */
  probe: () => boolean | Promise<boolean>;
  /** Told when systemd cannot be told, and when the server does not work. */
  log: Logger;
}

/** The program that speaks to the manager; it comes with systemd. Deno has no datagram sockets in the file system. */
const PROGRAM = "systemd-notify";

/**
 * Tells systemd how the server does (sd_notify(3)). Messages are sent one after the other; one that cannot be sent is
 * logged once and never fatal.
 *
 * The unit needs `NotifyAccess=all`, since a program of ours sends the messages.
 */
export class SystemdNotifier {
  readonly #options: SystemdOptions;
  #sending: Promise<void> = Promise.resolve();
  #watchdog: Watchdog | undefined;
  #isTold = false;

  /** Sends nothing until `ready` is called. */
  constructor(options: SystemdOptions) {
    this.#options = options;
  }

  /** The server listens. Signs of life begin, where the manager wants them. */
  async ready(status: string): Promise<void> {
    const { settings: { watchdogMs }, probe, log } = this.#options;
    await this.#send("READY=1", statusLine(status));
    if (watchdogMs === undefined || this.#watchdog) return;
    const ping = () => this.#send("WATCHDOG=1");
    this.#watchdog = new Watchdog({ intervalMs: watchdogMs / 2, probe, ping, log });
  }

  /** What the server does, for `systemctl status`. */
  status(status: string): Promise<void> {
    return this.#send(statusLine(status));
  }

  /** Settings are being read again; call `ready` afterwards. */
  reloading(): Promise<void> {
    return this.#send("RELOADING=1", ...monotonicLine());
  }

  /** The server begins to stop. Signs of life end: the manager's time for stopping counts from now. */
  stopping(): Promise<void> {
    this.#watchdog?.stop();
    this.#watchdog = undefined;
    return this.#send("STOPPING=1", statusLine("stopping"));
  }

  #send(...words: string[]): Promise<void> {
    return this.#sending = this.#sending.then(() => this.#run(words));
  }

  async #run(words: string[]): Promise<void> {
    const { settings: { socket }, log } = this.#options;
    try {
      const env = { NOTIFY_SOCKET: socket };
      const settings = { args: words, env, stdin: "null", stdout: "null", stderr: "piped" } as const;
      const { success, stderr } = await new Deno.Command(PROGRAM, settings).output();
      if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
    } catch (error) {
      if (this.#isTold) return;
      this.#isTold = true;
      log.warn("cannot tell systemd", { message: words.join(" "), reason: errorText(error) });
    }
  }
}

/** One line: a line break would begin another message. */
function statusLine(status: string): string {
  return `STATUS=${status.replace(/\s+/g, " ")}`;
}

/**
 * The machine's monotonic clock, for managers that want it. Deno's begins with the process; this one counts sleep, too,
 * which systemd's does not, which does no harm: it only must not lie before the manager's request.
 */
function monotonicLine(): string[] {
  try {
    // Whole seconds, which Linux rounds up.
    return [`MONOTONIC_USEC=${Deno.osUptime() * 1e6}`];
  } catch {
    // Without that permission. A manager that needs the line says so.
    return [];
  }
}

import { Interrupter } from "@vessel/gateway/base";

/** The command was stopped by Ctrl-C or SIGTERM. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Signals that stop a command. */
export interface InterruptionOptions {
  /** SIGHUP stops the command cleanly, unless it was started to ignore SIGHUP, as by nohup. */
  hangUp?: boolean;
}

const isWindows = Deno.build.os === "windows";
/** Signals that stop a program. */
export const STOP_SIGNALS: readonly Deno.Signal[] = isWindows ? ["SIGINT"] : ["SIGTERM", "SIGINT"];
/** Signals within this time are one stop, milliseconds: `timeout` and terminals signal the process and its group. */
export const SAME_REQUEST_MS = 1000;

/** Exit code that shells use for a program ended by Ctrl-C. */
export const INTERRUPTED_EXIT_CODE = 130;

/**
 * A signal that is aborted with {@linkcode Interrupted} at the first Ctrl-C or SIGTERM. A second one more than a second
 * later ends the process at once.
 */
export function interruption({ hangUp = false }: InterruptionOptions = {}): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  const onSignal = () => {
    const nowMs = performance.now();
    if (!controller.signal.aborted) {
      firstMs = nowMs;
      controller.abort(new Interrupted("Stopped"));
    } else if (nowMs - firstMs > SAME_REQUEST_MS) Deno.exit(INTERRUPTED_EXIT_CODE);
  };
  // Deno's first signal listener also catches SIGHUP, which would end a process that was started to ignore it.
  const isImmune = hangUp && !isWindows && isHangUpIgnored();
  for (const signal of STOP_SIGNALS) Deno.addSignalListener(signal, onSignal);
  if (hangUp && !isWindows) Deno.addSignalListener("SIGHUP", isImmune ? () => {} : onSignal);
  return controller.signal;
}

/** Whether this process was started with SIGHUP ignored: children inherit that, so one sends itself the signal. */
function isHangUpIgnored(): boolean {
  try {
    return new Deno.Command("sh", { args: ["-c", "kill -HUP $$"], stdin: "null", stderr: "null" }).outputSync().success;
  } catch {
    // No shell, or no permission to run it.
    return false;
  }
}

/**
 * Yields the items until the command is stopped. A read that blocks on an idle pipe cannot be interrupted; it is
 * abandoned, so the process must end soon.
 *
 * @throws the signal's reason
 */
export async function* untilStopped<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const stopped = new Interrupter();
  const stop = () => stopped.interrupt(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const rest = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await stopped.wait(rest.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // An abandoned read would block the end.
    if (!signal.aborted) await rest.return?.();
  }
}

/** Somebody wants the command to end: Ctrl-C or SIGTERM. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Which signals end a command. */
export interface InterruptionOptions {
  /** The end of the terminal (SIGHUP) ends the command in order, unless it was started to outlive it, as by nohup. */
  hangUp?: boolean;
}

const isWindows = Deno.build.os === "windows";
const STOP_SIGNALS: readonly Deno.Signal[] = isWindows ? ["SIGINT"] : ["SIGTERM", "SIGINT"];
/** One request to stop may come as several signals: `timeout` and terminals signal the process and its group. */
const SAME_REQUEST_MS = 1000;

/** As shells have it for a program that Ctrl-C ended. */
export const INTERRUPTED_EXIT_CODE = 130;

/**
 * Aborted with {@linkcode Interrupted} at the first Ctrl-C or SIGTERM. Another signal ends the process at once when it
 * comes more than a second later.
 */
export function interruption({ hangUp = false }: InterruptionOptions = {}): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  const ask = () => {
    const nowMs = performance.now();
    if (!controller.signal.aborted) {
      firstMs = nowMs;
      controller.abort(new Interrupted("Stopped"));
    } else if (nowMs - firstMs > SAME_REQUEST_MS) Deno.exit(INTERRUPTED_EXIT_CODE);
  };
  // Deno's first signal listener catches SIGHUP as well, and so ends a process that was started to ignore it.
  const isImmune = hangUp && !isWindows && isHangUpIgnored();
  for (const signal of STOP_SIGNALS) Deno.addSignalListener(signal, ask);
  if (hangUp && !isWindows) Deno.addSignalListener("SIGHUP", isImmune ? () => {} : ask);
  return controller.signal;
}

/** Whether this process was started with SIGHUP ignored: its children inherit that, and one of them tries it. */
function isHangUpIgnored(): boolean {
  try {
    return new Deno.Command("sh", { args: ["-c", "kill -HUP $$"], stdin: "null", stderr: "null" }).outputSync().success;
  } catch {
    // There is no shell, or it must not be run.
    return false;
  }
}

/** Somebody wants the command to end: Ctrl-C or SIGTERM. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

const STOP_SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGTERM", "SIGINT"];

/** As shells have it for a program that Ctrl-C ended. */
export const INTERRUPTED_EXIT_CODE = 130;

/** Aborted with {@linkcode Interrupted} at the first Ctrl-C or SIGTERM. The second one ends the process at once. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  const ask = () => {
    if (controller.signal.aborted) Deno.exit(INTERRUPTED_EXIT_CODE);
    controller.abort(new Interrupted("Stopped"));
  };
  for (const signal of STOP_SIGNALS) Deno.addSignalListener(signal, ask);
  return controller.signal;
}

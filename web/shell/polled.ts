import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError } from "@vessel/gateway/client";

/** What the server said last. */
export type Polled<Value> =
  | { type: "loading" }
  | { type: "ready"; value: Value }
  /** `detail`: of the message what the server says, without the request. `value`: the last known one. */
  | { type: "failed"; message: string; detail: string; status: number | undefined; value: Value | undefined };

/**
 * Asks the server now and every `everyMs` milliseconds, while the page is visible; without `everyMs` only once.
 *
 * @param ask is asked again from the start when one of `of` changes
 */
export function usePolled<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  { everyMs, of = [] }: { everyMs: number | undefined; of?: readonly unknown[] },
): Signal<Polled<Value>> {
  const state = useSignal<Polled<Value>>({ type: "loading" });
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = async () => {
      if (everyMs === undefined || document.visibilityState === "visible") {
        try {
          const value = await ask(stop.signal);
          if (!stop.signal.aborted) state.value = { type: "ready", value };
        } catch (error) {
          if (!stop.signal.aborted) state.value = failed(error, valueOf(state.peek()));
        }
      }
      if (!stop.signal.aborted && everyMs !== undefined) timer = setTimeout(again, everyMs);
    };
    void again();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [everyMs, ...of]);
  return state;
}

/** The newest value, if there is one. */
export function valueOf<Value>(state: Polled<Value>): Value | undefined {
  return state.type === "loading" ? undefined : state.value;
}

function failed<Value>(error: unknown, value: Value | undefined): Polled<Value> {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ApiError)) return { type: "failed", message, detail: message, status: undefined, value };
  return { type: "failed", message, detail: error.problem.detail, status: error.status, value };
}

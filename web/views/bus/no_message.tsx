import type { BusMonitor } from "./monitor.ts";

/** Says that a list is empty, and why. */
export function NoMessage({ monitor }: { monitor: BusMonitor }) {
  return (
    <p class="quiet bus-empty">
      {monitor.filter.value.type === "all"
        ? "No message yet. Below, Errors shows whether the bus is connected."
        : "No message that matches the filter yet."}
    </p>
  );
}

import type { Metric } from "@vessel/gateway/client";

/** A counter of a bus since the start. */
export interface BusCounter {
  name: string;
  value: number;
}

const COUNTERS: readonly { metric: string; name: string }[] = [
  { metric: "vbg_bus_error_frames_total", name: "Error frames" },
  { metric: "vbg_bus_kernel_dropped_frames_total", name: "Dropped by the kernel" },
  { metric: "vbg_bus_interface_dropped_frames_total", name: "Dropped by the interface" },
  { metric: "vbg_bus_faulty_frames_total", name: "Faulty frames" },
  { metric: "vbg_bus_send_failed_frames_total", name: "Not sent" },
  { metric: "vbg_assembler_dropped_total", name: "Incomplete messages" },
];

/** Error counters of each bus by its name; several reasons are added up. */
export function countersOf(metrics: readonly Metric[]): Map<string, BusCounter[]> {
  const buses = new Set(
    metrics.filter(({ name }) => name === "vbg_bus_frames_total").map(({ labels }) => labels.bus ?? ""),
  );
  return new Map([...buses].map((bus) => {
    const own = metrics.filter(({ labels }) => labels.bus === bus);
    return [
      bus,
      COUNTERS.flatMap(({ metric, name }) => {
        const found = own.filter((each) => each.name === metric);
        return found.length === 0 ? [] : [{ name, value: found.reduce((sum, { value }) => sum + value, 0) }];
      }),
    ];
  }));
}

/** State of the controller of a bus, such as `error-active`. */
export function stateOf(metrics: readonly Metric[], bus: string): string | undefined {
  return metrics.find(({ name, labels, value }) => name === "vbg_bus_state" && labels.bus === bus && value === 1)
    ?.labels
    .state;
}

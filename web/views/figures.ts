import type { Metric } from "@vessel/gateway/client";

/** A counter of what did not get where it should. */
export interface Drop {
  /** For people: what, and where or why. */
  name: string;
  value: number;
}

/** A figure with its unit. */
export interface Figure {
  name: string;
  text: string;
}

/** Counters of drops, losses, refusals and failures; by name, so that new ones are not forgotten. */
const DROP = /(?:dropped|lost|refused|failed|faults?|faulty|errors?|overflow|failures)(?:_[a-z]+)*_total$/;

/** What the figures show; `bytes` are written as kB, MB. */
const FIGURES: readonly { metric: string; name: string; unit?: "bytes" | "s" | "%" }[] = [
  { metric: "vbg_head_seq", name: "Number of the newest frame" },
  { metric: "vbg_devices", name: "Devices" },
  { metric: "vbg_ring_fill_ratio", name: "Frames in memory", unit: "%" },
  { metric: "vbg_streams", name: "Streams" },
  { metric: "vbg_sessions", name: "Sessions" },
  { metric: "vbg_journal_durable_seq", name: "Newest number on disk" },
  { metric: "vbg_journal_unsynced_age_seconds", name: "Oldest frame not on disk, age", unit: "s" },
  { metric: "vbg_journal_written_bytes_total", name: "Journal blocks written", unit: "bytes" },
  { metric: "vbg_alerts_waiting", name: "Alerts waiting" },
  { metric: "process_resident_memory_bytes", name: "Memory", unit: "bytes" },
  { metric: "vbg_event_loop_longest_stall_seconds", name: "Longest stall", unit: "s" },
];

/** Every counter of drops that is not 0, the largest first. */
export function dropsOf(metrics: readonly Metric[]): Drop[] {
  return metrics.filter(({ name, value }) => value > 0 && DROP.test(name)).map(({ name, labels, value }) => {
    const words = name.replace(/^vbg_/, "").replace(/_total$/, "").replaceAll("_", " ");
    const where = Object.entries(labels).map(([label, text]) => `${label} ${text.replaceAll("_", " ")}`).join(", ");
    return { name: where === "" ? words : `${words}: ${where}`, value };
  }).sort((a, b) => b.value - a.value);
}

/** The figures that the server has; those with several labels are added up. */
export function figuresOf(metrics: readonly Metric[]): Figure[] {
  return FIGURES.flatMap(({ metric, name, unit }): Figure[] => {
    const found = metrics.filter((each) => each.name === metric);
    if (found.length === 0) return [];
    const value = found.reduce((sum, each) => sum + each.value, 0);
    return [{ name, text: textOf(value, unit) }];
  });
}

function textOf(value: number, unit: "bytes" | "s" | "%" | undefined): string {
  switch (unit) {
    case "bytes":
      return bytesText(value);
    case "s":
      return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`;
    case "%":
      return `${Math.round(value * 100)} %`;
    case undefined:
      return String(value);
  }
}

/** Bytes as B, kB, MB or GB, with three digits. */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toPrecision(3)} ${units[power]}`;
}

import type { Metric } from "./types.ts";

/** A line of figures: `name{label="value",…} number`. */
const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:\\.|[^"\\])*)"/g;

/** Reads the text format of Prometheus; comments and lines in other forms are left out. */
export function parseMetrics(text: string): Metric[] {
  return text.split("\n").flatMap((line): Metric[] => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    const pairs = Array.from(labels.matchAll(LABEL), ([, label = "", quoted = ""]) => [label, unquoted(quoted)]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value.replace("Inf", "Infinity")) }];
  });
}

function unquoted(text: string): string {
  return text.replace(/\\(.)/g, (_, character) => character === "n" ? "\n" : character);
}

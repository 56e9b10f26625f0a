/** Labels of a reading, by name. */
export type Labels = Record<string, string>;
/** One value of a metric. */
export type Reading = readonly [value: number, labels: Labels];

/** One metric. */
export interface Figure {
  kind: "counter" | "gauge";
  name: string;
  help: string;
  /** The values now. */
  read: () => Reading[];
}

/** Content type of Prometheus' text format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Reads one value without labels, or any number of values. */
type Read = () => number | Reading[];

/** A metric that may rise and fall. */
export function gauge(name: string, help: string, read: Read): Figure {
  return { kind: "gauge", name, help, read: () => readingsOf(read()) };
}

/** A metric that only rises; its name ends in `_total`. */
export function counter(name: string, help: string, read: Read): Figure {
  return { ...gauge(name, help, read), kind: "counter" };
}

function readingsOf(values: number | Reading[]): Reading[] {
  return typeof values === "number" ? [[values, {}]] : values;
}

/** One value for each member of `counts`, with its name as a label. */
export function byLabel(label: string, counts: Readonly<Record<string, number>>, labels: Labels = {}): Reading[] {
  return Object.entries(counts).map(([name, count]) => [count, { ...labels, [label]: name }]);
}

/** The lines before the values of a metric. */
export function headOf({ name, help, kind }: Omit<Figure, "read">): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
}

/** Prometheus' text format, a piece for each line. A metric without values is left out. */
export function* figureTexts(figures: Iterable<Figure>): Generator<string, void> {
  for (const figure of figures) {
    const readings = figure.read();
    if (readings.length > 0) yield headOf(figure);
    for (const [value, labels] of readings) {
      const pairs = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text)}"`);
      yield `${figure.name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}\n`;
    }
  }
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

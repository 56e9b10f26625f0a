// Loaded when the first chart is shown: uPlot is a third of the page.
import uPlot from "uplot";
import type { Value } from "./angles.ts";
import type { Columns } from "./columns.ts";
import type { Span } from "./place.ts";

/** Colours of a chart, and dashes that tell its lines apart without colours. */
export interface Palette {
  text: string;
  grid: string;
  lines: readonly string[];
  /** Dash of a line, CSS pixels. */
  dashOf: (line: number) => readonly number[];
}

/** A lane of labels; `label` is the same number for equal texts. */
export interface Lane {
  spans: readonly { fromMs: number; toMs: number; text: string; label: number }[];
}

/** What a plot shows. */
export interface PlotContent {
  columns: Columns;
  /** Instead of lines. */
  lanes?: readonly Lane[];
  span: Span;
  /** Numbers of the lines that are not shown. */
  hidden: ReadonlySet<number>;
}

/** Options of a {@linkcode Plot}. */
export interface PlotOptions {
  palette: Palette;
  height: number;
  /** Number of lines or lanes. */
  lines: number;
  /** Distances of ticks; undefined: any round ones. */
  ticks: readonly number[] | undefined;
  /** Text of a value at the axis. */
  tickText: (value: number, step: number) => string;
  timeTexts: (times: readonly number[], stepMs: number) => string[];
  /** A span was marked. */
  onMark: (fromMs: number, toMs: number) => void;
}

/** Width of the vertical axis: equal, so that times of all charts are below each other. */
const AXIS_WIDTH = 62;
const LINE_WIDTH = 2;
const BAND_ALPHA = "38";
const LANE_GAP = 3;
const EDGE_WIDTH = 3;
/** Columns of a line: its average and its extremes. */
const PARTS = 3;
const LANE_FONT = '13px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const FONT = '12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** A chart on a canvas. */
export class Plot {
  readonly #options: PlotOptions;
  readonly #plot: uPlot;
  #content: PlotContent;

  constructor(target: HTMLElement, content: PlotContent, options: PlotOptions) {
    this.#options = options;
    this.#content = content;
    this.#plot = new uPlot(this.#uplotOptions(target.clientWidth), dataOf(content), target);
    this.#showHidden();
  }

  /** The element over the drawing, for pointers. */
  get over(): HTMLElement {
    return this.#plot.over;
  }

  /** Shows other values. */
  show(content: PlotContent): void {
    this.#content = content;
    this.#plot.batch(() => {
      this.#plot.setData(dataOf(content), false);
      this.#showHidden();
      this.#plot.setScale("x", { min: content.span.fromMs, max: content.span.toMs });
    });
  }

  /** Shows another span of the same values. */
  look({ fromMs, toMs }: Span): void {
    this.#plot.setScale("x", { min: fromMs, max: toMs });
  }

  /** Puts the cursor to a time; undefined: nowhere. */
  point(ms: number | undefined): void {
    const left = ms === undefined ? -10 : this.#plot.valToPos(ms, "x");
    this.#plot.setCursor({ left, top: 0 }, false);
  }

  resize(width: number): void {
    this.#plot.setSize({ width, height: this.#options.height });
  }

  destroy(): void {
    this.#plot.destroy();
  }

  #showHidden(): void {
    const { hidden } = this.#content;
    for (let column = 1; column < this.#plot.series.length; column++) {
      const show = !hidden.has(Math.floor((column - 1) / PARTS));
      if (this.#plot.series[column]?.show !== show) this.#plot.setSeries(column, { show }, false);
    }
  }

  #uplotOptions(width: number): uPlot.Options {
    const { palette: { text, grid }, height, lines, ticks, onMark } = this.#options;
    const { span } = this.#content;
    const isStrip = this.#content.lanes !== undefined;
    const axis = {
      stroke: text,
      font: FONT,
      grid: { stroke: grid, width: 1 },
      ticks: { stroke: grid, width: 1, size: 4 },
    };
    return {
      width,
      height,
      ms: 1,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: !isStrip },
        drag: { x: true, y: false, setScale: false, dist: 6 },
        // A double click comes from two clicks that mark nothing.
        bind: { dblclick: () => null },
      },
      scales: {
        x: { time: true, min: span.fromMs, max: span.toMs, auto: false },
        y: { auto: !isStrip, range: isStrip ? [0, Math.max(1, lines)] : rangeOf },
      },
      series: isStrip ? [{}, { show: false, scale: "y" }] : [{}, ...this.#series()],
      bands: isStrip ? [] : Array.from({ length: lines }, (_, line) => this.#band(line)),
      axes: [
        { ...axis, space: 70, size: 44, values: (_, times, __, ___, step) => this.#options.timeTexts(times, step) },
        {
          ...axis,
          size: AXIS_WIDTH,
          ...(isStrip ? { splits: () => [], values: () => [] } : {
            ...(ticks && { incrs: [...ticks] }),
            values: (_, values, __, ___, step) => values.map((each) => this.#options.tickText(each, step)),
          }),
        },
      ],
      hooks: {
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width > 0) onMark(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        draw: isStrip ? [(plot) => this.#drawLanes(plot)] : [],
      },
    };
  }

  #colour(line: number): string {
    const { lines, text } = this.#options.palette;
    return lines[line % lines.length] ?? text;
  }

  #series(): uPlot.Series[] {
    return Array.from({ length: this.#options.lines }, (_, line): uPlot.Series[] => {
      const stroke = this.#colour(line);
      const edge: uPlot.Series = { points: { show: false }, stroke: "transparent", width: 0 };
      const middle: uPlot.Series = {
        stroke,
        width: LINE_WIDTH,
        paths: linePath,
        dash: [...this.#options.palette.dashOf(line)],
        points: { size: 5, fill: stroke, stroke, filter: (_, __, show) => show ? null : this.#alone(line) },
      };
      return [middle, edge, edge];
    }).flat();
  }

  #alone(line: number): number[] | null {
    return this.#content.columns.lines[line]?.alone ?? null;
  }

  #band(line: number): uPlot.Band {
    const middle = line * PARTS + 1;
    return { series: [middle + 2, middle + 1], fill: this.#colour(line) + BAND_ALPHA };
  }

  #drawLanes({ ctx, bbox, valToPos }: uPlot): void {
    const { lanes = [], hidden } = this.#content;
    const { text } = this.#options.palette;
    const ratio = uPlot.pxRatio;
    const height = bbox.height / Math.max(1, lanes.length);
    ctx.save();
    ctx.font = LANE_FONT.replace("13px", `${13 * ratio}px`);
    ctx.textBaseline = "middle";
    for (const [lane, { spans }] of lanes.entries()) {
      const middle = bbox.top + (lane + 0.5) * height;
      ctx.textAlign = "right";
      ctx.fillStyle = text;
      ctx.fillText(String(lane + 1), bbox.left - 10 * ratio, middle);
      if (hidden.has(lane)) continue;
      ctx.textAlign = "left";
      for (const { fromMs, toMs, text: words, label } of spans) {
        const left = Math.max(bbox.left, valToPos(fromMs, "x", true));
        const width = Math.min(bbox.left + bbox.width, valToPos(toMs, "x", true)) - left;
        if (width <= 0) continue;
        const box = { top: middle - height / 2 + LANE_GAP * ratio, height: height - 2 * LANE_GAP * ratio };
        ctx.fillStyle = this.#colour(label) + BAND_ALPHA;
        ctx.fillRect(left, box.top, width, box.height);
        ctx.fillStyle = this.#colour(label);
        ctx.fillRect(left, box.top, Math.min(width, EDGE_WIDTH * ratio), box.height);
        if (ctx.measureText(words).width > width - 12 * ratio) continue;
        ctx.fillStyle = text;
        ctx.fillText(words, left + 8 * ratio, middle);
      }
    }
    ctx.restore();
  }
}

/**
 * The line of a series. uPlot's own one would hide interruptions by clipping, which leaves the edges of steep lines.
 */
function linePath(plot: uPlot, column: number, from: number, to: number): uPlot.Series.Paths {
  const stroke = new Path2D();
  const [x = [], values = []] = [plot.data[0], plot.data[column]];
  let isDown = false;
  for (let row = from; row <= to; row++) {
    const [at, value] = [x[row], values[row]];
    if (value === null) isDown = false;
    if (value == null || at == null) continue;
    const [left, top] = [plot.valToPos(at, "x", true), plot.valToPos(value, "y", true)];
    if (isDown) stroke.lineTo(left, top);
    else stroke.moveTo(left, top);
    isDown = true;
  }
  return { stroke };
}

/** A flat line has some room around it. */
function rangeOf(_plot: uPlot, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  const room = (max - min) * 0.08 || Math.abs(max) * 0.05 || 1;
  return [min - room, max + room];
}

function dataOf({ columns: { x, lines }, lanes }: PlotContent): uPlot.AlignedData {
  if (lanes) return [x, x.map(() => null)];
  const none: Value[] = x.map(() => undefined);
  return [x, ...lines.flatMap(({ middle, low, high }) => [middle, low ?? none, high ?? none])];
}

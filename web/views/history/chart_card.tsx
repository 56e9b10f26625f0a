import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { DecodedFieldValue } from "@vessel/gateway/client";
import { units } from "../../shell/preferences.ts";
import type { Chart, Line } from "./charts.ts";
import { valueText } from "./charts.ts";
import { bucketAt, columnsOf } from "./columns.ts";
import type { HistoryState } from "./history_state.ts";
import { labelSpans } from "./lanes.ts";
import { dashOf, LINE_COLOURS } from "./dashes.ts";
import type { Palette, Plot, PlotContent } from "./plot.ts";
import type { Span } from "./place.ts";
import { tickTexts } from "../time_text.ts";
import { listenToPointers } from "./pointers.ts";
import { keyAction, pinched } from "./zoom.ts";

const CHART_HEIGHT = 230;
const LANE_HEIGHT = 38;
const STRIP_HEIGHT = 58;
const TURN = 360;
const DEGREE_TICKS: readonly number[] = [0.0001, 0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45, 90, 180];

/** A chart of a reply. */
export interface ShownChart {
  chart: Chart;
  bucketMs: number;
  span: Span;
}

/** A chart with its legend; the legend has the values at the cursor. */
export function ChartCard({ shown, state, palette }: {
  shown: ShownChart;
  state: HistoryState;
  palette: Palette;
}) {
  const { chart } = shown;
  const { unit } = chart.measure;
  const isOneName = chart.type === "lines" && chart.lines.every(({ name }) => name === chart.title);
  return (
    <section class="card hist-chart" aria-label={chart.title}>
      <h3>
        {chart.type === "strip" ? "States" : chart.title}{" "}
        {chart.type === "lines" && unit !== "" && <span class="quiet">{unit}</span>}
      </h3>
      <Canvas
        key={`${chart.id} ${chart.lines.length} ${unit}`}
        shown={shown}
        state={state}
        palette={palette}
      />
      <ul class="hist-legend">
        {chart.lines.map((line, index) => (
          <LegendItem
            key={line.id}
            {...{ line, index, state, isOneName }}
            bucketMs={shown.bucketMs}
            isStrip={chart.type === "strip"}
          />
        ))}
      </ul>
    </section>
  );
}

function Canvas({ shown, state, palette }: { shown: ShownChart; state: HistoryState; palette: Palette }) {
  const target = useRef<HTMLDivElement>(null);
  const plot = useSignal<Plot | undefined>(undefined);
  const { chart, span } = shown;
  const { title, lines, type, measure } = chart;
  const height = type === "strip" ? STRIP_HEIGHT + LANE_HEIGHT * lines.length : CHART_HEIGHT;
  const content = contentOf(shown, state);
  const newest = useRef(content);
  newest.current = content;
  useEffect(() => {
    const { current: element } = target;
    if (!element) return;
    let stop = () => {};
    let isGone = false;
    void import("./plot.ts").then(({ Plot }) => {
      if (isGone) return;
      const made = new Plot(element, newest.current, {
        palette,
        height,
        lines: lines.length,
        ticks: measure.turn?.turn === TURN ? DEGREE_TICKS : undefined,
        tickText: measure.tickText,
        timeTexts: tickTexts,
        onMark: (fromMs, toMs) => state.mark(fromMs, toMs),
      });
      const resize = new ResizeObserver(() => made.resize(element.clientWidth));
      resize.observe(element);
      const stopTouch = listenToPlot(made.over, { state, newest });
      plot.value = made;
      stop = () => {
        stopTouch();
        resize.disconnect();
        made.destroy();
        plot.value = undefined;
      };
    });
    return () => {
      isGone = true;
      stop();
    };
  }, [palette]);
  useEffect(() => {
    plot.value?.show(content);
    plot.value?.point(state.cursorMs.peek());
  }, [shown, state.hidden.value, state.details.value, units.value]);
  useSignalEffect(() => plot.value?.look(state.preview.value ?? newest.current.span));
  useSignalEffect(() => plot.value?.point(state.cursorMs.value));
  return (
    <div
      class="hist-canvas"
      style={{ height: `${height}px` }}
      ref={target}
      role="group"
      tabIndex={0}
      aria-label={`Chart of ${title}. Arrow keys move the cursor; plus and minus zoom; Shift with an arrow key moves the range; Escape goes back. The table below has the same values.`}
      onKeyDown={(event) => {
        const action = keyAction(event);
        if (!action) return;
        event.preventDefault();
        state.act(action, { span, bucketMs: shown.bucketMs });
      }}
      onDblClick={() => state.back()}
    />
  );
}

function listenToPlot(
  over: HTMLElement,
  { state, newest }: { state: HistoryState; newest: { current: PlotContent } },
): () => void {
  return listenToPointers(over, {
    onPoint: (at) => {
      const { fromMs, toMs } = newest.current.span;
      state.cursorMs.value = at === undefined ? undefined : fromMs + at * (toMs - fromMs);
    },
    onPinch: (start, now) => {
      state.preview.value = pinched(newest.current.span, { start, now, nowMs: state.boat.clock.nowMs });
    },
    onPinchEnd: () => state.takePreview(),
  });
}

function contentOf({ chart, bucketMs, span }: ShownChart, state: HistoryState): PlotContent {
  const { lines, type } = chart;
  const hidden = new Set(lines.flatMap(({ id }, index) => state.hidden.value.has(id) ? [index] : []));
  const options = { system: units.value };
  if (type === "lines") return { columns: columnsOf(lines.map(({ drawn }) => drawn), bucketMs), span, hidden };
  const labels = new Map<string, number>();
  const numberOf = (text: string) => {
    if (!labels.has(text)) labels.set(text, labels.size);
    return labels.get(text) ?? 0;
  };
  const lanes = lines.map((line) => {
    const textOf = (value: DecodedFieldValue) => valueText(line, value, { ...options, details: state.detailsOf(line) });
    const spans = labelSpans(line.series, line.drawn, { bucketMs, textOf });
    return { spans: spans.map((each) => ({ ...each, label: numberOf(each.text) })) };
  });
  const x = [...new Set(lanes.flatMap(({ spans }) => spans.map(({ fromMs }) => fromMs)))].sort((a, b) => a - b);
  return { columns: { x, lines: [] }, lanes, span, hidden };
}

function LegendItem({ line, index, bucketMs, isStrip, isOneName, state }: {
  line: Line;
  index: number;
  bucketMs: number;
  isStrip: boolean;
  /** All lines have the name that the title has. */
  isOneName: boolean;
  state: HistoryState;
}) {
  const isHidden = state.hidden.value.has(line.id);
  return (
    <li>
      <button type="button" class="hist-line" aria-pressed={!isHidden} onClick={() => state.toggle(line.id)}>
        {isStrip
          ? <span class="hist-mark num">{index + 1}</span>
          : (
            <svg class={`hist-mark hist-c${index % LINE_COLOURS + 1}`} viewBox="0 0 34 8" aria-hidden="true">
              <path d="M0 4H34" stroke-width="3" stroke-dasharray={dashOf(index).join(" ")} />
            </svg>
          )}
        <span class="hist-name">
          {isOneName ? line.source : (
            <>
              {line.name} <span class="quiet">{line.source}</span>
            </>
          )}
        </span>
      </button>
      <Value line={line} bucketMs={bucketMs} cursorMs={state.cursorMs} state={state} />
    </li>
  );
}

/** The value at the cursor, else the newest. */
function Value({ line, bucketMs, cursorMs, state }: {
  line: Line;
  bucketMs: number;
  cursorMs: Signal<number | undefined>;
  state: HistoryState;
}) {
  const { series: { avg, min, max, last, count, time }, drawn } = line;
  const atMs = cursorMs.value;
  const index = atMs === undefined ? time.length - 1 : bucketAt(drawn, { atMs, bucketMs });
  if (index === undefined) return <span class="hist-value quiet">no value</span>;
  const text = (value: typeof last[number] | undefined) =>
    valueText(line, value, { details: state.detailsOf(line), system: units.value });
  const several = (count[index] ?? 0) > 1 && min && max;
  return (
    <span class="hist-value num">
      {text(atMs === undefined || !avg ? last[index] : avg[index])}
      {atMs !== undefined && several && <span class="quiet">{text(min[index])} … {text(max[index])}</span>}
    </span>
  );
}

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { LabelledDevice, SeriesReply } from "@vessel/gateway/client";
import type { ViewProps } from "../shell/boat_store.ts";
import { usePolled, valueOf } from "../shell/polled.ts";
import { units } from "../shell/preferences.ts";
import { ChartCard } from "./history/chart_card.tsx";
import { type Chart, chartsOf, emptyChoices } from "./history/charts.ts";
import { csvOf } from "./history/csv.ts";
import { FieldPicker } from "./history/field_picker.tsx";
import { HistoryState } from "./history/history_state.ts";
import { usePalette } from "./history/palette.ts";
import { type HistoryPlace, placeText, readPlace, type Span, spanOf } from "./history/place.ts";
import { choiceLabel } from "./history/quantity_fields.ts";
import { RangeBar } from "./history/range_bar.tsx";
import { SeriesReader } from "./history/series_reader.ts";
import { momentText, widthText } from "./time_text.ts";
import { ValueTable } from "./history/value_table.tsx";
import "uplot/dist/uPlot.min.css";
import "./history.css";

/** Shortest time between two requests of the same charts, milliseconds. */
const REFRESH_MS = 5000;
/** Requests in the time that the charts cover: about as many as they have buckets. */
const REFRESHES = 1000;
const DEVICES_MS = 60_000;
const REVOKE_MS = 60_000;
/** Buckets: as many as a chart has pixels. */
const [MIN_POINTS, MAX_POINTS] = [200, 1500];
/** Width around the drawing of a chart, CSS pixels. */
const AROUND_PX = 110;

/** Recorded values of any fields as charts: `#/history/1h/depth/128259.speed_water`. */
export function History({ boat, rest }: ViewProps) {
  const state = useMemo(() => new HistoryState(boat), [boat]);
  const reader = useMemo(() => new SeriesReader(boat), [boat]);
  const text = placeText(readPlace(rest));
  const place = useMemo(() => readPlace(text), [text]);
  useEffect(() => state.arrived(text), [state, text]);
  const tries = useSignal(0);
  const devices = usePolled((signal) => boat.client.devices({ labels: true, signal }), {
    everyMs: DEVICES_MS,
    of: [boat],
  });
  const polled = usePolled((signal) => reader.ask(place, { text, points: points(), signal }), {
    everyMs: place.range.type === "last" ? Math.max(REFRESH_MS, place.range.last.ms / REFRESHES) : undefined,
    of: [boat, text, tries.value],
  });
  const answer = valueOf(polled.value);
  const isFresh = answer?.text === text;
  const span = isFresh && answer.type === "reply" ? answer.span : spanOf(place.range, boat.clock.nowMs);
  const go = (changed: Partial<HistoryPlace>) => state.go({ ...place, ...changed });
  const bucketMs = answer?.type === "reply" ? answer.reply.bucket_ms : 1000;
  return (
    <>
      <h2 class="hidden-text">History</h2>
      <FieldPicker boat={boat} chosen={place.chosen} onChange={(chosen) => go({ chosen })} />
      <RangeBar {...{ range: place.range, span, bucketMs, state }} onChange={(range) => go({ range })} />
      {polled.value.type === "failed" && <p class="bad" role="alert">No answer: {polled.value.message}</p>}
      {place.chosen.length === 0
        ? <p class="card">Nothing is chosen: search above for a quantity, such as depth, or for a field of a PGN.</p>
        : answer === undefined
        ? polled.value.type === "loading" && <p class="card" aria-busy="true">Reading the recording…</p>
        : answer.type === "refused"
        ? <Refused {...answer} onRetry={() => tries.value++} />
        : (
          <Charts
            {...{ state, place, span, isFresh, reply: answer.reply }}
            devices={valueOf(devices.value) ?? []}
          />
        )}
    </>
  );
}

function points(): number {
  const width = document.getElementById("content")?.clientWidth ?? MIN_POINTS;
  return Math.min(MAX_POINTS, Math.max(MIN_POINTS, width - AROUND_PX));
}

function Refused({ status, detail, onRetry }: { status: number; detail: string; onRetry: () => void }) {
  const isOff = /recording is off/i.test(detail);
  return (
    <div class="card" role="alert">
      <p class={isOff ? "" : "bad"}>{isOff ? `No journal: ${detail}.` : `${detail}.`}</p>
      {isOff && <p class="quiet">The server keeps no recording, so there is nothing to chart.</p>}
      {status !== 400 && <button type="button" onClick={onRetry}>Try again</button>}
    </div>
  );
}

function Charts({ state, place, span, isFresh, reply, devices }: {
  state: HistoryState;
  place: HistoryPlace;
  span: Span;
  isFresh: boolean;
  reply: SeriesReply;
  devices: readonly LabelledDevice[];
}) {
  const palette = usePalette().value;
  const system = units.value;
  const { chosen } = place;
  const charts = useMemo(() => chartsOf(reply, { chosen, devices, system }), [reply, chosen, devices, system]);
  const empty = isFresh ? emptyChoices(chosen, reply) : [];
  const { bucket_ms: bucketMs } = reply;
  return (
    <div class="hist-charts" aria-busy={!isFresh}>
      <p class="hist-state">
        <Moment state={state} bucketMs={bucketMs} isFresh={isFresh} />
        <span class="space" />
        <button type="button" disabled={charts.length === 0} onClick={() => download(charts, state)}>CSV</button>
      </p>
      {empty.length > 0 && (
        <p class="card" role="status">
          Nothing recorded in this range: <strong>{empty.map(choiceLabel).join(", ")}</strong>
        </p>
      )}
      {charts.map((chart) => <Shown key={chart.id} {...{ chart, bucketMs, span, state, palette }} />)}
      {charts.length > 0 && <ValueTable charts={charts} bucketMs={bucketMs} state={state} />}
    </div>
  );
}

function Shown({ chart, bucketMs, span, state, palette }: {
  chart: Chart;
  bucketMs: number;
  span: Span;
  state: HistoryState;
  palette: ReturnType<typeof usePalette>["value"];
}) {
  const { fromMs, toMs } = span;
  const shown = useMemo(() => ({ chart, bucketMs, span: { fromMs, toMs } }), [chart, bucketMs, fromMs, toMs]);
  return <ChartCard shown={shown} state={state} palette={palette} />;
}

/** The time at the cursor, and how much time a point stands for. */
function Moment({ state, bucketMs, isFresh }: { state: HistoryState; bucketMs: number; isFresh: boolean }) {
  const atMs = state.cursorMs.value;
  const start = atMs === undefined ? undefined : Math.floor(atMs / bucketMs) * bucketMs;
  return (
    <span class="num quiet">
      {start === undefined ? "Newest values" : momentText(start, bucketMs)} ·{" "}
      {isFresh ? `a point is ${widthText(bucketMs)}` : "reading…"}
    </span>
  );
}

function download(charts: readonly Chart[], state: HistoryState): void {
  const lines = charts.flatMap((chart) => chart.lines).filter(({ id }) => !state.hidden.value.has(id));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf(lines)], { type: "text/csv" }));
  link.download = `${state.boat.id ?? "vessel"}-history.csv`;
  link.click();
  // Some browsers read it only after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_MS);
}

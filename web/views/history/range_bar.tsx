import { useSignal } from "@preact/signals";
import type { HistoryState } from "./history_state.ts";
import { type ChartRange, LAST_RANGES, MIN_SPAN_MS, type Span } from "./place.ts";
import { inputText, readInput, spanText, zoneText } from "../time_text.ts";
import type { KeyAction } from "./zoom.ts";

const ZOOMS: readonly { name: string; sign: string; action: KeyAction }[] = [
  { name: "Earlier", sign: "◀", action: { type: "move", part: -0.5 } },
  { name: "Zoom out", sign: "−", action: { type: "zoom", factor: 2 } },
  { name: "Zoom in", sign: "+", action: { type: "zoom", factor: 0.5 } },
  { name: "Later", sign: "▶", action: { type: "move", part: 0.5 } },
];

/** Chooses the range: the last hour and so on, two times, or a zoom. */
export function RangeBar({ range, span, bucketMs, state, onChange }: {
  range: ChartRange;
  span: Span;
  bucketMs: number;
  state: HistoryState;
  onChange: (range: ChartRange) => void;
}) {
  return (
    <div class="hist-range">
      <div class="hist-last" role="group" aria-label="Range, until now">
        {LAST_RANGES.map((last) => (
          <button
            key={last.id}
            type="button"
            aria-pressed={range.type === "last" && range.last.id === last.id}
            onClick={() => onChange({ type: "last", last })}
          >
            {last.name}
          </button>
        ))}
      </div>
      <div class="hist-zoom" role="group" aria-label="Zoom">
        {ZOOMS.map(({ name, sign, action }) => (
          <button
            key={name}
            type="button"
            aria-label={name}
            title={name}
            onClick={() => state.act(action, { span, bucketMs })}
          >
            {sign}
          </button>
        ))}
        <button type="button" disabled={state.steps.value === 0} onClick={() => state.back()}>Zoom back</button>
      </div>
      <details class="hist-times">
        <summary class="num">{spanText(state.preview.value ?? span)}</summary>
        <Times key={`${span.fromMs} ${span.toMs}`} span={span} onChange={onChange} />
      </details>
    </div>
  );
}

function Times({ span, onChange }: { span: Span; onChange: (range: ChartRange) => void }) {
  const from = useSignal(inputText(span.fromMs));
  const to = useSignal(inputText(span.toMs));
  const [fromMs, toMs] = [readInput(from.value), readInput(to.value)];
  const isWrong = fromMs === undefined || toMs === undefined || toMs - fromMs < MIN_SPAN_MS;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isWrong) onChange({ type: "span", span: { fromMs, toMs } });
  };
  return (
    <form class="hist-form" onSubmit={submit}>
      <label>
        From
        <input
          type="datetime-local"
          step={1}
          value={from.value}
          onInput={({ currentTarget: { value } }) => from.value = value}
        />
      </label>
      <label>
        To
        <input
          type="datetime-local"
          step={1}
          value={to.value}
          aria-invalid={isWrong}
          onInput={({ currentTarget: { value } }) => to.value = value}
        />
      </label>
      <button type="submit" disabled={isWrong}>Show</button>
      <p class={isWrong ? "bad" : "quiet"} role="status">
        {isWrong
          ? "The end must be at least 1 s after the start."
          : `Local time of this device, ${zoneText(span.toMs)}`}
      </p>
    </form>
  );
}

import { useSignal } from "@preact/signals";
import { units } from "../../shell/preferences.ts";
import { type Chart, type Line, valueText } from "./charts.ts";
import type { HistoryState } from "./history_state.ts";
import { momentText } from "../time_text.ts";

/** Rows of a page of the table. */
const PAGE_ROWS = 60;

/** The shown values as a table, newest first; its rows are made when it is opened. */
export function ValueTable({ charts, bucketMs, state }: {
  charts: readonly Chart[];
  bucketMs: number;
  state: HistoryState;
}) {
  const isOpen = useSignal(false);
  return (
    <details
      class="hist-table"
      open={isOpen.value}
      onToggle={({ currentTarget: { open } }) => isOpen.value = open}
    >
      <summary>Values as a table</summary>
      {isOpen.value && <Pages lines={charts.flatMap(({ lines }) => lines)} bucketMs={bucketMs} state={state} />}
    </details>
  );
}

function Pages({ lines, bucketMs, state }: { lines: readonly Line[]; bucketMs: number; state: HistoryState }) {
  const page = useSignal(0);
  const shown = lines.filter(({ id }) => !state.hidden.value.has(id));
  const times = [...new Set(shown.flatMap(({ series: { time } }) => time))].sort((a, b) => b - a);
  const last = Math.max(0, Math.ceil(times.length / PAGE_ROWS) - 1);
  const at = Math.min(page.value, last);
  const indexes = shown.map(({ series: { time } }) => new Map(time.map((ms, index) => [ms, index])));
  return (
    <>
      <div class="scroll">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Time</th>
              {shown.map((line) => <th key={line.id} scope="col" class="right">{line.name}, {line.source}</th>)}
            </tr>
          </thead>
          <tbody>
            {times.slice(at * PAGE_ROWS, (at + 1) * PAGE_ROWS).map((ms) => (
              <tr key={ms}>
                <th scope="row" class="num">{momentText(ms, bucketMs)}</th>
                {shown.map((line, column) => (
                  <td key={line.id} class="right">{cellText(line, indexes[column]?.get(ms), state)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hist-pages">
        <button type="button" disabled={at === 0} onClick={() => page.value = at - 1}>Later</button>
        <span class="num">Page {at + 1} of {last + 1}</span>
        <button type="button" disabled={at === last} onClick={() => page.value = at + 1}>Earlier</button>
      </p>
    </>
  );
}

/** Average and extremes, or the label. */
function cellText(line: Line, index: number | undefined, state: HistoryState): string {
  if (index === undefined) return "";
  const { avg, min, max, last, count } = line.series;
  const options = { details: state.detailsOf(line), system: units.value };
  const text = valueText(line, avg ? avg[index] : last[index], options);
  if (!min || !max || (count[index] ?? 0) < 2) return text;
  return `${text} (${valueText(line, min[index], options)} … ${valueText(line, max[index], options)})`;
}

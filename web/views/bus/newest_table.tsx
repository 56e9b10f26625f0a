import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { BoatStore } from "../../shell/boat_store.ts";
import { Painter } from "../../shell/painter.ts";
import { ageText, rateText } from "../plain_text.ts";
import { Cells, Columns, RowButton } from "./hot_row.tsx";
import { MAX_ROWS, type Row } from "./log.ts";
import type { Selected } from "./message_panel.tsx";
import type { BusMonitor } from "./monitor.ts";
import { NoMessage } from "./no_message.tsx";

/** The newest message of each PGN and source, in rows that stay where they are. */
export function NewestTable({ boat, monitor, painted, selected }: {
  boat: BoatStore;
  monitor: BusMonitor;
  painted: Signal<number>;
  selected: Signal<Selected | undefined>;
}) {
  const rows = useSignal<readonly Row[]>([]);
  const cells = useMemo(() => new Map<string, Cells>(), [monitor]);
  const painter = useMemo(() =>
    new Painter(() => {
      const newest = monitor.log.rows();
      const nowMs = performance.now();
      const serverMs = boat.clock.nowMs;
      for (const { key, frame, rate } of newest) {
        const row = cellsOf(cells, key);
        row.set("rate", rateText(rate.perSecond(nowMs)));
        row.set("age", ageText(serverMs - Date.parse(frame.ts)));
        row.show(frame, monitor);
      }
      rows.value = newest;
    }), [monitor]);
  useSignalEffect(() => {
    painted.value;
    painter.ask();
  });
  const { withoutRow } = monitor.log;
  return (
    <div class="bus-scroll card" tabIndex={-1}>
      <Columns fourth="Rate" fifth="Age" />
      {rows.value.length === 0 && <NoMessage monitor={monitor} />}
      <ul class="bus-rows" aria-label="Newest message of each PGN and source">
        {rows.value.map(({ key }) => (
          <li key={key}>
            <RowButton
              cells={cellsOf(cells, key)}
              isSelected={selected.value?.type === "row" && selected.value.key === key}
              onSelect={() => selected.value = { type: "row", key }}
            />
          </li>
        ))}
      </ul>
      {withoutRow > 0 && (
        <p class="warn">
          More than {MAX_ROWS} pairs of PGN and source: {withoutRow} messages of others are only shown in order.
        </p>
      )}
    </div>
  );
}

function cellsOf(all: Map<string, Cells>, key: string): Cells {
  const cells = all.get(key) ?? new Cells();
  all.set(key, cells);
  return cells;
}

import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { ClientFrame } from "@vessel/gateway/client";
import { Painter } from "../../shell/painter.ts";
import { Cells, Columns, RowButton } from "./hot_row.tsx";
import type { Selected } from "./message_panel.tsx";
import type { BusMonitor } from "./monitor.ts";
import { NoMessage } from "./no_message.tsx";

/** Start and end of the time of day with milliseconds in an RFC 3339 time. */
const TIME_OF_DAY = [11, 23] as const;
/** Rows that are in the document besides those that are seen. */
const SPARE_ROWS = 2;

/** The last messages, newest on top. Only the rows that are seen are in the document. */
export function MessageList({ monitor, painted, selected }: {
  monitor: BusMonitor;
  painted: Signal<number>;
  selected: Signal<Selected | undefined>;
}) {
  const box = useRef<HTMLDivElement>(null);
  const probe = useRef<HTMLLIElement>(null);
  const layout = useSignal({ first: 0, slots: 1, rowPx: 44, count: 0 });
  const state = useMemo(() => ({ cells: [new Cells()], shown: new Array<ClientFrame>() }), [monitor]);
  const painter = useMemo(() =>
    new Painter(() => {
      const top = box.current?.scrollTop ?? 0;
      // While somebody reads further down, the messages stay where they are.
      if (top === 0) state.shown = monitor.log.messages();
      const rowPx = probe.current?.offsetHeight || layout.peek().rowPx;
      const slots = Math.ceil((box.current?.clientHeight ?? 0) / rowPx) + SPARE_ROWS;
      const first = Math.max(0, Math.min(Math.floor(top / rowPx) - 1, state.shown.length - slots));
      const next = { first, slots, rowPx, count: state.shown.length };
      const before = layout.peek();
      if (before.first !== first || before.slots !== slots || before.rowPx !== rowPx || before.count !== next.count) {
        layout.value = next;
      }
      while (state.cells.length < Math.min(slots, next.count - first)) state.cells.push(new Cells());
      state.cells.forEach((cells, slot) => {
        const frame = state.shown[first + slot];
        if (!frame) return;
        cells.set("rate", frame.ts.slice(...TIME_OF_DAY));
        cells.set("age", String(frame.seq));
        cells.show(frame, monitor);
      });
    }), [monitor]);
  useSignalEffect(() => {
    painted.value;
    painter.ask();
  });
  const { first, slots, rowPx, count } = layout.value;
  const used = Math.min(slots, count - first);
  return (
    <div class="bus-scroll card" ref={box} tabIndex={-1} onScroll={() => painter.ask()}>
      <Columns fourth="Time (UTC)" fifth="Number" />
      {count === 0 && <NoMessage monitor={monitor} />}
      <div class="bus-space" style={{ height: `${count * rowPx}px` }}>
        <ul class="bus-rows" aria-label="Last messages" style={{ transform: `translateY(${first * rowPx}px)` }}>
          {state.cells.slice(0, Math.max(0, used)).map((cells, slot) => (
            <li key={slot} ref={slot === 0 ? probe : null}>
              <RowButton
                cells={cells}
                isSelected={selected.value?.type === "message" && selected.value.frame === state.shown[first + slot]}
                onSelect={() => {
                  const frame = state.shown[first + slot];
                  if (frame) selected.value = { type: "message", frame };
                }}
              />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

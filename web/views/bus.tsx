import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { ViewProps } from "../shell/boat_store.ts";
import { linkTo } from "../shell/router.ts";
import { BusState } from "./bus/bus_state.tsx";
import { Findings } from "./bus/findings.tsx";
import { FilterBox } from "./bus/filter_box.tsx";
import { MessageList } from "./bus/message_list.tsx";
import { MessagePanel, type Selected } from "./bus/message_panel.tsx";
import { BusMonitor, type NotShown } from "./bus/monitor.ts";
import { NewestTable } from "./bus/newest_table.tsx";
import "./bus.css";

/** Interval of painting, milliseconds: texts that change more often cannot be read. */
const PAINT_MS = 200;

/** Ways to show messages. */
type Mode = "newest" | "order";

/** Live messages of the buses: the newest of each PGN and source, or all in their order. */
export function Bus({ boat, rest }: ViewProps) {
  const monitor = useMemo(() => new BusMonitor(boat), [boat]);
  const painted = useSignal(0);
  const mode = useSignal<Mode>("newest");
  const isPaused = useSignal(false);
  const selected = useSignal<Selected | undefined>(undefined);
  useEffect(() => {
    void monitor.open(rest ?? "");
    const timer = setInterval(() => painted.value++, PAINT_MS);
    return () => {
      clearInterval(timer);
      monitor.close();
    };
  }, [monitor]);
  useEffect(() => {
    if (monitor.filter.peek().type !== "reading") void monitor.apply(rest ?? "");
  }, [rest]);
  const apply = (text: string) => {
    const href = linkTo("bus", { boat: boat.id, ...(text.trim() !== "" && { rest: text }) });
    history.replaceState(null, "", href);
    void monitor.apply(text);
  };
  const pause = () => {
    isPaused.value = !isPaused.value;
    if (isPaused.value) monitor.log.pause();
    else monitor.log.resume();
  };
  return (
    <>
      <h2 class="hidden-text">Bus</h2>
      {!boat.cloud && <Findings boat={boat} />}
      <FilterBox monitor={monitor} first={rest ?? ""} onApply={apply} />
      <div class="bus-tools">
        <div role="group" aria-label="Messages" class="bus-modes">
          <button type="button" aria-pressed={mode.value === "newest"} onClick={() => mode.value = "newest"}>
            Newest of each
          </button>
          <button type="button" aria-pressed={mode.value === "order"} onClick={() => mode.value = "order"}>
            In order
          </button>
        </div>
        <button type="button" class="bus-pause" aria-pressed={isPaused.value} onClick={pause}>
          {isPaused.value ? "Continue" : "Pause"}
        </button>
        <Passed monitor={monitor} isPaused={isPaused} painted={painted} />
      </div>
      <Missing notShown={monitor.notShown} />
      {mode.value === "order" && monitor.notShown.value.isReplaced && (
        <p class="quiet">What passed in the moment of another filter is not in this list.</p>
      )}
      <div class={selected.value ? "bus-parts with-panel" : "bus-parts"}>
        {mode.value === "newest"
          ? <NewestTable boat={boat} monitor={monitor} painted={painted} selected={selected} />
          : <MessageList monitor={monitor} painted={painted} selected={selected} />}
        {selected.value && <MessagePanel boat={boat} monitor={monitor} painted={painted} selected={selected} />}
      </div>
      <BusState boat={boat} monitor={monitor} />
    </>
  );
}

/** How many messages passed since the pause began. */
function Passed({ monitor, isPaused, painted }: {
  monitor: BusMonitor;
  isPaused: Signal<boolean>;
  painted: Signal<number>;
}) {
  if (!isPaused.value) return null;
  painted.value;
  const { passed } = monitor.log;
  return <span class="num bus-passed">Paused: {passed} {passed === 1 ? "message" : "messages"} passed meanwhile</span>;
}

function Missing({ notShown }: { notShown: Signal<NotShown> }) {
  const { count, gaps } = notShown.value;
  if (count + gaps === 0) return null;
  const counted = count === 1 ? "1 message was" : `${count} messages were`;
  return (
    <p class="warn" role="status">
      {count > 0 && `${counted} not shown: this page was too slow. `}
      {gaps > 0 && `${gaps === 1 ? "Once" : `${gaps} times`} an unknown number of messages may be missing.`}
    </p>
  );
}

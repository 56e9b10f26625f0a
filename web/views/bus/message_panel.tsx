import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ClientFrame, FieldSpan, PgnDetails } from "@vessel/gateway/client";
import type { BoatStore } from "../../shell/boat_store.ts";
import { units } from "../../shell/preferences.ts";
import { bytesOf, fieldsAt, isSplit, litBits } from "./bits.ts";
import { fieldRows } from "./field_rows.ts";
import { sourceText } from "./hot_row.tsx";
import type { BusMonitor } from "./monitor.ts";
import { SpanReader } from "./spans.ts";

/** What the panel shows. */
export type Selected =
  /** The newest message of a row. */
  | { type: "row"; key: string }
  /** This message. */
  | { type: "message"; frame: ClientFrame };

/** Shortest time between two messages in the panel, milliseconds: each asks the server for its bits. */
const SHOW_MS = 1000;

/** The message that the panel is about to show. */
interface Asked {
  frame: ClientFrame | undefined;
  key: string;
  atMs: number;
  isAnswered: boolean;
}

interface Shown {
  frame: ClientFrame;
  details: PgnDetails | undefined;
  spans: readonly FieldSpan[];
}

/** One message: its fields, and its bytes with the bits of the field under the pointer. */
export function MessagePanel({ boat, monitor, painted, selected }: {
  boat: BoatStore;
  monitor: BusMonitor;
  painted: Signal<number>;
  selected: Signal<Selected | undefined>;
}) {
  const shown = useSignal<Shown | undefined>(undefined);
  const lit = useSignal<Lit>({ type: "nothing" });
  const asked = useMemo((): Asked => ({ frame: undefined, key: "", atMs: -Infinity, isAnswered: true }), [monitor]);
  const reader = useMemo(() => new SpanReader(boat.client), [boat]);
  useEffect(() => () => reader.cancel(), [reader]);
  useSignalEffect(() => {
    painted.value;
    const choice = selected.value;
    const frame = choice?.type === "row" ? monitor.log.row(choice.key)?.frame : choice?.frame;
    // Another filter has removed the row.
    if (choice && !frame) selected.value = undefined;
    if (!frame || frame === asked.frame) return;
    const key = choice?.type === "row" ? choice.key : `#${frame.seq}`;
    const nowMs = performance.now();
    // A slow answer about a row is awaited: cancelled by each newer message, none would ever arrive.
    if (key === asked.key && !(asked.isAnswered && nowMs - asked.atMs >= SHOW_MS)) return;
    Object.assign(asked, { frame, atMs: nowMs, key, isAnswered: false });
    void monitor.catalogue.learn(frame.pgn).then(async (details) => {
      if (asked.frame !== frame) return;
      const spans = await reader.read(frame, details);
      if (asked.frame !== frame) return;
      asked.isAnswered = true;
      shown.value = { frame, details, spans };
    });
  });
  const { value } = shown;
  if (!value) return <section class="bus-panel card" aria-busy="true" />;
  const { frame } = value;
  return (
    <section class="bus-panel card" aria-label={`Message of PGN ${frame.pgn}`}>
      <header class="bus-panel-head">
        <h3>
          {frame.pgn} {monitor.catalogue.nameOf(frame.pgn)}
        </h3>
        <span class="quiet num">
          number {frame.seq} · {frame.ts.slice(11, 23)} UTC · from {sourceText(frame, monitor)} · priority {frame.prio}
        </span>
        <span class="space" />
        <button type="button" onClick={() => selected.value = undefined}>Close</button>
      </header>
      <div class="bus-panel-parts">
        <Fields shown={value} lit={lit} />
        <Bytes shown={value} lit={lit} />
      </div>
    </section>
  );
}

/** What is under the pointer, or has the focus. */
type Lit = { type: "nothing" } | { type: "field"; name: string } | { type: "byte"; byte: number };

function lighting(lit: Signal<Lit>, what: Lit) {
  const on = () => lit.value = what;
  const off = () => lit.value = { type: "nothing" };
  return { onPointerEnter: on, onPointerLeave: off, onFocus: on, onBlur: off, onClick: on };
}

function Fields({ shown: { frame, details, spans }, lit }: { shown: Shown; lit: Signal<Lit> }) {
  const { decoded } = frame;
  if (!decoded) return <p class="quiet">The server has no definition of this PGN.</p>;
  const at = lit.value;
  const names = at.type === "byte" ? fieldsAt(spans, at.byte) : new Set(at.type === "field" ? [at.name] : []);
  return (
    <ul class="bus-fields">
      {fieldRows(decoded, { details, system: units.value }).map(({ name, label, text }) => (
        <li key={name} data-field={name}>
          <button type="button" class={names.has(name) ? "lit" : ""} {...lighting(lit, { type: "field", name })}>
            <span class="quiet">{label}</span>
            <span class="num">{text}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Bytes({ shown: { frame, spans }, lit }: { shown: Shown; lit: Signal<Lit> }) {
  const at = lit.value;
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (at.type === "field") showFirstLit(list.current);
  }, [at]);
  return (
    <ol ref={list} class="bus-bytes" start={0} aria-label="Bytes as hex">
      {bytesOf(frame.data).map((value, byte) => {
        const mask = at.type === "field"
          ? litBits(spans, { name: at.name, byte })
          : at.type === "byte" && at.byte === byte
          ? 255
          : 0;
        const hex = value.toString(16).padStart(2, "0");
        return (
          <li key={byte}>
            <button
              type="button"
              class={mask === 255 ? "bus-byte lit" : mask === 0 ? "bus-byte" : "bus-byte part"}
              data-lit={mask}
              title={`byte ${byte}`}
              {...lighting(lit, { type: "byte", byte })}
            >
              <span class="bus-hex">{hex}</span>
              <span class="bus-bits" aria-hidden={!isSplit(spans, byte)}>
                {isSplit(spans, byte) && <Bits value={value} mask={mask} />}
              </span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

/** Scrolls the list alone: the page stays where the pointer is. */
function showFirstLit(list: HTMLElement | null): void {
  const first = list?.querySelector<HTMLElement>("[data-lit]:not([data-lit='0'])");
  if (!list || !first) return;
  const top = first.offsetTop - list.offsetTop;
  const isHidden = top < list.scrollTop || top + first.offsetHeight > list.scrollTop + list.clientHeight;
  if (isHidden) list.scrollTop = top;
}

/** The bits of a byte, the highest first. */
function Bits({ value, mask }: { value: number; mask: number }) {
  return (
    <>
      {[7, 6, 5, 4, 3, 2, 1, 0].map((bit) => (
        <i key={bit} class={mask & (1 << bit) ? "lit" : ""}>{(value >> bit) & 1}</i>
      ))}
    </>
  );
}

import { type Signal, signal } from "@preact/signals";
import type { PgnDetails } from "@vessel/gateway/client";
import type { BoatStore } from "../../shell/boat_store.ts";
import { linkTo } from "../../shell/router.ts";
import type { Line } from "./charts.ts";
import { type HistoryPlace, placeText, readPlace, type Span } from "./place.ts";
import { splitField } from "./quantity_fields.ts";
import { type KeyAction, marked, moved, zoomed } from "./zoom.ts";

/** Steps of zoom that follow each other faster are one step back, milliseconds. */
const ONE_STEP_MS = 1500;

/** What the charts of a view share: cursor, zoom, hidden lines, descriptions of PGNs. */
export class HistoryState {
  readonly boat: BoatStore;
  readonly cursorMs: Signal<number | undefined> = signal<number | undefined>(undefined);
  /** While two fingers are down: the span that they zoom to. */
  readonly preview: Signal<Span | undefined> = signal<Span | undefined>(undefined);
  /** Ids of lines that are not shown. */
  readonly hidden: Signal<ReadonlySet<string>> = signal<ReadonlySet<string>>(new Set());
  readonly details: Signal<ReadonlyMap<number, PgnDetails | undefined>> = signal<
    ReadonlyMap<number, PgnDetails | undefined>
  >(new Map());
  /** How many steps of zoom the browser can go back. */
  readonly steps: Signal<number> = signal(0);
  #place: HistoryPlace = readPlace(undefined);
  /** Of each step of zoom: the place before it. */
  #before: string[] = [];
  #zoomedAtMs = -Infinity;

  constructor(boat: BoatStore) {
    this.boat = boat;
  }

  /** The URL names another place. */
  arrived(rest: string | undefined): void {
    this.#place = readPlace(rest);
    this.preview.value = undefined;
    const at = this.#before.lastIndexOf(placeText(this.#place));
    if (at >= 0) this.#before.length = at;
    this.steps.value = this.#before.length;
  }

  /** Shows something else. */
  go(place: HistoryPlace, { isReplaced = false }: { isReplaced?: boolean } = {}): void {
    const address = `${linkTo("history", { boat: this.boat.id })}/${placeText(place)}`;
    if (isReplaced) location.replace(address);
    else location.hash = address;
  }

  /** Zooms to a span; quick steps after each other are one. */
  zoomTo(span: Span): void {
    const nowMs = performance.now();
    const isReplaced = nowMs - this.#zoomedAtMs < ONE_STEP_MS && this.#before.length > 0;
    this.#zoomedAtMs = nowMs;
    if (!isReplaced) this.#before.push(placeText(this.#place));
    this.go({ ...this.#place, range: { type: "span", span } }, { isReplaced });
  }

  /** Zooms to what somebody marked. */
  mark(fromMs: number, toMs: number): void {
    this.zoomTo(marked(fromMs, toMs, this.boat.clock.nowMs));
  }

  /** Ends a pinch. */
  takePreview(): void {
    const span = this.preview.value;
    if (span) this.zoomTo(span);
  }

  /** Undoes a step of zoom. */
  back(): void {
    if (this.#before.length > 0) history.back();
  }

  /** Does what a key or button asks for. */
  act(action: KeyAction, { span, bucketMs }: { span: Span; bucketMs: number }): void {
    const { nowMs } = this.boat.clock;
    const { fromMs, toMs } = this.preview.value ?? span;
    switch (action.type) {
      case "cursor": {
        const atMs = (this.cursorMs.value ?? toMs) + action.steps * bucketMs;
        this.cursorMs.value = Math.min(toMs, Math.max(fromMs, atMs));
        break;
      }
      case "zoom": {
        const cursorMs = this.cursorMs.value;
        const isIn = cursorMs !== undefined && cursorMs >= fromMs && cursorMs <= toMs;
        // A range that ends now is of interest at its end.
        const atMs = isIn ? cursorMs : this.#place.range.type === "last" ? toMs : undefined;
        this.#show(zoomed({ fromMs, toMs }, { factor: action.factor, atMs, nowMs }));
        break;
      }
      case "move":
        this.#show(moved({ fromMs, toMs }, { part: action.part, nowMs }));
        break;
      case "back":
        this.back();
    }
  }

  /** Hides or shows a line. */
  toggle(id: string): void {
    const hidden = new Set(this.hidden.value);
    if (!hidden.delete(id)) hidden.add(id);
    this.hidden.value = hidden;
  }

  /** Description of a line's PGN, asked for when it is first needed. */
  detailsOf({ series: { field } }: Line): PgnDetails | undefined {
    const pgn = Number(splitField(field)[0]);
    const known = this.details.value;
    if (!known.has(pgn)) {
      void this.boat.describe(pgn).then((details) => {
        if (!this.details.value.has(pgn)) this.details.value = new Map(this.details.value).set(pgn, details);
      });
    }
    return known.get(pgn);
  }

  /** The charts follow at once, the values when the server has answered. */
  #show(span: Span): void {
    this.zoomTo(span);
    this.preview.value = span;
  }
}

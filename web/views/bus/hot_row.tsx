import type { ClientFrame } from "@vessel/gateway/client";
import { write } from "../../shell/painter.ts";
import { units } from "../../shell/preferences.ts";
import { decodedTexts, plainText } from "../plain_text.ts";
import type { BusMonitor } from "./monitor.ts";

/** Cells of a row, in their order. */
export const CELLS = ["pgn", "name", "source", "rate", "age", "text"] as const;
export type Cell = (typeof CELLS)[number];

/** Most characters of a message in a row: what is wider is cut off. */
const MAX_CHARACTERS = 300;

/** The text nodes of a row. They are written without a new rendering, and may be written before they are in the document. */
export class Cells {
  readonly #texts = new Map<Cell, Text>(CELLS.map((cell) => [cell, document.createTextNode("")]));
  #frame: ClientFrame | undefined;
  #system: string | undefined;

  /** For `ref` of the element of a cell. */
  ref(cell: Cell): (element: HTMLElement | null) => void {
    return (element) => {
      const text = this.#texts.get(cell);
      if (element && text && text.parentNode !== element) element.append(text);
    };
  }

  set(cell: Cell, text: string): void {
    const node = this.#texts.get(cell);
    if (node) write(node, text);
  }

  /** Writes what depends on the message alone, if it is another one. */
  show(frame: ClientFrame, monitor: BusMonitor): void {
    if (frame === this.#frame && units.peek() === this.#system) return;
    this.#frame = frame;
    this.#system = units.peek();
    this.set("pgn", String(frame.pgn));
    this.set("name", monitor.catalogue.nameOf(frame.pgn));
    this.set("source", sourceText(frame, monitor));
    this.set("text", messageText(frame, monitor));
  }
}

/** Address and model of the sender. */
export function sourceText({ bus, src, dst }: ClientFrame, monitor: BusMonitor): string {
  const model = monitor.deviceAt(bus, src)?.model_id?.trim();
  const to = dst === 255 ? "" : ` to ${dst}`;
  return `${bus === undefined ? "" : `${bus} `}${src}${to}${model ? ` ${plainText(model)}` : ""}`;
}

function messageText({ pgn, data, decoded }: ClientFrame, monitor: BusMonitor): string {
  if (!decoded) return data.slice(0, MAX_CHARACTERS);
  const details = monitor.catalogue.describe(pgn);
  // The sequence id says nothing without the other messages that have the same one.
  const texts = decodedTexts(decoded, { details, system: units.peek() }).filter(({ name }) => name !== "sid");
  return texts.map(({ name, text }) => `${name.replaceAll("_", " ")} ${text}`).join(", ").slice(0, MAX_CHARACTERS);
}

/** The content of a row: a button, so that it is reached by the keyboard. */
export function RowButton({ cells, isSelected, onSelect }: {
  cells: Cells;
  isSelected: boolean;
  onSelect: () => void;
}) {
  return (
    <button type="button" class="bus-row" aria-pressed={isSelected} onClick={onSelect}>
      {CELLS.map((cell) => <span key={cell} class={`bus-${cell}`} ref={cells.ref(cell)} />)}
    </button>
  );
}

/** Titles of the columns. */
export function Columns({ fourth, fifth }: { fourth: string; fifth: string }) {
  const titles = ["PGN", "Message", "Source", fourth, fifth, "Fields"];
  return (
    <div class="bus-row bus-columns" aria-hidden="true">
      {CELLS.map((cell, index) => <span key={cell} class={`bus-${cell}`}>{titles[index]}</span>)}
    </div>
  );
}

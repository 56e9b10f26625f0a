import type { PgnDetails } from "@vessel/gateway/client";
import type { QuantityRow, QuantityValue } from "@vessel/gateway/quantities";
import type { UnitSystem } from "@vessel/gateway/units";
import type { BoatStore } from "../../shell/boat_store.ts";
import { write } from "../../shell/painter.ts";
import { ageText } from "../plain_text.ts";
import type { ShownQuantity } from "./model.ts";
import { tileLabel, valueParts, valueText } from "./tiles.ts";

/** Parts of a tile with texts of their own. */
export const TILE_PARTS = ["label", "value", "unit", "age", "sources"] as const;
export type TilePart = (typeof TILE_PARTS)[number];

/** The texts of all tiles: text nodes that are written without a new rendering. */
export class TileTexts {
  readonly #boat: BoatStore;
  readonly #tiles = new Map<string, { element: HTMLElement; nodes: ReadonlyMap<TilePart, Text> }>();
  readonly #details = new Map<number, PgnDetails | undefined>();

  constructor(boat: BoatStore) {
    this.#boat = boat;
  }

  /** Fills the element of a tile with text nodes. */
  add(key: string, element: HTMLElement): void {
    if (this.#tiles.get(key)?.element === element) return;
    const nodes = new Map(TILE_PARTS.flatMap((part): [TilePart, Text][] => {
      const text = document.createTextNode("");
      const holder = element.querySelector(`[data-part="${part}"]`);
      holder?.append(text);
      return holder ? [[part, text]] : [];
    }));
    this.#tiles.set(key, { element, nodes });
  }

  remove(key: string): void {
    this.#tiles.delete(key);
  }

  /** Writes what has changed. */
  paint(list: readonly ShownQuantity[], { system, isLost }: { system: UnitSystem; isLost: boolean }): void {
    for (const quantity of list) {
      const { key, sources: [source], sources } = quantity;
      const tile = this.#tiles.get(key);
      if (!tile || !source) continue;
      const set = (part: TilePart, text: string) => {
        const node = tile.nodes.get(part);
        if (node) write(node, text);
      };
      const { value, unit } = valueParts(this.textOf(quantity, { value: source.value, system }));
      const age = ageText(source.ageMs);
      set("label", tileLabel(quantity));
      set("value", value);
      set("unit", unit);
      set("age", source.isStale ? `stale ${age}` : age);
      set("sources", sources.length > 1 ? `${sources.length} sources` : "");
      tile.element.classList.toggle("now-stale", source.isStale || isLost);
      tile.element.classList.toggle("now-words", unit === "" && /[a-z]/i.test(value));
    }
  }

  /** Text of a value in the preferred unit. */
  textOf(
    { key, row }: { key: string; row: QuantityRow },
    { value, system }: { value: QuantityValue; system: UnitSystem },
  ): string {
    return valueText({ key, row }, { value, details: this.#detailsOf(row.pgn), system });
  }

  /** The description of a PGN; it is asked for once, and until it is here values are written without it. */
  #detailsOf(pgn: number): PgnDetails | undefined {
    if (!this.#details.has(pgn)) {
      this.#details.set(pgn, undefined);
      void this.#boat.describe(pgn).then((details) => this.#details.set(pgn, details));
    }
    return this.#details.get(pgn);
  }
}

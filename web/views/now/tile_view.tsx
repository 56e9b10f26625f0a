import { useLayoutEffect, useRef } from "preact/hooks";
import type { TileTexts } from "./tile_texts.ts";

/** Tiles in a grid; a tap opens the sources of one. */
export function Tiles({ keys, texts, onOpen, onMount }: {
  keys: readonly string[];
  texts: TileTexts;
  onOpen: (key: string) => void;
  onMount: () => void;
}) {
  // Before the browser shows them: no tile is seen empty.
  useLayoutEffect(onMount, [keys.join()]);
  return (
    <ul class="now-tiles">
      {keys.map((key) => (
        <li key={key} class={isWide(key) ? "now-wide" : ""}>
          <Tile name={key} texts={texts} onOpen={onOpen} />
        </li>
      ))}
    </ul>
  );
}

/** A button whose texts are written by {@linkcode TileTexts}. */
function Tile({ name, texts, onOpen }: { name: string; texts: TileTexts; onOpen: (key: string) => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (button.current) texts.add(name, button.current);
    return () => texts.remove(name);
  }, [name, texts]);
  return (
    <button
      ref={button}
      type="button"
      class="now-tile"
      data-key={name}
      aria-haspopup="dialog"
      onClick={() => onOpen(name)}
    >
      <span class="now-label" data-part="label" />
      <span class="now-reading">
        <span class="now-value" data-part="value" /> <span class="now-unit" data-part="unit" />
      </span>
      <span class="now-foot">
        <span class="now-age" data-part="age" /> <span class="now-sources" data-part="sources" />
      </span>
    </button>
  );
}

function isWide(key: string): boolean {
  return key === "position" || key === "depth";
}

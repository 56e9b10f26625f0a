import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { theme } from "../../shell/preferences.ts";
import { dashOf, LINE_COLOURS } from "./dashes.ts";
import type { Palette } from "./plot.ts";

/** The colours of the page, read again when they change. */
export function usePalette(): Signal<Palette> {
  const palette = useSignal(readPalette());
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const read = () => palette.value = readPalette();
    const stop = theme.subscribe(() => queueMicrotask(read));
    media.addEventListener("change", read);
    return () => {
      stop();
      media.removeEventListener("change", read);
    };
  }, []);
  return palette;
}

function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"),
    grid: colour("line"),
    lines: Array.from({ length: LINE_COLOURS }, (_, index) => colour(`series-${index + 1}`)),
    dashOf,
  };
}

import { effect, type Signal, signal } from "@preact/signals";
import { UNIT_SYSTEMS, type UnitSystem } from "@vessel/gateway/units";

/** Colours: those of the system, or a fixed set; `red` keeps the eyes used to the dark. */
export const THEMES = ["auto", "day", "night", "red"] as const;
export type Theme = (typeof THEMES)[number];

/** Units of all values. */
export const units: Signal<UnitSystem> = kept("units", UNIT_SYSTEMS, "nautical");
/** Colours of the page. */
export const theme: Signal<Theme> = kept("theme", THEMES, "auto");

/** Keeps the document's colours equal to the chosen theme. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

/** A choice that this browser remembers, where it is allowed to. */
function kept<Choice extends string>(name: string, choices: readonly Choice[], first: Choice): Signal<Choice> {
  const key = `vbg.${name}`;
  const before = readKept(key);
  const choice = signal(choices.find((each) => each === before) ?? first);
  effect(() => {
    const { value } = choice;
    try {
      localStorage.setItem(key, value);
    } catch {
      // Storage is off: the choice holds until the page is closed.
    }
  });
  return choice;
}

function readKept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

import type { Environment } from "../settings/options.ts";
import { type Output, visible } from "./terminal.ts";

const DEFAULT_ROWS = 24;
const ALTERNATE_SCREEN = "\u001b[?1049h\u001b[?25l";
const NORMAL_SCREEN = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const ERASE_LINE_END = "\u001b[K";
const ERASE_BELOW = "\u001b[J";

/** The meaning of a key. */
export type Key = "quit" | "next" | "previous" | "up" | "down" | "page-up" | "page-down" | { tab: number };

const KEYS: Readonly<Record<string, Key>> = {
  q: "quit",
  Q: "quit",
  "\u0003": "quit",
  "\t": "next",
  "\u001b[C": "next",
  "\u001b[Z": "previous",
  "\u001b[D": "previous",
  k: "up",
  "\u001b[A": "up",
  j: "down",
  "\u001b[B": "down",
  "\u001b[5~": "page-up",
  "\u001b[6~": "page-down",
  " ": "page-down",
  "1": { tab: 0 },
  "2": { tab: 1 },
  "3": { tab: 2 },
};

/** Lines of the terminal: `LINES`, else its reported size, else 24. */
export function rowsOf({ LINES }: Environment): number {
  const given = Number(LINES);
  if (Number.isInteger(given) && given > 0) return given;
  try {
    return Deno.consoleSize().rows || DEFAULT_ROWS;
  } catch {
    // No terminal reports its size.
    return DEFAULT_ROWS;
  }
}

/** Decodes keys from terminal input. Ignores unknown ones. */
export function keysOf(text: string): Key[] {
  // deno-lint-ignore no-control-regex -- escape sequences begin with one
  const presses = text.match(/\u001b\[[\d;]*[A-Za-z~]|[^]/g) ?? [];
  return presses.flatMap((press) => Object.hasOwn(KEYS, press) ? [KEYS[press] ?? []].flat() : []);
}

/** A full-screen view on a terminal. The terminal is restored however the process ends. */
export class Screen {
  readonly #output: Output;
  /** Whether the terminal is in raw mode: keys arrive at once, without echo. */
  readonly #isRaw: boolean;
  readonly #onExit = () => this.#restore((text) => void Deno.stdout.writeSync(new TextEncoder().encode(text)));
  #isOpen = true;

  private constructor(output: Output, isRaw: boolean) {
    this.#output = output;
    this.#isRaw = isRaw;
  }

  /** @param isRaw standard input is a terminal: read single keys from it */
  static open(output: Output, { isRaw }: { isRaw: boolean }): Screen {
    const screen = new Screen(output, isRaw);
    globalThis.addEventListener("unload", screen.#onExit);
    if (isRaw) Deno.stdin.setRaw(true);
    void output.control(ALTERNATE_SCREEN);
    return screen;
  }

  /** Draws the lines on an otherwise empty screen. */
  async draw(lines: readonly string[]): Promise<void> {
    if (!this.#isOpen) return;
    const text = lines.map((line) => visible(line) + ERASE_LINE_END).join("\r\n");
    await this.#output.control(HOME + text + ERASE_BELOW);
    await this.#output.flush();
  }

  /** Restores the terminal. */
  async close(): Promise<void> {
    globalThis.removeEventListener("unload", this.#onExit);
    this.#restore((text) => void this.#output.control(text));
    await this.#output.flush();
  }

  #restore(write: (text: string) => void): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      if (this.#isRaw) Deno.stdin.setRaw(false);
    } catch {
      // The terminal is closed: there is nothing to restore.
    }
    write(NORMAL_SCREEN);
  }
}

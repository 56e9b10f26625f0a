/** Cursor to the first column, and the line erased. */
const ERASE_LINE = "\r\u001b[K";
const encoder = new TextEncoder();

/** A line on a terminal that is redrawn in place, such as a progress bar. Whatever is printed next replaces it. */
export class StatusLine {
  readonly #write: (text: string) => void;
  #isShown = false;

  /** @param write writes at once: text that follows must not overtake it */
  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Draws the line; an empty text removes it. */
  show(text: string): void {
    if (text === "" && !this.#isShown) return;
    this.#isShown = text !== "";
    this.#write(ERASE_LINE + text);
  }

  /** Removes the line. */
  clear(): void {
    this.show("");
  }
}

let ofProcess: StatusLine | undefined;

/** The status line of this process's terminal, on standard error. The end of the process removes it. */
export function processStatusLine(): StatusLine {
  if (ofProcess) return ofProcess;
  const line = new StatusLine((text) => {
    try {
      Deno.stderr.writeSync(encoder.encode(text));
    } catch {
      // The terminal is closed; the next write reports it.
    }
  });
  globalThis.addEventListener("unload", () => line.clear());
  return ofProcess = line;
}

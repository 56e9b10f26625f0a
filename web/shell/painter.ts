/** Paints once per animation frame, however often it is asked. */
export class Painter {
  readonly #paint: (timeMs: number) => void;
  #frame: number | undefined;

  constructor(paint: (timeMs: number) => void) {
    this.#paint = paint;
  }

  /** Paints with the next animation frame. */
  ask(): void {
    this.#frame ??= requestAnimationFrame((timeMs) => {
      this.#frame = undefined;
      this.#paint(timeMs);
    });
  }

  /** Paints no more. */
  stop(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
  }
}

/** Writes a text only where it differs: even an equal text costs the browser a new layout. */
export function write(node: Text, text: string): void {
  if (node.data !== text) node.data = text;
}

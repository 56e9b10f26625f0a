/**
 * A journal whose tails hang: each is a FIFO that nobody reads, so opening it blocks as a disk that hangs does. To be made
 * before the journal has opened its tails: before its first frame.
 */
export class HungTails {
  readonly #paths: readonly string[];

  private constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** @param directory the journal's */
  static make(directory: string): HungTails {
    const paths = ["tail-a", "tail-b"].map((name) => `${directory}/${name}`);
    const { success, stderr } = new Deno.Command("mkfifo", { args: paths }).outputSync();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return new HungTails(paths);
  }

  /** The disk works again: what hung fails now, and the next try finds no FIFO. */
  release(): void {
    for (const path of this.#paths) {
      // For reading and writing, as that does not block.
      using _reader = Deno.openSync(path, { read: true, write: true });
      Deno.removeSync(path);
    }
  }
}

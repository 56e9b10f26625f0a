/** Commands of docs/operate.md, by the heading that they stand under. */
export class OperatePage {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static async read(): Promise<OperatePage> {
    return new OperatePage(await Deno.readTextFile(new URL("../../docs/operate.md", import.meta.url)));
  }

  /** Lines of all blocks of commands under a heading, in order. */
  commands(heading: string): string[] {
    const [, section] = this.#text.split(`\n## ${heading}\n`);
    if (section === undefined) throw new Error(`docs/operate.md has no heading "${heading}"`);
    const blocks = section.replace(/\n## [^]*/, "").matchAll(/^```sh\n([^]*?)^```$/gm);
    return Array.from(blocks, ([, lines = ""]) => lines.trimEnd().split("\n")).flat();
  }
}

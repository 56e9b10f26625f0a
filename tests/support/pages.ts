const ROOT = new URL("../../", import.meta.url);

/** First words of a block of commands that no test can run; the reason follows. */
export const NOT_RUN = "# not run by tests: ";

/** A title, or a block of code, which may be indented. */
const ITEM = /^#+ (.*)$|^( *)```(\w*)\n([^]*?)^\2```$/gm;

/** A block of code of a page. */
export interface CodeBlock {
  /** Path of the page, such as `docs/guide-boat.md`. */
  page: string;
  /** Title that it stands under. */
  heading: string;
  /** Such as `sh`; empty: none is given. */
  language: string;
  code: string;
}

/** Pages written by hand: README and the others of the root, and all of docs but those that `deno task docs` prints. */
export async function handWrittenPages(): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["", "docs/", "docs/adr/"]) {
    for await (const { name, isFile } of Deno.readDir(new URL(folder, ROOT))) {
      const path = `${folder}${name}`;
      if (!isFile || !name.endsWith(".md")) continue;
      if (!(await Deno.readTextFile(new URL(path, ROOT))).startsWith("<!-- Printed by")) found.push(path);
    }
  }
  return found.sort();
}

/** All blocks of code of a page, in order. */
export async function blocksOf(page: string): Promise<CodeBlock[]> {
  const text = await Deno.readTextFile(new URL(page, ROOT));
  const blocks: CodeBlock[] = [];
  let heading = "";
  for (const [, title, indent = "", language = "", code = ""] of text.matchAll(ITEM)) {
    if (title !== undefined) heading = title;
    else blocks.push({ page, heading, language, code: code.replaceAll(new RegExp(`^${indent}`, "gm"), "") });
  }
  return blocks;
}

/** The first block of code in a language that a page has after some words. */
export async function blockAfter(
  words: string,
  { page, language }: { page: string; language: string },
): Promise<string> {
  const text = await Deno.readTextFile(new URL(page, ROOT));
  const from = text.indexOf(words);
  if (from < 0) throw new Error(`${page} does not say "${words}"`);
  for (const [, found, code] of text.slice(from).matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    if (found === language && !code?.startsWith(NOT_RUN)) return code ?? "";
  }
  throw new Error(`${page} has no block of "${language}" after "${words}"`);
}

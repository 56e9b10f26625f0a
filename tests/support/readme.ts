import { fileURLToPath } from "node:url";

const README = fileURLToPath(new URL("../../README.md", import.meta.url));

/** The first block of code in a language that README has after some words. */
export async function blockAfter(words: string, language: string): Promise<string> {
  const text = await Deno.readTextFile(README);
  const from = text.indexOf(words);
  if (from < 0) throw new Error(`README does not say "${words}"`);
  for (const [, found, code] of text.slice(from).matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    if (found === language) return code ?? "";
  }
  throw new Error(`README has no block of "${language}" after "${words}"`);
}

/**
 * Prints the reference pages of docs/ from the programs' own tables: `deno task docs`.
 *
 * @module
 */
import { boatProgram } from "../cli/boat.ts";
import { formatReference } from "../cli/help.ts";

/** Every page, by its place under the root of the project. */
export const pages: Record<string, () => string> = {
  "docs/boat.md": () => formatReference(boatProgram),
};

if (import.meta.main) {
  for (const [path, print] of Object.entries(pages)) {
    const place = new URL(`../${path}`, import.meta.url);
    await Deno.mkdir(new URL(".", place), { recursive: true });
    await Deno.writeTextFile(place, print());
  }
}

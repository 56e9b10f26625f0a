/**
 * Prints the reference pages of docs/ from the programs' own tables: `deno task docs`.
 *
 * @module
 */
import { boatProgram } from "../cli/boat.ts";
import { cloud } from "../cli/cloud.ts";
import { formatReference } from "../cli/program/help.ts";
import { vbg } from "../cli/vbg.ts";
import { commandsPage } from "./commands_page.ts";
import { decodingPage } from "./decoding_page.ts";
import { limitsPage } from "./limits_page.ts";

/** Every page, by its place under the root of the project. */
export const pages: Record<string, () => string | Promise<string>> = {
  "docs/boat.md": () => formatReference(boatProgram),
  "docs/decoding.md": decodingPage,
  "docs/limits.md": limitsPage,
  "docs/vbg-cloud.md": () => commandsPage(cloud, "For whoever runs a cloud that boats replicate to."),
  "docs/vbg.md": () =>
    commandsPage(vbg, "The client of the Vessel Bus Gateway: one command for each thing to do with a boat's data."),
};

if (import.meta.main) {
  let stale = false;
  for (const [path, print] of Object.entries(pages)) {
    const place = new URL(`../${path}`, import.meta.url);
    const page = await print();
    if (Deno.args.includes("--check")) {
      const committed = await Deno.readTextFile(place).catch(() => "");
      if (committed === page) continue;
      console.error(`${path} is stale: run deno task docs`);
      stale = true;
    } else {
      await Deno.mkdir(new URL(".", place), { recursive: true });
      await Deno.writeTextFile(place, page);
      console.log(`wrote ${path}`);
    }
  }
  if (stale) Deno.exit(1);
}

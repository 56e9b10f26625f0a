import { join } from "node:path";
import { packageFolder, type Page } from "./browser.ts";

const PACKAGE = "axe-core";

/** Whether the package is installed that looks for faults of accessibility. */
export function hasAxe(): boolean {
  return packageFolder(PACKAGE) !== undefined;
}

/** Serious and critical faults of accessibility that axe-core finds in a page, with the elements that have them. */
export async function seriousFaults(page: Page): Promise<string[]> {
  const script = await Deno.readTextFile(join(packageFolder(PACKAGE) ?? "", "axe.min.js"));
  // As a function of its own: a page with trusted types takes no script elements.
  await page.evaluate(`"axe" in window || (() => {${script}})()`);
  const found = await page.evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.slice(0, 5).map(({ html }) => html.slice(0, 200)).join(" | ")))`);
  return Array.isArray(found) ? found.map(String) : ["axe-core gave no result"];
}

import assert from "node:assert/strict";
import { hasAxe, seriousFaults } from "../support/axe.ts";
import { Browser, BROWSER_NEEDS, type OpenedPage, openPage, type Page, type Screen } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { environment, needs, SLOW } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

const NEEDS = needs({
  ...BROWSER_NEEDS,
  others: { ...BROWSER_NEEDS.others, 'npm package "axe-core"': hasAxe() },
  extras: SLOW,
});
const IS_FULL = environment("VBG_TEST_FULL") !== undefined;

const VIEWS = ["now", "devices", "bus", "history", "system"];
const BOAT_PAGES = [...VIEWS.map((view) => `#/${view}`), "docs"];
/** The views of a boat are the same ones in a cloud: everyday, those that ask its own routes the most. */
const CLOUD_BOAT_VIEWS = IS_FULL ? VIEWS : ["now", "system"];
const CLOUD_PAGES = ["#/fleet", "#/add-boat", ...CLOUD_BOAT_VIEWS.map((view) => `#/boats/demo/${view}`), "#/api"];

const SCREENS = [
  { width: 390, height: 844, colorScheme: "light" },
  { width: 1280, height: 800, colorScheme: "dark" },
  { width: 390, height: 844, colorScheme: "dark" },
  { width: 1280, height: 800, colorScheme: "light" },
] as const satisfies readonly Screen[];

/** Text of the page's content, without what still loads. */
async function contentOf(page: Page): Promise<string> {
  return String(await page.evaluate(`document.querySelector("#content")?.innerText ?? ""`));
}

/** Watches the line of frames until frames were missing and none is. Gives what it said. */
async function watchOutage(browser: Browser, url: string): Promise<{ during: string; opened: OpenedPage }> {
  const opened = await openPage(browser, `${url}/#/system`);
  const says = async (pattern: RegExp) => {
    const [text = ""] = await opened.page.locator(".proof-line").allTextContents();
    return pattern.test(text) && text;
  };
  const during = await eventually("missing frames", () => says(/Missing ▲ [1-9]/));
  await eventually("no missing frames", () => says(/Missing ✓ 0/));
  return { during, opened };
}

Deno.test(
  "every view of boat and cloud shows its content on phone and desktop, by day and night, with no console message, no request elsewhere and no serious fault of accessibility",
  NEEDS,
  async (t) => {
    await using demo = await TestProgram.start("demo", () => ["-port", "0", "-cloud-port", "0", "-outage"]);
    const [, boat = "", cloud = ""] = await eventually(
      "the addresses",
      () => /open (http\S+)\/ in a browser; the cloud of this boat is (http\S+)\//.exec(demo.log),
      { deadlineMs: 60_000 },
    );
    await using browser = await Browser.start();
    const outage = watchOutage(browser, boat);
    outage.catch(() => {});
    let count = 0;
    for (const [server, paths] of [[boat, BOAT_PAGES], [cloud, CLOUD_PAGES]] as const) {
      const { page, messages, foreign } = await openPage(browser, server);
      for (const path of paths) {
        // Every view on one of the screens, all of them in the full run.
        const screens = IS_FULL ? SCREENS : [SCREENS[count++ % SCREENS.length] ?? SCREENS[0]];
        for (const { width, height, colorScheme } of screens) {
          await t.step(
            `${server === boat ? "boat" : "cloud"} ${path} ${width} × ${height} ${colorScheme}`,
            async () => {
              await page.setViewportSize({ width, height });
              await page.emulateMedia({ colorScheme });
              await page.goto(`${server}/${path}`);
              // Another fragment alone loads nothing.
              await page.reload();
              await eventually("content", async () => (await contentOf(page)).length > 40);
              assert.deepEqual(await seriousFaults(page), []);
              const cut = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
              assert.equal(cut, 0, "nothing is wider than the screen");
              assert.deepEqual([messages, foreign], [[], []]);
            },
          );
        }
      }
      await page.close();
    }
    await t.step("the demo's outage is seen in the line of frames, with its reason, and is healed", async () => {
      const { during, opened: { messages, foreign } } = await outage;
      assert.match(during, /no connection to the cloud/);
      assert.deepEqual([messages, foreign], [[], []]);
    });
  },
);

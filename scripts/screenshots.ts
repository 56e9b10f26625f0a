// Takes the pictures of the page that README shows, from the demo, with chromium. `--all DIR` takes every view, on phone and
// desktop, by day, night and red night, for looking at.
import { Browser, type Page } from "../tests/support/browser.ts";
import { eventually } from "../tests/support/eventually.ts";
import { TestProgram } from "../tests/support/program.ts";

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
/** The line of frames with its details. */
const OUTAGE = { width: 800, height: 250 };
const VIEWS = ["now", "devices", "bus", "history/10m/depth/sog/wind.apparent.speed", "system"];
const THEMES = ["day", "night", "red"];
/** Time for values to come and for the plot to be drawn. */
const SETTLE_MS = 4000;
/** Own track and charts need some minutes of data. */
const SAIL_MS = 150_000;

async function opened(browser: Browser, url: string, { width, height, theme }: {
  width: number;
  height: number;
  theme: string;
}): Promise<Page> {
  const page = await browser.newPage();
  await page.setViewportSize({ width, height });
  await page.goto(url);
  await page.evaluate(`localStorage.setItem("vbg.theme", ${JSON.stringify(theme)})`);
  await page.reload();
  return page;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function shot(page: Page, path: string): Promise<void> {
  await pause(SETTLE_MS);
  await page.screenshot({ path });
}

/** Two pictures of the line of frames: while the link is cut, and afterwards. */
async function takeOutage(browser: Browser, boat: string): Promise<void> {
  const page = await opened(browser, `${boat}/#/system`, { ...OUTAGE, theme: "day" });
  const says = (text: string) => async () =>
    (await page.locator(".proof-line").allTextContents()).some((line) => line.includes(text));
  await page.locator(".proof summary").click();
  await eventually("missing frames", says("▲"));
  // Most of the outage.
  await pause(12_000);
  await page.screenshot({ path: "docs/outage.png" });
  await eventually("no missing frames", says("✓"));
  await shot(page, "docs/outage-healed.png");
}

async function takeAll(browser: Browser, { boat, cloud, folder }: { boat: string; cloud: string; folder: string }) {
  await Deno.mkdir(folder, { recursive: true });
  // Until the journal has something.
  await pause(SETTLE_MS);
  const at = new Date().toISOString();
  const places = [
    ...VIEWS.map((view) => ["boat", `${boat}/#/${view}`]),
    ...["now", "devices"].map((view) => ["boat", `${boat}/#/${view}?at=${at}`]),
    ["boat", `${boat}/docs`],
    ...["fleet", "add-boat", "boats/demo/now", "boats/demo/system"].map((place) => ["cloud", `${cloud}/#/${place}`]),
  ];
  for (const [server = "", url = ""] of places) {
    for (const [name, size] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
      for (const theme of THEMES) {
        const page = await opened(browser, url, { ...size, theme });
        const view = url.replace(/\?.*/, "-then").replace(/.*#?\//, "").replaceAll(/\W/g, "-");
        const place = url.includes("history") ? "history" : view;
        await shot(page, `${folder}/${server}-${place}-${name}-${theme}.png`);
        await page.close();
      }
    }
  }
}

if (import.meta.main) {
  const [flag, folder] = Deno.args;
  await using demo = await TestProgram.start("demo", () => ["-port", "0", "-cloud-port", "0", "-outage"]);
  const [, boat = "", cloud = ""] = await eventually(
    "the addresses",
    () => /open (http\S+)\/ in a browser; the cloud of this boat is (http\S+)\//.exec(demo.log),
    { deadlineMs: 60_000 },
  );
  await using browser = await Browser.start();
  if (flag === "--all" && folder !== undefined) await takeAll(browser, { boat, cloud, folder });
  else {
    await takeOutage(browser, boat);
    await pause(SAIL_MS);
    await shot(await opened(browser, `${boat}/`, { ...PHONE, theme: "day" }), "docs/page-phone.png");
    await shot(await opened(browser, `${boat}/`, { ...DESKTOP, theme: "night" }), "docs/page-desktop.png");
  }
}

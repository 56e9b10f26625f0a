import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { buildName } from "../../src/frame/mod.ts";
import { Browser, hasPlaywright, type Page } from "../support/browser.ts";
import { TestBoat } from "../support/boat.ts";
import { parseCsv } from "../support/csv.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { message, nameFields, START_US } from "../support/messages.ts";
import { needs, SLOW } from "../support/needs.ts";
import { devicesOf } from "../support/series.ts";

const BROWSER = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["chromium"],
  others: { 'npm package "playwright-core"': hasPlaywright() },
  extras: SLOW,
});

const START_MS = START_US / 1000;
const SECOND = 1000;
const SOURCE = 35;
/** Seconds with a value; in between is a gap. */
const FED = [...Array(300).keys(), ...Array.from({ length: 200 }, (_, index) => 400 + index)];
/** Two values in each second, metres. */
const depthsAt = (second: number): [number, number] => [(500 + second % 97) / 100, (560 + second % 89) / 100];
const RANGE = "20260102T030405Z-20260102T031405Z";

/** Records depths, and starts a boat with the recording. */
async function withRecording(test: (boat: TestBoat) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const directory = `${folder}/journal`;
    await Deno.mkdir(directory);
    const devices = devicesOf({ [SOURCE]: buildName(nameFields({ uniqueNumber: 1, manufacturerCode: 135 })) });
    {
      await using journal = await TestJournal.open(directory, { devices: () => devices });
      const frames = FED.flatMap((second) =>
        depthsAt(second).map((metres, half) => {
          const cm = Math.round(metres * 100);
          const data = [1, cm & 0xff, cm >> 8, 0, 0, 0, 0, 255];
          return message({ pgn: 128267, src: SOURCE, data, monoMs: second * SECOND + half * 500 });
        })
      );
      journal.append(1, frames);
    }
    await using boat = await TestBoat.start({ stateDirectory: folder, journal: { directory, stateDirectory: folder } });
    await test(boat);
  });
}

async function opened(browser: Browser, url: string): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("console", (said) => errors.push(said.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url);
  return { page, errors };
}

const textOf = async (page: Page, selector: string) => (await page.locator(selector).allTextContents()).join(" ");

/** The CSV that the page makes, instead of a download. */
async function csvOf(page: Page): Promise<string[][]> {
  await page.evaluate(`(() => {
    window.saved = undefined;
    URL.createObjectURL = (blob) => (blob.text().then((text) => window.saved = text), "blob:none");
    HTMLAnchorElement.prototype.click = () => {};
  })()`);
  await page.locator("button:text-is('CSV')").click();
  return parseCsv(String(await eventually("the CSV", async () => await page.evaluate("window.saved"))));
}

/** The span that the URL names, milliseconds since 1970. */
async function spanOf(page: Page): Promise<[number, number]> {
  const times = String(await page.evaluate("location.hash")).match(/\d{8}T\d{6}(?:\.\d+)?Z/g) ?? [];
  const [from = NaN, to = NaN] = times.map((text) =>
    Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/, "$1-$2-$3T$4:$5:"))
  );
  return [from, to];
}

/** Time, minimum, average, maximum and number of values of each bucket, from what was fed. */
function fedBuckets([fromMs, toMs]: [number, number], bucketMs: number): unknown[][] {
  const buckets = new Map<number, number[]>();
  for (const second of FED) {
    for (const [half, metres] of depthsAt(second).entries()) {
      const ms = START_MS + second * SECOND + half * 500;
      if (ms < fromMs || ms > toMs) continue;
      const start = Math.floor(ms / bucketMs) * bucketMs;
      buckets.set(start, [...buckets.get(start) ?? [], metres]);
    }
  }
  return Array.from(buckets, ([start, values]) => [
    ...[new Date(start).toISOString(), Math.min(...values)],
    Number((values.reduce((sum, each) => sum + each, 0) / values.length).toFixed(9)),
    ...[Math.max(...values), values.length],
  ]);
}

function figuresOf([, ...rows]: string[][]): unknown[][] {
  return rows.map(([time, _field, _source, _unit, min, avg, max, _last, count]) => [
    ...[time, Number(min), Number(Number(avg).toFixed(9)), Number(max), Number(count)],
  ]);
}

const BUCKET_MS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, min: 60 * SECOND };

/** Width of the buckets that the page shows. */
async function bucketMsOf(page: Page): Promise<number> {
  const [, count = "", unit = ""] = /a point is ([\d.]+) (\w+)/.exec(await textOf(page, ".hist-state .num")) ?? [];
  return Number(count) * (BUCKET_MS[unit] ?? NaN);
}

Deno.test(
  "the history charts what was recorded, its CSV has the same figures, and zoom shows single seconds",
  BROWSER,
  () =>
    withRecording(async (boat) => {
      await using browser = await Browser.start({ hosts: [] });
      const { page, errors } = await opened(browser, `${boat.url}/#/now`);
      const scripts = async () =>
        String(await page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name).join(' ')"));
      await eventually("the page", async () => await page.locator("nav").count() === 1);
      assert.doesNotMatch(await scripts(), /assets\/plot/, "no charts, no uPlot");
      const route = `#/history/${RANGE}/128267.depth`;
      await page.evaluate(`location.hash = "${route}"`);
      await eventually("a chart", async () => await page.locator(".hist-canvas canvas").count() === 1);
      assert.match(await scripts(), /assets\/plot/);

      const wide = await bucketMsOf(page);
      const rows = await csvOf(page);
      assert.deepEqual(figuresOf(rows), fedBuckets([START_MS, START_MS + 600 * SECOND], wide));
      assert.deepEqual([...new Set(rows.slice(1).map(([, field, , unit]) => `${field} ${unit}`))], ["128267.depth m"]);

      // Keys zoom to a second, around the cursor.
      const canvas = page.locator(".hist-canvas");
      await canvas.press("Home");
      const length = async () => (await spanOf(page)).reduce((from, to) => to - from);
      for (let before = await length(); before > SECOND;) {
        await canvas.press("+");
        before = await eventually("a shorter range", async () => await length() < before && await length());
      }
      assert.equal(await length(), SECOND);
      let zoomed: unknown[][] = [];
      await eventually("the values of this second", async () => {
        const narrow = await bucketMsOf(page);
        if (Number.isNaN(narrow)) return false;
        zoomed = figuresOf(await csvOf(page));
        return isDeepStrictEqual(zoomed, fedBuckets(await spanOf(page), narrow));
      });
      assert.ok(zoomed.length > 0 && zoomed.every(([, , , , count]) => count === 1), "single values");

      // Slow steps of zoom are several steps back.
      for (let before = await length(); before < 600 * SECOND;) {
        await page.locator("button:text-is('Zoom back')").click();
        before = await eventually("a longer range", async () => await length() > before && await length());
      }
      await eventually("the whole range", async () => await bucketMsOf(page) === wide);
      await page.locator("summary:text-is('Values as a table')").click();
      await eventually("the newest row", async () => (await textOf(page, ".hist-table td")).includes(" m"));
      assert.deepEqual(errors, []);
    }),
);

Deno.test("the history says in words that nothing is recorded, and that there is no journal", BROWSER, async () => {
  await using browser = await Browser.start({ hosts: [] });
  await withRecording(async (boat) => {
    const { page, errors } = await opened(browser, `${boat.url}/#/history/1h/depth`);
    const says = (words: string) => async () => (await textOf(page, "main")).includes(words);
    await eventually("words", says("Nothing recorded in this range: Depth below transducer"));
    await page.locator("[aria-label='Remove Depth below transducer']").click();
    await eventually("other words", says("Nothing is chosen"));
    await page.locator("#hist-search").fill("127508 voltage");
    await page.locator("#hist-results button:has-text('127508')").click();
    await eventually(
      "the field in the URL",
      async () => String(await page.evaluate("location.hash")) === "#/history/1h/127508.voltage",
    );
    assert.deepEqual(errors, []);
  });
  await using boat = await TestBoat.start();
  const { page } = await opened(browser, `${boat.url}/#/history`);
  await eventually("the reason", async () => (await textOf(page, "main")).includes("No journal: Recording is off"));
});

Deno.test("/docs lists every path of the description, and shows the reply to a request", BROWSER, async () => {
  await using boat = await TestBoat.start();
  await using browser = await Browser.start({ hosts: [] });
  const { page, errors } = await opened(browser, `${boat.url}/docs`);
  const { paths } = await boat.get<{ paths: Record<string, object> }>("/openapi.json");
  await eventually("the list", async () => await page.locator(".api-path").count() > 0);
  const shown = await page.locator(".api-path").allTextContents();
  assert.deepEqual([...new Set(shown)].sort(), Object.keys(paths).sort());
  await page.locator("#api-search").fill("/livez");
  await page.locator(".api-item summary").click();
  await page.locator("button:text-is('Try it')").click();
  await eventually("the reply", async () => (await textOf(page, ".api-item")).includes("200 OK"));
  assert.deepEqual(errors, []);
});

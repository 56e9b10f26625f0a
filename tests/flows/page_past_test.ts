import assert from "node:assert/strict";
import { formatName } from "../../src/frame/mod.ts";
import { encode, type Fields } from "../../src/pgn/mod.ts";
import { CloudServer } from "../http/cloud_server.ts";
import { hasAxe, seriousFaults } from "../support/axe.ts";
import { TestBoat } from "../support/boat.ts";
import { Browser, BROWSER_NEEDS, openPage, type Page } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const NEEDS = needs({
  ...BROWSER_NEEDS,
  others: { ...BROWSER_NEEDS.others, 'npm package "axe-core"': hasAxe() },
});

const MINUTE_MS = 60_000;
const [SOUNDER, TANKS, LATE, AIS] = [35, 36, 37, 38];
/** Live depth, metres; those that were recorded are smaller. */
const LIVE_DEPTH = 88;
const SHIP = 211000001;
const KIEL = { latitude: 54.5, longitude: 10.3 };

const textOf = async (page: Page, selector: string) => (await page.locator(selector).allTextContents()).join(" ");
const part = (page: Page, key: string, name = "value") => textOf(page, `[data-key="${key}"] [data-part="${name}"]`);
const hashOf = async (page: Page) => String(await page.evaluate("location.hash"));
const isoOf = (ms: number) => new Date(ms).toISOString().replace(".000", "");
/** Of a time without parts of a second. */
const bannerOf = (ms: number) =>
  `${isoOf(ms).replace("T", " ").replace("Z", "").replace(/:00$/, "")} UTC, from the journal`;
const wait = (page: Page, what: string, { key, value }: { key: string; value: string }) =>
  eventually(what, async () => await part(page, key) === value);

/** What a field for local time is filled with. */
function localText(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day}T${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}`;
}

/** A recording of some minutes; the depth in metres is the number of the minute, and the third has one more device. */
async function record(folder: string): Promise<{ minutesMs: number[]; names: string[] }> {
  const clock = new FakeClock();
  const minutesMs: number[] = [];
  await using boat = await TestBoat.start({ ...journalOf(folder), clock });
  let count = 0;
  const say = (src: number, { pgn, ...fields }: { pgn: number } & Fields) => {
    boat.say({ pgn, src, data: encode(pgn, fields) });
    count++;
  };
  const claim = (src: number) => {
    count++;
    return formatName(boat.claim(src, { uniqueNumber: src, manufacturerCode: 229 }));
  };
  // A message has the time at which it is received.
  const received = () => eventually("the frames", () => boat.boat.broker.head === count);
  const names = [claim(SOUNDER), claim(TANKS)];
  for (let minute = 0; minute < 4; minute++) {
    await received();
    clock.advance(MINUTE_MS - 2000);
    if (minute === 3) names.push(claim(LATE));
    // Two values in turn with one PGN.
    for (const instance of [0, 1]) {
      say(TANKS, { pgn: 127505, instance, fluid_type: 0, level: 40 + 10 * minute + instance, capacity: 400 });
    }
    await received();
    clock.advance(2000);
    say(SOUNDER, { pgn: 128267, depth: minute });
    // A ship that is always as far away.
    const latitude = KIEL.latitude + minute / 100;
    say(AIS, { pgn: 129038, user_id: SHIP, ...KIEL, latitude: latitude + 0.01, sog: 0, cog: 0 });
    say(SOUNDER, { pgn: 129025, ...KIEL, latitude });
    minutesMs.push(clock.wallUs() / 1000);
  }
  await received();
  return { minutesMs, names };
}

function journalOf(folder: string) {
  return {
    stateDirectory: `${folder}/state`,
    journal: { directory: `${folder}/journal`, stateDirectory: `${folder}/state` },
  };
}

/** Says a depth until the work is done. */
async function whileLive(boat: TestBoat, work: () => Promise<void>): Promise<void> {
  const say = () => boat.say({ pgn: 128267, src: SOUNDER, data: encode(128267, { depth: LIVE_DEPTH }) });
  const timer = setInterval(say, 50);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
}

/** Chooses a time by the keyboard, steps, and ends where it began. */
async function chooseAndStep(page: Page, [first, second]: readonly [number, number]): Promise<void> {
  await page.locator(".time-button").press("Enter");
  await eventually("the panel", async () => await page.locator("#time-panel:popover-open").count() === 1);
  await page.locator("#time-panel input").press("Escape");
  await eventually("no panel", async () => await page.locator("#time-panel:popover-open").count() === 0);
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Time: Now");

  await page.locator(".time-button").press("Enter");
  await page.locator("#time-panel input").fill(localText(first));
  await page.locator("#time-panel input").press("Enter");
  await wait(page, "the depth then", { key: "depth", value: "2.0" });
  assert.equal(await hashOf(page), `#/now?at=${isoOf(first)}`);
  assert.equal(await textOf(page, ".time-banner strong"), bannerOf(first));

  await page.locator("#time-panel button:text-is('+1 min')").press("Enter");
  await wait(page, "the depth a minute later", { key: "depth", value: "3.0" });
  assert.equal(await hashOf(page), `#/now?at=${isoOf(second)}`);
  await page.locator("#time-panel button:text-is('−1 min')").click();
  await wait(page, "the depth a minute before", { key: "depth", value: "2.0" });
}

/** Follows the links to a device, reloads, and goes back to the values. */
async function visitDevices(page: Page, { url, name }: { url: string; name: string }): Promise<void> {
  const query = new RegExp(/\?at=.*/.exec(url)?.[0].replace("?", "\\?") ?? "");
  await page.goto(url);
  await eventually("one device more", async () => await page.locator(".dev-table tbody tr").count() === 4);
  await page.locator(".dev-table tr:nth-child(1) .dev-link").click();
  await eventually("the device", async () => (await textOf(page, ".dev-facts")).includes(name));
  await eventually("its depth then", async () => (await textOf(page, ".dev-text")).includes("depth 3.0 m"));
  assert.ok((await hashOf(page)).startsWith(`#/devices/${name}?`));
  await page.reload();
  await eventually("the same", async () => (await textOf(page, ".dev-text")).includes("depth 3.0 m"));
  assert.match(await hashOf(page), query);
  await page.locator(".dev-back").click();
  await page.locator("nav a:text-is('Now')").click();
  await wait(page, "the depth then", { key: "depth", value: "3.0" });
  assert.match(await hashOf(page), query);
}

Deno.test(
  "the page shows values and devices of a chosen time, steps, keeps the time in its address, and goes back to now",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const { minutesMs: [, , first = 0, second = 0], names: [name = ""] } = await record(folder);
      await using boat = await TestBoat.start(journalOf(folder));
      await using browser = await Browser.start();
      const { page, messages, foreign } = await openPage(browser, `${boat.url}/#/now`);
      const streams: string[] = [];
      page.on("request", (request) => request.url().includes("/events") && streams.push(request.url()));
      await whileLive(boat, async () => {
        const live = LIVE_DEPTH.toFixed(1);
        await wait(page, "a live depth", { key: "depth", value: live });
        assert.equal(await page.locator(".time-banner").count(), 0);
        await chooseAndStep(page, [first, second]);
        assert.equal(await part(page, "depth", "age"), "0.0 s");
        assert.deepEqual([await part(page, "tank.fuel.0.level"), await part(page, "tank.fuel.1.level")], [
          "60.0",
          "61.0",
        ]);
        assert.equal(await part(page, "tank.fuel.0.level", "age"), "2.0 s");
        assert.equal((await page.locator(".now-row .num").allTextContents())[0], "0.60 nm");
        assert.equal(await page.evaluate(`document.querySelector(".now-track").getTotalLength()`), 0);
        const since = `Shows what was sent since ${isoOf(START_US / 1000).replace("T", " ").replace("Z", "")} UTC.`;
        assert.ok((await textOf(page, "#content")).includes(since), since);
        assert.equal(await textOf(page, ".live"), "");
        const streamsBefore = streams.length;
        const newest = boat.boat.broker.head;
        await eventually("more live messages", () => boat.boat.broker.head > newest + 10);
        assert.equal(await part(page, "depth"), "2.0");

        await page.locator("nav a:text-is('Devices')").click();
        await eventually("the devices then", async () => await page.locator(".dev-table tbody tr").count() === 3);
        assert.equal(await hashOf(page), `#/devices?at=${isoOf(first)}`);
        await visitDevices(page, { url: `${boat.url}/#/devices?at=${isoOf(second)}`, name });
        assert.equal(await textOf(page, ".time-banner strong"), bannerOf(second));
        assert.equal(streams.length, streamsBefore, "the past needs no stream");

        assert.equal(await page.locator(`nav a[href*="at="]`).count(), 2, "the other views are live");
        await page.locator(".time-banner a").click();
        await wait(page, "the live depth", { key: "depth", value: live });
        assert.deepEqual([await hashOf(page), await page.locator(".time-banner").count()], ["#/now", 0]);
        assert.ok(streams.length > streamsBefore, "now needs one");
        await page.goto(`${boat.url}/#/bus?at=${isoOf(second)}`);
        await eventually("a live message", async () => await page.locator(".bus-rows button").count() > 0);
        assert.equal(await page.locator(".time-banner, .time-button").count(), 0);
      });
      assert.deepEqual([messages, foreign], [[], []]);
    }),
);

Deno.test(
  "a time that cannot be shown is reported in a sentence, and without a journal there is only now",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const { minutesMs: [first = 0] } = await record(folder);
      await using boat = await TestBoat.start(journalOf(folder));
      await using without = await TestBoat.start();
      await using browser = await Browser.start();
      const { page, messages } = await openPage(browser, `${boat.url}/#/now`);
      const before = isoOf(first - 86_400_000);
      const future = isoOf(Math.floor(Date.now() / 1000) * 1000 + 86_400_000);
      const said: [string, string][] = [
        [`${boat.url}/#/now?at=${before}`, `Nothing was recorded at ${before.replace("Z", ".000Z")} or before.`],
        [`${boat.url}/#/devices?at=${future}`, `${future.replace("Z", ".000Z")} is in the future.`],
        [`${boat.url}/#/devices?at=yesterday`, "expected an RFC 3339 time"],
        [`${without.url}/#/now?at=${before}`, "Recording is off: see -journal-dir."],
      ];
      for (const [address, sentence] of said) {
        await page.goto(address);
        await eventually(sentence, async () => (await textOf(page, "#content [role=alert]")).includes(sentence));
        assert.equal(await page.locator(".time-banner").count(), 1);
      }
      assert.equal(await page.locator(".time-button").count(), 0, "without a journal");
      await page.locator(".time-banner a").click();
      await eventually("now", async () => await textOf(page, ".live") === "live");
      // Chromium itself writes a line for each refused request.
      assert.deepEqual(messages.filter((text) => !/status of (400|404|503)/.test(text)), []);
    }),
);

Deno.test(
  "a chosen time is seen in all colours, is accessible and fits a phone; in the cloud, too",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using cloud = await CloudServer.start(folder, { clock });
      const live = await cloud.boat("boat-1");
      const depths = [3, 4].map((depth) => {
        clock.advance(MINUTE_MS);
        const atMs = clock.wallUs() / 1000;
        const payload = encode(128267, { depth, offset: 0.5, range: 100 });
        live.say({ pgn: 128267, src: SOUNDER, timeUs: clock.wallUs(), data: payload });
        return { atMs, text: depth.toFixed(1) };
      });
      await using browser = await Browser.start();
      const { page, messages, foreign } = await openPage(browser, `${cloud.url}/#/boats/boat-1/now`);
      const shown = async (view: string, { atMs, text }: { atMs: number; text: string }) => {
        await page.goto(`${cloud.url}/#/boats/boat-1/${view}?at=${isoOf(atMs)}`);
        await eventually(`${text} in ${view}`, async () => (await textOf(page, "#content")).includes(text));
        assert.equal(await textOf(page, ".time-banner strong"), bannerOf(atMs));
      };
      const [three = { atMs: 0, text: "" }, four = three] = depths;
      await shown("devices", { ...three, text: `Device at address ${SOUNDER}` });
      await shown(`devices/${SOUNDER}`, { ...four, text: "depth 4.0 m" });
      const lefts = `[...document.querySelectorAll(".dev-field")].map((each) => each.getBoundingClientRect().left)`;
      const columns = Object.groupBy(await page.evaluate(lefts) as number[], String);
      assert.deepEqual(Object.values(columns).map((each) => each?.length), [3], "fields are below each other");
      await shown("now", four);
      await shown("now", three);
      for (const theme of ["day", "night", "red"]) {
        await page.evaluate(`localStorage.setItem("vbg.theme", ${JSON.stringify(theme)})`);
        await page.setViewportSize({ width: 320, height: 640 });
        await page.reload();
        await wait(page, "the depth", { key: "depth", value: "3.0" });
        await page.locator(".time-button").click();
        assert.deepEqual(await seriousFaults(page), [], theme);
        assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
        assert.deepEqual(
          await page.evaluate(`["#time-panel", ".time-banner"].filter((each) => {
          const { left, right, top, bottom } = document.querySelector(each).getBoundingClientRect();
          return left < 0 || right > innerWidth || top < 0 || bottom > innerHeight;
        })`),
          [],
        );
        const border = `getComputedStyle(document.querySelector(".time-banner")).borderTopStyle`;
        assert.equal(await page.evaluate(border), "double", "a shape, whatever the colours");
      }
      assert.deepEqual([messages, foreign], [[], []]);
    }),
);

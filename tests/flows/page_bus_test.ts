import assert from "node:assert/strict";
import { formatName } from "../../src/frame/mod.ts";
import { Browser, hasPlaywright, type Page } from "../support/browser.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { message } from "../support/messages.ts";
import { needs, SLOW } from "../support/needs.ts";

const BROWSER = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["chromium"],
  others: { 'npm package "playwright-core"': hasPlaywright() },
  extras: SLOW,
});

/** Interval of the messages on the bus, milliseconds. */
const SAY_EVERY_MS = 20;
/** Vessel heading: SID, heading, deviation, variation, two bits of reference. */
const HEADING = [1, 0x10, 0x27, 0, 0, 0xff, 0x7f, 0xfd];
const SPEED = [1, 0x10, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff];
/** Satellites in view: SID, mode, count; of each satellite: PRN, elevation, azimuth, SNR, residuals, four bits of status. */
const SATELLITE = [0x05, 0x10, 0x27, 0x00, 0x20, 0x4e, 0x00, 0x10, 0x00, 0x00, 0x00, 0xf2];
const SATELLITES = [1, 0xfd, 2, ...SATELLITE, ...SATELLITE];
const SATELLITE_BITS = [...Array(11).fill(255), 15];
/** A PGN that nobody has described. */
const UNKNOWN_PGN = 127999;
const HOSTILE = '<img src=x onerror="throw 1">';
/** Characters that must not reach the page. */
const UNSEEN = "\u0007\u202e\u001b[31m";
const LONG = 500;

/** A boat with two senders, and its page; `errors` has all that the console said. */
async function opened(browser: Browser, boat: TestBoat, place: string): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("console", (said) => errors.push(said.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${boat.url}/${place}`);
  return { page, errors };
}

/** Says both messages until the work is done. */
async function whileSaying<T>(boat: TestBoat, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    boat.say({ pgn: 127250, src: 35, data: HEADING });
    boat.say({ pgn: 128259, src: 36, data: SPEED });
  }, SAY_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

const pgns = (page: Page) => page.locator(".bus-rows .bus-pgn").allTextContents();

async function filterBy(page: Page, expression: string): Promise<void> {
  await page.locator("#bus-where").fill(expression);
  await page.locator("#bus-where").press("Enter");
}

/** Bits that are lit, for each byte. */
async function litBytes(page: Page): Promise<unknown> {
  return await page.evaluate(`[...document.querySelectorAll("[data-lit]")].map((each) => Number(each.dataset.lit))`);
}

Deno.test(
  "the bus view filters, pauses and lights the bits of a field, and the console stays empty",
  BROWSER,
  async () => {
    await using boat = await TestBoat.start();
    await using browser = await Browser.start({ hosts: [] });
    const { page, errors } = await opened(browser, boat, "#/bus");
    await whileSaying(boat, async () => {
      await eventually("both messages", async () => (await pgns(page)).join() === "127250,128259");

      await filterBy(page, "pgn == 127250 and src == 35");
      await eventually("only what matches", async () => (await pgns(page)).join() === "127250");
      assert.ok(
        decodeURIComponent(String(await page.evaluate("location.hash"))).endsWith("/pgn == 127250 and src == 35"),
      );
      await filterBy(page, "pgn == 127250 and decoded.heading > 0");
      await eventually("a filter by a field", async () => (await pgns(page)).join() === "127250");
      await filterBy(page, 'src == 35 and heading_reference == "Magnetic"');
      await eventually("a filter by a label", async () => (await pgns(page)).join() === "127250");
      boat.say({ pgn: UNKNOWN_PGN, src: 35, data: HEADING });
      await filterBy(page, `pgn == ${UNKNOWN_PGN} and not src.name == "0x1"`);
      await eventually("a PGN without a definition", async () => {
        boat.say({ pgn: UNKNOWN_PGN, src: 35, data: HEADING });
        return (await pgns(page)).join() === String(UNKNOWN_PGN);
      });
      await page.locator(".bus-rows button").click();
      await eventually("its bytes", async () => String(await litBytes(page)) === "0,0,0,0,0,0,0,0");
      await page.locator("text=Close").click();
      await filterBy(page, "heading > 500 deg");
      await eventually("no message to match", async () => (await pgns(page)).length === 0);
      await filterBy(page, "heading < 90 deg");
      await eventually("a filter by a unit", async () => (await pgns(page)).join() === "127250");

      for (
        const [wrong, error] of [["pgn ==", "column 7"], ["pgn == 127250 and headng > 1", 'did you mean "heading"']]
      ) {
        await filterBy(page, wrong ?? "");
        await eventually(`the error of ${wrong}`, async () => {
          const [said = ""] = await page.locator("#bus-where-error").allTextContents();
          return said.includes(error ?? "") && said.includes("^");
        });
        assert.deepEqual(await pgns(page), ["127250"], "the filter before goes on");
      }
      await filterBy(page, "");
      await eventually("both messages again", async () => (await pgns(page)).join() === "127250,128259");

      await page.locator(".bus-rows button:has-text('127250')").click();
      await page.locator("[data-field=heading] button").hover();
      await eventually("the bits of the heading", async () => String(await litBytes(page)) === "0,255,255,0,0,0,0,0");
      await page.locator("[data-field=heading_reference] button").hover();
      await eventually("two bits of the reference", async () => String(await litBytes(page)) === "0,0,0,0,0,0,0,3");
      await page.locator(".bus-bytes li:nth-child(2) button").hover();
      const lit = page.locator(".bus-fields button.lit");
      await eventually("the field of the byte", async () => (await lit.allTextContents()).join().startsWith("heading"));
      assert.equal(await lit.count(), 1);
      // A key is pressed where the focus is.
      await page.locator("[data-field=variation] button").press("Shift");
      await eventually("the bits of the focus", async () => String(await litBytes(page)) === "0,0,0,0,0,255,255,0");

      boat.say({ pgn: 129540, src: 37, data: SATELLITES });
      await page.locator(".bus-rows button:has-text('129540')").click();
      await page.locator("[data-field='satellites.1'] button").hover();
      const second = [0, 0, 0, ...SATELLITE_BITS.map(() => 0), ...SATELLITE_BITS].join();
      await eventually("the bits of the second set", async () => String(await litBytes(page)) === second);
    });
    assert.deepEqual(errors, []);
  },
);

Deno.test("a paused bus view holds what it shows and counts what passes", BROWSER, async () => {
  await using boat = await TestBoat.start();
  await using browser = await Browser.start({ hosts: [] });
  const { page, errors } = await opened(browser, boat, "#/bus");
  const passed = async () =>
    Number(/\d+/.exec((await page.locator(".bus-passed").allTextContents()).join())?.[0] ?? NaN);
  const head = () => boat.boat.broker.head;
  boat.say({ pgn: 127250, src: 35, data: HEADING });
  await whileSaying(boat, () => eventually("both messages", async () => (await pgns(page)).length === 2));
  await page.locator("text=In order").click();
  const numbers = () => page.locator(".bus-rows .bus-age").allTextContents();
  await eventually("the newest number", async () => (await numbers())[0] === String(head()));
  await page.locator("text=Pause").click();
  await eventually("all rows", async () => !(await numbers()).includes(""));
  const [before, held] = [head(), await numbers()];
  await whileSaying(boat, () => eventually("ten messages to pass", async () => await passed() >= 10));
  await eventually("all that passed to be counted", async () => await passed() === head() - before);
  // Rows further down, of older messages, may have been added since.
  assert.deepEqual((await numbers()).slice(0, held.length), held);
  await page.locator("text=Continue").click();
  await whileSaying(boat, () => eventually("newer messages", async () => Number((await numbers())[0]) > head() - 10));
  const note = page.locator("text=in the moment of another filter");
  assert.equal(await note.count(), 0);
  await filterBy(page, "pgn in [127250, 128259]");
  await eventually("a note about the other stream", async () => await note.count() === 1);
  assert.deepEqual(errors, []);
});

Deno.test("texts of hostile devices are shown as text in the views of bus and devices", BROWSER, async () => {
  await using boat = await TestBoat.start();
  await using browser = await Browser.start({ hosts: [] });
  const name = formatName(boat.claim(35, { uniqueNumber: 7, manufacturerCode: 229 }));
  boat.product(35, HOSTILE);
  const text = (HOSTILE + UNSEEN).padEnd(LONG / 2, "W");
  const part = [text.length + 2, 1, ...new TextEncoder().encode(text)];
  boat.boat.broker.publish(message({ pgn: 126998, src: 35, data: [...part, ...part, ...part] }));
  const { page, errors } = await opened(browser, boat, "#/bus");
  const pages = { "#/bus": ".bus-source", "#/devices": ".dev-link", [`#/devices/${name}`]: "h2" };
  for (const [place, where] of Object.entries(pages)) {
    await page.goto(`${boat.url}/${place}`);
    await eventually(`the model in ${place}`, async () => {
      boat.boat.broker.publish(message({ pgn: 126998, src: 35, data: [...part, ...part, ...part] }));
      return (await page.locator(where).allTextContents()).some((each) => each.includes(HOSTILE));
    });
    assert.equal(await page.locator("main img").count(), 0);
    if (place === "#/devices") continue;
    if (place === "#/bus") await page.locator(".bus-rows button:has-text('126998')").click();
    await eventually(
      `the long text in ${place}`,
      async () => (await page.locator("main").allTextContents()).join().includes(HOSTILE + "\ufffd\ufffd\ufffd[31mWW"),
    );
    const wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate(wide), 0, `${place} on a phone`);
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  assert.deepEqual(errors, []);
});

Deno.test(
  "the bus view shows what the network doctor has found, with advice and the messages that show it",
  BROWSER,
  async () => {
    await using boat = await TestBoat.start();
    await using browser = await Browser.start({ hosts: [] });
    const { page, errors } = await opened(browser, boat, "#/bus");
    const texts = async () => (await page.locator(".bus-findings").allTextContents()).join();
    await eventually("no findings", async () => (await texts()).includes("nothing could be checked"));
    const claims = [1, 2].map((low) => [low, 0, 0xe0, 0xd4, 0, 0x82, 0x32, 0xc0]);
    const timer = setInterval(() => {
      for (const data of claims) boat.say({ pgn: 60928, src: 35, data });
    }, 500);
    try {
      await eventually("the finding", async () => /Critical: Two devices claim address 35 of can0/.test(await texts()));
      await page.locator(".bus-findings a").click();
      await eventually("the messages", async () => (await pgns(page)).join() === "60928");
      await page.locator(".bus-findings button").click();
      await eventually("the reason", async () => (await texts()).includes("The black box is off"));
    } finally {
      clearInterval(timer);
    }
    // The browser itself reports the refused mark.
    assert.deepEqual(errors.filter((text) => !text.includes("503")), []);
  },
);

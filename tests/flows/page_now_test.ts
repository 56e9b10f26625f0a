import assert from "node:assert/strict";
import { formatName } from "../../src/frame/mod.ts";
import { encode, type Fields } from "../../src/pgn/mod.ts";
import type { DecodedLastValue, LastValues } from "../../src/client/mod.ts";
import { Browser, hasPlaywright, type Page } from "../support/browser.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";

const BROWSER = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["chromium"],
  others: { 'npm package "playwright-core"': hasPlaywright() },
});

/** Interval of the messages on the bus, milliseconds. */
const SAY_EVERY_MS = 20;
/** As long as names of AIS get. */
const HOSTILE = "<img src=x onerror=>";
const SHIP = 211000001;
const KIEL = { latitude: 54.5, longitude: 10.3 };

const say = (boat: TestBoat, src: number, { pgn, ...fields }: { pgn: number } & Fields) =>
  boat.say({ pgn, src, data: encode(pgn, fields) });

/** Two depth sounders, a GNSS receiver and an AIS receiver; depths grow. */
class Bus {
  readonly #boat: TestBoat;
  #timer: ReturnType<typeof setInterval> | undefined;
  #depth = 3;

  constructor(boat: TestBoat) {
    this.#boat = boat;
  }

  start(): void {
    const boat = this.#boat;
    this.#timer = setInterval(() => {
      this.#depth = this.#depth > 90 ? 3 : this.#depth + 0.1;
      say(boat, 35, { pgn: 128267, depth: this.#depth });
      say(boat, 36, { pgn: 128267, depth: 99 });
      say(boat, 37, { pgn: 129025, ...KIEL });
      say(boat, 38, { pgn: 129038, user_id: SHIP, ...KIEL, latitude: 54.51, sog: 5, cog: 1 });
      say(boat, 38, { pgn: 129794, user_id: SHIP, name: HOSTILE });
    }, SAY_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

async function part(page: Page, key: string, name: string): Promise<string> {
  return (await page.locator(`[data-key="${key}"] [data-part="${name}"]`).allTextContents()).join();
}

async function focused(page: Page): Promise<unknown> {
  return await page.evaluate(`document.activeElement?.dataset?.key ?? document.activeElement?.tagName`);
}

async function opened(browser: Browser, boat: TestBoat): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("console", (said) => errors.push(said.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${boat.url}/#/now`);
  return { page, errors };
}

Deno.test(
  "the view of now shows moving values, greys a stopped bus, and says once that the server is gone",
  BROWSER,
  async () => {
    await using boat = await TestBoat.start();
    await using browser = await Browser.start({ hosts: [] });
    const bus = new Bus(boat);
    // Said once, before anybody looks.
    say(boat, 50, { pgn: 127505, instance: 1, fluid_type: 0, level: 42, capacity: 400 });
    const { page, errors } = await opened(browser, boat);
    await eventually("a rare value", async () => await part(page, "tank.fuel.1.level", "value") === "42.0");
    say(boat, 50, { pgn: 128259, speed_water: 3 });
    await eventually("a main value", async () => await part(page, "stw", "value") !== "");
    const isBelow = `document.querySelector(".now-main").getBoundingClientRect().bottom <=
      document.querySelector(".now-rest").getBoundingClientRect().top`;
    assert.equal(await page.evaluate(isBelow), true, "without a plot the groups stand one below the other");
    bus.start();
    const depth = () => part(page, "depth", "value");
    const first = await eventually("a depth", depth);
    const second = await eventually("another depth", async () => {
      const next = await depth();
      return next !== first && next;
    });
    await eventually("a third depth", async () => ![first, second].includes(await depth()));
    assert.equal(await part(page, "depth", "unit"), "m");
    assert.equal(await part(page, "depth", "sources"), "2 sources");

    bus.stop();
    const isStale =
      `[...document.querySelectorAll(".now-main .now-tile")].every((each) => each.classList.contains("now-stale"))`;
    await eventually("the tiles to be grey", async () => await page.evaluate(isStale));
    assert.match(await part(page, "depth", "age"), /^stale \d/);
    const values = await boat.get<LastValues<DecodedLastValue>[]>("/values/decoded?pgn=128267");
    const depths = values.flatMap(({ values }) => values).map(({ decoded }) => decoded?.["depth"])
      .filter((each) => typeof each === "number").map((each) => each.toFixed(1));
    await eventually("a depth that the server has", async () => depths.includes(await depth()));
    assert.equal(await part(page, "position", "value"), "54°30.000′N 010°18.000′E");
    assert.deepEqual(errors, []);

    await boat.boat.stop();
    const lost = page.locator(".now-lost");
    await eventually("the lost connection", async () => await lost.count() === 1);
  },
);

Deno.test(
  "no value of the first tiles is cut off, whatever its word, on a phone and beside the plot",
  BROWSER,
  async () => {
    await using boat = await TestBoat.start();
    await using browser = await Browser.start({ hosts: [] });
    const { page } = await opened(browser, boat);
    const readings = `[...document.querySelectorAll(".now-main .now-reading")]`;
    for (const [width, height] of [[320, 640], [390, 844], [1280, 900]] as const) {
      await page.setViewportSize({ width, height });
      await eventually(`both angles at ${width}`, async () => {
        say(boat, 37, { pgn: 129025, ...KIEL });
        say(boat, 7, { pgn: 130306, wind_speed: 25, wind_angle: 2.6, wind_reference: 2 });
        say(boat, 7, { pgn: 130306, wind_speed: 25, wind_angle: 2.6, wind_reference: 3 });
        return await part(page, "wind.apparent.angle", "unit") === "starboard";
      });
      const cut = `${readings}.filter((each) => {
      const [tile, box] = [each.closest(".now-tile").getBoundingClientRect(), each.getBoundingClientRect()];
      return each.scrollWidth > each.clientWidth || box.bottom > tile.bottom || each.scrollHeight > each.clientHeight + 4;
    }).map((each) => [each.textContent, each.scrollWidth, each.clientWidth, each.scrollHeight, each.clientHeight].join())`;
      assert.deepEqual(await page.evaluate(cut), [], `${width} px`);
    }
  },
);

Deno.test(
  "the sources of a value open and close by the keyboard, and hostile names of AIS targets are text",
  BROWSER,
  async () => {
    await using boat = await TestBoat.start();
    await using browser = await Browser.start({ hosts: [] });
    const names = [35, 36].map((src) =>
      formatName(boat.claim(src, { uniqueNumber: src, manufacturerCode: 229, arbitraryAddressCapable: true }))
    );
    boat.product(35, HOSTILE);
    const { page, errors } = await opened(browser, boat);
    const bus = new Bus(boat);
    bus.start();
    try {
      await eventually("two sources", async () => await part(page, "depth", "sources") === "2 sources");
      const tile = page.locator('[data-key="depth"]');
      await tile.press("Enter");
      const panel = page.locator("dialog[open]");
      await eventually("both devices", async () => {
        const text = (await panel.allTextContents()).join();
        return names.every((name) => text.includes(name)) && text.includes(HOSTILE);
      });
      assert.equal(await focused(page), "BUTTON", "the focus is in the panel");
      const settings = await page.locator("dialog code").allTextContents();
      assert.deepEqual(settings.toSorted(), names.map((name) => `-preferred-source depth=${name}`).toSorted());
      await page.locator("dialog").press("Escape");
      await eventually("the panel to close", async () => await panel.count() === 0);
      assert.equal(await focused(page), "depth", "the focus is back");

      await eventually("the name on the plot", async () => {
        const [list] = await page.locator(".now-row-name").allTextContents();
        const [plot] = await page.locator(".now-name").allTextContents();
        return list === HOSTILE && plot === HOSTILE;
      });
      await page.locator(".now-plot").press("ArrowRight");
      const card = page.locator(".now-card");
      await eventually("the target", async () => {
        const text = (await card.allTextContents()).join();
        return text.includes(HOSTILE) && text.includes(String(SHIP)) && text.includes("0.60 nm");
      });
      const ring = async () => (await page.locator(".now-ring-text").allTextContents())[0];
      assert.equal(await ring(), "4 nm");
      await page.locator(".now-plot").press("+");
      await eventually("a nearer ring", async () => await ring() === "2 nm");
      await page.locator(".now-plot").press("Escape");
      await eventually("no target chosen", async () => await card.count() === 0);
      assert.equal(await page.evaluate("document.querySelectorAll('main img').length"), 0);
    } finally {
      bus.stop();
    }
    assert.deepEqual(errors, []);
  },
);

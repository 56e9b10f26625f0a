import assert from "node:assert/strict";
import { join } from "node:path";
import { encode, type Fields } from "../../src/pgn/mod.ts";
import { tokenOf } from "../http/auth_server.ts";
import { TestBoat } from "../support/boat.ts";
import { Browser, BROWSER_NEEDS, packageFolder, type Page } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { environment, needs, SLOW } from "../support/needs.ts";

const KIP = "@mxtommy/kip";
const FREEBOARD = "@signalk/freeboard-sk";
const folder = packageFolder(KIP);
const APPS = {
  ...BROWSER_NEEDS,
  others: {
    ...BROWSER_NEEDS.others,
    ...Object.fromEntries([KIP, FREEBOARD].map((name) => [`npm package "${name}"`, packageFolder(name) !== undefined])),
  },
};
/** Where npm installed them. */
const WEB_APPS = folder === undefined ? "" : join(folder, "../..");
/** A folder for screenshots; default: none are taken. */
const SCREENSHOTS = environment("VBG_TEST_SCREENSHOTS");

const SAY_EVERY_MS = 100;
const KIEL = { latitude: 54.5, longitude: 10.3 };
const SHIPS = [[211000001, "ANNA"], [219000002, "BALTIC"], [265000003, "SOMMARVIND"]] as const;
const SELF = "/signalk/v1/api/vessels/self";

/** A boat under way, of which the test says how fast. */
class Bus implements Disposable {
  sog = 3.25;
  readonly #boat: TestBoat;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(boat: TestBoat) {
    this.#boat = boat;
    this.#timer = setInterval(() => this.#say(), SAY_EVERY_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #say(): void {
    const say = (src: number, pgn: number, fields: Fields) => this.#boat.say({ pgn, src, data: encode(pgn, fields) });
    say(37, 129025, KIEL);
    say(37, 129026, { sog: this.sog, cog: 1, cog_reference: 0 });
    say(35, 128267, { depth: this.sog * 4, offset: 0 });
    say(36, 130306, { wind_speed: this.sog * 2, wind_angle: 0.75, wind_reference: 2 });
    for (const [index, [user_id, name]] of SHIPS.entries()) {
      say(38, 129038, { user_id, ...KIEL, latitude: KIEL.latitude + 0.01 * (index + 1), sog: 5, cog: 1 });
      say(38, 129794, { user_id, name });
    }
  }
}

/** Errors of the apps that are none of ours: what they have no internet for, and what only signalk-server has. */
const EXPECTED: readonly RegExp[] = [
  // Plugins of the apps themselves.
  /404 .*\/plugins\/(kip|freeboard-sk)/,
  /^\[KipSeriesApiClientService\] Series reconcile request failed/,
  // KIP announces its dashboards, to be controlled remotely.
  /^\[Request Service\] Status Code: 405/,
  /404 .*\/vessels\/self\/(navigation\/anchor|radars)$/,
  /404 .*\/signalk\/v1\/unitpreferences\/active$/,
];

interface Opened {
  page: Page;
  /** Errors on the console and errors that nobody caught, without the expected ones. */
  errors: string[];
}

async function open(browser: Browser, { url, script }: { url: string; script?: string }): Promise<Opened> {
  const page = await browser.newPage();
  await page.setViewportSize({ width: 1280, height: 800 });
  const errors: string[] = [];
  const { origin } = new URL(url);
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (said) => {
    const from = said.location().url;
    const text = said.text().replace(
      /^Failed to load resource: the server responded with a status of (\d+).*/,
      `$1 ${from}`,
    );
    const isForeign = text.startsWith("Failed to load resource") && new URL(from).origin !== origin;
    if (said.type() === "error" && !isForeign && !EXPECTED.some((each) => each.test(text))) errors.push(text);
  });
  if (script !== undefined) await page.addInitScript({ content: script });
  await page.goto(url);
  return { page, errors };
}

async function shoot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  await Deno.mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

/** Numbers on a dashboard of KIP. */
const WIDGETS = [
  { title: "SOG", path: "navigation.speedOverGround", unit: "m/s" },
  { title: "Depth", path: "environment.depth.belowTransducer", unit: "m" },
  { title: "AWS", path: "environment.wind.speedApparent", unit: "m/s" },
] as const;

/** A dashboard as KIP saves it, and a record of what its canvases show. */
function kipScript(): string {
  const configuration = WIDGETS.map(({ title, path, unit }, index) => {
    const id = `${index}1111111-2cff-4ab9-9b50-d8056f971471`;
    const numericPath = {
      ...{ description: "Numeric Data", path: `self.${path}`, source: "default", pathType: "number" },
      ...{ isPathConfigurable: true, convertUnitTo: unit, showPathSkUnitsFilter: true, pathSkUnitsFilter: null },
      sampleTime: 500,
    };
    const config = {
      ...{ displayName: title, filterSelfPaths: true, paths: { numericPath }, showMax: false, showMin: false },
      ...{ numDecimal: 2, numInt: 1, showMiniChart: false, color: "contrast", enableTimeout: false, dataTimeout: 5 },
      ignoreZones: false,
    };
    const widgetProperties = { type: "widget-numeric", uuid: id, config };
    return { w: 8, h: 12, x: index * 8, y: 0, id, selector: "widget-host2", input: { widgetProperties } };
  });
  const dashboards = [{ id: "passage", name: "Passage", icon: "dashboard-sailing", configuration }];
  return `
    localStorage.getItem("dashboardsConfig") ??
      localStorage.setItem("dashboardsConfig", ${JSON.stringify(JSON.stringify(dashboards))});
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      if (/^-?[0-9.]+$/.test(text)) this.canvas.shownNumber = Number(text);
      return fillText.call(this, text, ...rest);
    };`;
}

const shownByKip = (page: Page) =>
  page.evaluate(
    `[...document.querySelectorAll("widget-numeric canvas.numeric-canvas")].map((each) => each.shownNumber)`,
  );

async function valuesOf(boat: TestBoat): Promise<number[]> {
  return await Promise.all(WIDGETS.map(async ({ path }) => {
    const { value } = await boat.get<{ value: number }>(`${SELF}/${path.replaceAll(".", "/")}`);
    return Number(value.toFixed(2));
  }));
}

Deno.test(
  "KIP shows the values of the boat that serves it, and the new ones when they change",
  needs({ ...APPS, extras: SLOW }),
  async () => {
    await using boat = await TestBoat.start({ signalk: { name: "Aurora" }, webApps: WEB_APPS });
    using bus = new Bus(boat);
    await using browser = await Browser.start({ hosts: ["*"] });
    const { page, errors } = await open(browser, { url: `${boat.url}/${KIP}/`, script: kipScript() });
    for (const sog of [3.25, 4.5]) {
      bus.sog = sog;
      const expected = [sog, sog * 4, sog * 2];
      await eventually(
        `KIP to show ${expected}`,
        async () => JSON.stringify(await shownByKip(page)) === JSON.stringify(expected),
      );
      assert.deepEqual(await valuesOf(boat), expected);
      await shoot(page, `kip_${sog}`);
    }
    assert.deepEqual(errors, []);
  },
);

/** A record of the texts on the map, which starts far away from the vessels. */
const MAP_SCRIPT = `
  const drawnTexts = globalThis.drawnTexts = new Set();
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawnTexts.add(text);
    return fillText.call(this, text, ...rest);
  };`;

/** Button of Freeboard with a tooltip. */
async function buttonOf(page: Page, tooltip: string) {
  const find = `[...document.querySelectorAll("[id^=cdk-describedby-message]")]
    .find((each) => each.textContent === ${JSON.stringify(tooltip)})?.id`;
  const id = await eventually(`the button "${tooltip}"`, () => page.evaluate(find));
  return page.locator(`button[aria-describedby~="${id}"]`);
}

Deno.test(
  "Freeboard-SK draws the own vessel, and lists the vessels of AIS by their names",
  needs({ ...APPS, extras: SLOW }),
  async () => {
    await using boat = await TestBoat.start({ signalk: { name: "Aurora" }, webApps: WEB_APPS });
    using _bus = new Bus(boat);
    await using browser = await Browser.start({ hosts: ["*"] });
    const { page, errors } = await open(browser, { url: `${boat.url}/${FREEBOARD}/`, script: MAP_SCRIPT });
    const names = SHIPS.map(([, name]) => name);
    const show = async () => {
      // Internet Map Service Unavailable.
      await page.locator("button:has-text('OK')").click();
      await (await buttonOf(page, "Center & Follow Vessel")).click();
      for (let zoom = 0; zoom < 9; zoom++) await page.locator("button[mattooltip='Zoom in']").click();
      await eventually("the vessels near the own one on the map, and where that will be in ten minutes", async () => {
        const drawn = await page.evaluate("[...globalThis.drawnTexts]");
        return Array.isArray(drawn) && names.every((name) => drawn.includes(name)) &&
          drawn.join(" ").includes("10min");
      }, { deadlineMs: 30_000 });
    };
    // While the map moves, the app loses a click now and then.
    await show().catch(async () => {
      await page.evaluate("localStorage.clear()");
      await page.reload();
      await show();
    });
    await page.locator("button[mattooltip='Menu']").click();
    await page.locator(".mat-mdc-menu-panel a:has-text('Vessels')").click();
    const listed = () => page.evaluate(`document.querySelector("ais-list")?.innerText.split("\\n") ?? []`);
    await eventually("all vessels", async () => {
      const lines = await listed();
      return Array.isArray(lines) && names.every((name) => lines.includes(name));
    });
    const vessels = await boat.get<Record<string, { name?: string }>>("/signalk/v1/api/vessels");
    assert.deepEqual(Object.values(vessels).map(({ name }) => name).sort(), ["Aurora", ...names].sort());
    await shoot(page, "freeboard");
    assert.deepEqual(errors, []);
  },
);

const FILES = needs({ permissions: ["net", "read"], others: APPS.others });

Deno.test("with tokens the files of apps are open to all; API and stream want a token", FILES, async () => {
  const tokens = [tokenOf("chart table", "reader-secret", ["read"])];
  await using boat = await TestBoat.start({ signalk: {}, webApps: WEB_APPS, tokens });
  const status = async (path: string, headers: HeadersInit = {}) => {
    const response = await fetch(boat.url + path, { headers });
    await response.body?.cancel();
    return response.status;
  };
  for (const app of [KIP, FREEBOARD]) assert.equal(await status(`/${app}/`), 200, app);
  for (const path of ["/signalk/v1/api/", SELF, "/signalk/v1/stream", "/plugins"]) {
    assert.equal(await status(path), 401, path);
    assert.notEqual(await status(path, { authorization: "Bearer reader-secret" }), 401, path);
  }
});

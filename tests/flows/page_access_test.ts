import assert from "node:assert/strict";
import { Browser, BROWSER_NEEDS, openPage, type Page } from "../support/browser.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { needs, SLOW } from "../support/needs.ts";
import { tokenOf } from "../http/auth_server.ts";

const NEEDS = needs({ ...BROWSER_NEEDS, extras: SLOW });
const READER = "reader-secret";
const SKIPPER = "skipper-secret";
const TOKENS = [tokenOf("chart table", READER, ["read"]), tokenOf("skipper", SKIPPER, ["read", "send"])];
/** Vessel heading. */
const PGN = 127250;

const textOf = async (page: Page) => String(await page.evaluate("document.body.innerText"));

async function logIn(page: Page, token: string): Promise<void> {
  await page.locator("#token").fill(token);
  await page.locator("button[type=submit]").click();
}

async function send(page: Page, data: string): Promise<void> {
  await page.locator("#send-pgn").fill(String(PGN));
  await page.locator("#send-pgn").press("Tab");
  await page.locator("#send-data").fill(data);
  await page.locator(".send-form button[type=submit]").click();
}

Deno.test(
  "a page with tokens asks for one, refuses a wrong one, keeps a good one for the tab and sends only with its permission",
  NEEDS,
  async () => {
    await using boat = await TestBoat.start({ sendEnabled: true, tokens: TOKENS });
    await using browser = await Browser.start();
    const opened = await openPage(browser, `${boat.url}/#/system`);
    const { page, foreign } = opened;
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await eventually("the question", async () => await page.locator("#token").count() === 1);
    assert.deepEqual(await page.locator("#content").allTextContents(), [], "nothing is shown before");

    await logIn(page, "guessed");
    await eventually("the refusal", async () => (await textOf(page)).includes("does not know this token"));

    await logIn(page, READER);
    await eventually("no form to send", async () => (await textOf(page)).includes("this token does not permit it"));
    assert.equal(await page.locator(".send-form").count(), 0);
    const heights =
      `[...document.querySelectorAll(".top button, .top select")].map(({ clientHeight }) => clientHeight)`;
    const [height, ...others] = new Set(await page.evaluate(heights) as number[]);
    assert.ok(height !== undefined && others.length === 0, "no word of the header is wrapped on a phone");
    await page.reload();
    await eventually("the page again", async () => (await textOf(page)).includes("this token does not permit it"));

    await page.locator("text=Log out").click();
    await eventually("the question again", async () => await page.locator("#token").count() === 1);
    await logIn(page, SKIPPER);
    await eventually("the form", async () => await page.locator(".send-form").count() === 1);
    await send(page, "00ffffff7fff7ffd");
    await eventually("the message on the bus", () => boat.heard[0]?.filter(({ pgn }) => pgn === PGN).length === 1);
    await eventually("its confirmation", async () => (await textOf(page)).includes("Queued for the bus"));
    await send(page, "no hex");
    await eventually("the refusal", async () => (await page.locator(".send-form .bad").count()) === 1);
    assert.equal(boat.heard[0]?.filter(({ pgn }) => pgn === PGN).length, 1);

    const stored = String(await page.evaluate("JSON.stringify(localStorage) + document.cookie + location.href"));
    assert.doesNotMatch(requests.join() + stored, /secret/);
    assert.deepEqual(foreign, []);
    // Chromium itself writes a line for each refused request: ours are the wrong token and the wrong payload.
    assert.deepEqual(opened.messages.filter((text) => !/status of 40[013]/.test(text)), []);
  },
);

Deno.test("a page without tokens opens at once, and one that may not send says why", NEEDS, async () => {
  await using boat = await TestBoat.start();
  await using browser = await Browser.start();
  const { page, messages } = await openPage(browser, `${boat.url}/#/system`);
  await eventually("the reason", async () => (await textOf(page)).includes("Sending is off"));
  assert.equal(await page.locator("#token").count(), 0);
  assert.deepEqual(messages, []);
});

Deno.test(
  "a page that was opened once opens again without the network, says so, and goes on when it is back",
  NEEDS,
  async () => {
    await using boat = await TestBoat.start();
    await using browser = await Browser.start();
    const { page } = await openPage(browser, `${boat.url}/#/system`);
    await eventually("the files to be kept", async () =>
      await page.evaluate(
        `navigator.serviceWorker.ready.then(() => caches.open("vbg-page")).then((cache) => cache.match("/"))
      .then((found) => found !== undefined && navigator.serviceWorker.controller !== null)`,
      ) === true);
    await page.context().setOffline(true);
    await page.reload();
    await eventually("the page", async () => (await textOf(page)).includes("The server cannot be reached"));
    await page.context().setOffline(false);
    await eventually("the view", async () => await page.locator("#content h2").count() > 0);
  },
);

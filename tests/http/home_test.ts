import assert from "node:assert/strict";
import { escapeHtml, homePage } from "../../src/http/home/home_page.ts";
import { TestBoat } from "../support/boat.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";

const NET = needs({ permissions: ["net"] });
const RECORDING = needs({ permissions: ["net", "read", "write"] });
const BROWSER = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

/** Words for the formats of answers that are not JSON. */
const FORMATS: Record<string, string> = { "text/event-stream": "event stream", "text/plain": "plain text" };

/** Paths that a page links to. */
function linksOf(html: string): string[] {
  return Array.from(html.matchAll(/href="([^"]*)"/g), ([, path = ""]) => path.replaceAll("&amp;", "&"));
}

Deno.test(
  "a browser gets a page with name, state and links that work; it loads nothing and runs no script",
  NET,
  async () => {
    await using boat = await TestBoat.start();
    boat.claim(7, { manufacturerCode: 229 });
    const response = await fetch(`${boat.url}/`, { headers: BROWSER });
    const html = await response.text();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("Content-Type"), "text/html; charset=utf-8");
    assert.match(response.headers.get("Content-Security-Policy") ?? "", /^default-src 'none'; style-src 'sha256-/);
    assert.match(response.headers.get("Vary") ?? "", /Accept(,|$)/);
    assert.match(html, /<h1>Vessel Bus Gateway: boat server<\/h1>/);
    assert.match(html, /<strong class="ok">ok<\/strong>/);
    assert.doesNotMatch(html, /<script|src=|url\(|@import|\son\w+=/);
    const links = linksOf(html);
    for (const path of ["/devices", "/values/decoded", "/openapi.json", "/pgns"]) assert.ok(links.includes(path), path);
    for (const path of links) {
      assert.match(path, /^\/[^/]/, "of this server");
      const answer = await fetch(boat.url + path);
      assert.equal(answer.status, 200, path);
      await answer.body?.cancel();
      const [type = ""] = answer.headers.get("Content-Type")?.split(";") ?? [];
      const line = html.split("\n").find((each) => each.includes(`href="${path.replaceAll("&", "&amp;")}"`)) ?? "";
      const named = Object.values(FORMATS).filter((format) => line.includes(format));
      assert.deepEqual(named, type === "application/json" ? [] : [FORMATS[type]], path);
    }
    assert.match(html, /Links return JSON unless their description names another format/);
  },
);

Deno.test("a program gets the same in short as JSON", NET, async () => {
  await using boat = await TestBoat.start();
  for (const headers of [{}, { Accept: "*/*" }, { Accept: "application/json" }]) {
    const response = await fetch(`${boat.url}/`, { headers });
    const { status, links } = await response.json();
    assert.deepEqual([status, links.devices, links.API], ["ok", "/devices", "/openapi.json"]);
  }
});

Deno.test("the link to the history shows the last 10 s of the recording", RECORDING, () =>
  inFolder(async (folder) => {
    await using boat = await TestBoat.start({
      stateDirectory: folder,
      journal: { directory: `${folder}/journal`, stateDirectory: folder },
    });
    boat.claim(7, { manufacturerCode: 229 });
    const { last_frame_at: last } = await boat.get<{ last_frame_at: string }>("/healthz");
    const { links: { history = "" } } = await boat.get<{ links: Record<string, string> }>("/");
    const from = new URL(history, boat.url).searchParams.get("from") ?? "";
    assert.equal(Date.parse(last) - Date.parse(from), 10_000);
    assert.equal((await boat.get<unknown[]>(history)).length, 1);
  }));

Deno.test("with tokens the page takes one, and its links carry it", NET, async () => {
  await using boat = await TestBoat.start({ tokens: [accessToken("reader", "se&cret", ["read"])] });
  const closed = await fetch(`${boat.url}/`, { headers: BROWSER });
  assert.equal(closed.status, 401);
  await closed.body?.cancel();
  const html = await (await fetch(`${boat.url}/?access_token=se%26cret`, { headers: BROWSER })).text();
  for (const path of linksOf(html).values()) {
    const answer = await fetch(boat.url + path);
    assert.equal(answer.status, 200, path);
    await answer.body?.cancel();
  }
});

Deno.test("names and messages are text on the page, whatever is in them", () => {
  const mark = `<img src=x onerror="alert('1')">&`;
  assert.equal(escapeHtml(mark), "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;");
  const link = { text: mark, path: `/${mark}`, about: mark };
  const html = homePage({
    ...{ boatPath: mark, name: mark, version: mark, status: "degraded", facts: [mark] },
    components: { [mark]: { status: "degraded", message: mark } },
    sections: [{ title: mark, links: [link] }],
  }, { origin: `http://${mark}`, parameter: `access_token=${mark}` });
  assert.ok(!html.includes("<img") && html.includes(`<h1>${escapeHtml(mark)}</h1>`), html);
  assert.ok(!html.includes('x onerror="'), html);
});

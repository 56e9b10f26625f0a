import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";
import assets from "../../src/http/page/assets.gen.json" with { type: "json" };

const NET = needs({ permissions: ["net"] });
const RECORDING = needs({ permissions: ["net", "read", "write"] });
const BROWSER = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
/** All files of the page, packed. */
const MAX_PAGE_BYTES = 150_000;

Deno.test("a browser gets a page that runs only the server's own scripts and styles", NET, async () => {
  await using boat = await TestBoat.start();
  for (const path of ["/", "/docs"]) {
    const response = await fetch(boat.url + path, { headers: BROWSER });
    const html = await response.text();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("Content-Type"), "text/html; charset=utf-8");
    assert.match(response.headers.get("Vary") ?? "", /Accept(,|$)/);
    const policy = response.headers.get("Content-Security-Policy") ?? "";
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe|\*|http/);
    assert.doesNotMatch(html, /<script>|<style|\son\w+=|\sstyle=|https?:/);
    for (const [, file = ""] of html.matchAll(/(?:href|src)="([^"]*)"/g)) {
      const answer = await fetch(boat.url + file);
      assert.equal(answer.status, 200, file);
      assert.ok((await answer.text()).length > 0);
    }
  }
});

Deno.test(
  "the page's files are what was generated, packed and not, and may be kept where their name tells",
  NET,
  async () => {
    await using boat = await TestBoat.start();
    for (const { path, type, gzip, isHashed } of assets) {
      const packed = new Blob([Uint8Array.fromBase64(gzip)]).stream();
      const expected = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
      const url = boat.url + (path === "/index.html" ? "/" : path);
      for (const encoding of ["gzip", "identity"]) {
        const answer = await fetch(url, { headers: { ...BROWSER, "Accept-Encoding": encoding } });
        assert.equal(await answer.text(), expected, path);
        assert.equal(answer.headers.get("Content-Type"), type);
        assert.equal(answer.headers.get("Cache-Control")?.includes("immutable"), isHashed, path);
      }
      const head = await fetch(url, { method: "HEAD", headers: BROWSER });
      assert.deepEqual([head.status, await head.text()], [200, ""], path);
    }
    const none = await fetch(`${boat.url}/assets/none.js`);
    assert.equal(none.status, 404);
    await none.body?.cancel();
  },
);

Deno.test("the whole page is at most 150 KB packed", () => {
  const bytes = assets.reduce((sum, { gzip }) => sum + Uint8Array.fromBase64(gzip).length, 0);
  assert.ok(bytes <= MAX_PAGE_BYTES, `${bytes}`);
});

Deno.test("a program gets the server's kind, state and paths as JSON", NET, async () => {
  await using boat = await TestBoat.start();
  for (const headers of [{}, { Accept: "*/*" }, { Accept: "application/json" }]) {
    const response = await fetch(`${boat.url}/`, { headers });
    const { kind, status, links } = await response.json();
    assert.deepEqual([kind, status, links.devices, links.API], ["boat", "ok", "/devices", "/openapi.json"]);
    for (const path of Object.values<string>(links)) {
      const answer = await fetch(boat.url + path);
      assert.equal(answer.status, 200, path);
      await answer.body?.cancel();
    }
  }
});

Deno.test("the link to the history shows the last 10 s of the recording", RECORDING, () =>
  inFolder(async (folder) => {
    await using boat = await TestBoat.start({
      stateDirectory: folder,
      journal: { directory: `${folder}/journal`, stateDirectory: folder },
    });
    const silent = await boat.get<{ links: Record<string, string> }>("/");
    assert.ok(silent.links["history"], "also while no bus has sent anything");
    boat.claim(7, { manufacturerCode: 229 });
    const { last_frame_at: last } = await boat.get<{ last_frame_at: string }>("/healthz");
    const { links: { history = "" } } = await boat.get<{ links: Record<string, string> }>("/");
    const from = new URL(history, boat.url).searchParams.get("from") ?? "";
    assert.equal(Date.parse(last) - Date.parse(from), 10_000);
    assert.equal((await boat.get<unknown[]>(history)).length, 1);
  }));

Deno.test("with tokens the page opens and asks for one; what it shows needs the token", NET, async () => {
  await using boat = await TestBoat.start({ tokens: [accessToken("reader", "se&cret", ["read"])] });
  const page = await fetch(`${boat.url}/`, { headers: BROWSER });
  assert.equal(page.status, 200);
  await page.body?.cancel();
  const closed = await fetch(`${boat.url}/`);
  assert.equal(closed.status, 401);
  await closed.body?.cancel();
  const open = await fetch(`${boat.url}/`, { headers: { Authorization: "Bearer se&cret" } });
  assert.equal(open.status, 200);
  await open.body?.cancel();
});

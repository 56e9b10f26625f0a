import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { TestBoat } from "../support/boat.ts";
import { Browser, hasPlaywright } from "../support/browser.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";
import { range } from "../support/session.ts";

const ROOT = new URL("../../", import.meta.url);
const READ = needs({ permissions: ["read"] });
const NODE = needs({ permissions: ["env", "net", "read", "run", "sys", "write"], programs: ["node"] });
const BROWSER = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["chromium"],
  others: { 'npm package "playwright-core"': hasPlaywright() },
});

/** What each platform does with the bundle; gives what it has seen. */
const SCENE = `async ({ connect, ApiError }, url) => {
  const client = connect(url, { token: "secret" });
  const [{ src }] = await client.devices();
  const refusal = await connect(url).devices().catch((error) => error instanceof ApiError && error.status);
  const live = [];
  for await (const { seq, decoded } of client.subscribe({ pgn: [127250] }, { decode: true })) {
    live.push([seq, decoded.heading_reference]);
    if (live.length === 5) break;
  }
  const session = client.session("page", { bufferTimeout: "PT1M", ackIntervalMs: 20 });
  const kept = [];
  const read = async (count) => {
    for await (const { seq } of session) {
      kept.push(seq);
      await session.ack(seq);
      if (--count === 0) break;
    }
  };
  await read(5);
  await read(5);
  const abort = new AbortController();
  const left = client.subscribe({ pgn: [1] }, { signal: abort.signal }).events();
  await left.next();
  const end = left.next().catch((error) => error.name);
  abort.abort();
  const { cursor } = await session.state();
  await session.delete();
  return { src, refusal, live, kept, cursor, end: await end };
}`;

interface Seen {
  src: number;
  refusal: number;
  live: [number, string][];
  kept: number[];
  cursor: number;
  end: string;
}

/** Bundles the client as for a browser. */
async function bundle(folder: string): Promise<string> {
  const path = `${folder}/client.mjs`;
  const args = [
    "bundle",
    "-q",
    "--no-lock",
    "--platform",
    "browser",
    "--format",
    "esm",
    "-o",
    path,
    "src/client/mod.ts",
  ];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: fileURLToPath(ROOT) }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return path;
}

/** Lets a boat speak while somebody listens, and judges what was seen. */
async function play(scene: (boat: TestBoat) => Promise<Seen>): Promise<void> {
  await using boat = await TestBoat.start({ tokens: [accessToken("reader", "secret", ["read"])] });
  boat.claim(7, {});
  const speaking = setInterval(() => boat.say({ src: 7, data: [0xff, 0, 0xab, 0xcd, 1, 2, 3, 0xfd] }), 5);
  try {
    const { src, refusal, live, kept, cursor, end } = await scene(boat);
    assert.deepEqual([src, refusal, end], [7, 401, "AbortError"]);
    const first = live[0]?.[0] ?? 0;
    assert.deepEqual(live, range(first, first + 4).map((seq) => [seq, "magnetic"]));
    assert.deepEqual(kept, range(kept[0] ?? 0, (kept[0] ?? 0) + 9));
    assert.equal(cursor, (kept.at(-1) ?? 0) + 1);
  } finally {
    clearInterval(speaking);
  }
}

Deno.test("the client takes from other folders nothing but types, and nothing from Deno or Node", READ, () => {
  for (const { name } of Deno.readDirSync(new URL("src/client/", ROOT))) {
    const text = Deno.readTextFileSync(new URL(`src/client/${name}`, ROOT));
    for (const [line, from] of text.matchAll(/^(?:import|export)\b[^;]*? from "([^"]+)";$/gm)) {
      const isOurs = /^\.\/|^eventsource-parser$/.test(from ?? "");
      assert.ok(isOurs || /^(?:import|export) type /.test(line), `${name}: ${line}`);
    }
    assert.doesNotMatch(text, /\bDeno\.\w|"node:|\bprocess\.|\bBuffer\b/, name);
  }
});

Deno.test(
  "in Node the bundled client reads devices, live frames and a session",
  NODE,
  () =>
    inFolder(async (folder) => {
      await bundle(folder);
      const program = `import * as client from "./client.mjs";
console.log(JSON.stringify(await (${SCENE})(client, process.argv[2])));
`;
      await Deno.writeTextFile(`${folder}/main.mjs`, program);
      await play(async ({ url }) => {
        const { stdout, stderr } = await new Deno.Command("node", { args: ["main.mjs", url], cwd: folder }).output();
        const text = new TextDecoder().decode(stdout);
        assert.ok(text !== "", new TextDecoder().decode(stderr));
        return JSON.parse(text);
      });
    }),
);

Deno.test(
  "in a real browser a page of somebody else's reads with the bundled client",
  BROWSER,
  () =>
    inFolder(async (folder) => {
      const script = await Deno.readTextFile(await bundle(folder));
      const site = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
        const isScript = new URL(request.url).pathname === "/client.mjs";
        return new Response(isScript ? script : "<!doctype html><body>", {
          headers: { "Content-Type": isScript ? "text/javascript" : "text/html" },
        });
      });
      try {
        await using browser = await Browser.start({ hosts: [] });
        const page = await browser.newPage();
        await page.goto(`http://127.0.0.1:${site.addr.port}/`);
        await play(async ({ url }) => {
          const call = `import("/client.mjs").then((client) => (${SCENE})(client, ${JSON.stringify(url)}))`;
          return JSON.parse(String(await page.evaluate(`${call}.then(JSON.stringify)`)));
        });
      } finally {
        await site.shutdown();
      }
    }),
);

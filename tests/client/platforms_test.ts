import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { dirname } from "node:path";
import { TestBoat } from "../support/boat.ts";
import { Browser, hasPlaywright } from "../support/browser.ts";
import { environment, type NeededPermission, needs, SLOW } from "../support/needs.ts";
import { findNode } from "../support/node.ts";
import { blockAfter } from "../support/pages.ts";
import { accessToken } from "../support/sending.ts";
import { range } from "../support/session.ts";

const ROOT = new URL("../../", import.meta.url);
const READ = needs({ permissions: ["read"] });
const PERMISSIONS: NeededPermission[] = ["env", "net", "read", "run", "sys", "write"];
const PROGRAMS = ["sh", "npm", "tar"];
const node = findNode();
const PACKAGE = needs({ permissions: PERMISSIONS, programs: PROGRAMS, extras: SLOW });
const NODE = needs({
  permissions: PERMISSIONS,
  programs: PROGRAMS,
  others: { "Node 20": node !== undefined },
  extras: SLOW,
});
const BROWSER = needs({
  permissions: PERMISSIONS,
  programs: [...PROGRAMS, "chromium"],
  others: { 'npm package "playwright-core"': hasPlaywright() },
  extras: SLOW,
});

/** What each platform does with the client; gives what it has seen. */
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

let made: Promise<string> | undefined;

/** A project that has the client as the guide for developers makes it from a clone; made once for all tests. */
function project(): Promise<string> {
  return made ??= makeProject();
}

async function makeProject(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "vbg_npm_test_" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  const clone = `${folder}/clone`;
  for (const name of CLONE) await cp(new URL(name, ROOT), `${clone}/${name}`, { recursive: true });
  await sh(
    await blockAfter("## Reading it from a program", { page: "docs/guide-developer.md", language: "sh" }),
    clone,
  );
  await Deno.writeTextFile(`${folder}/package.json`, '{ "private": true, "type": "module" }');
  await sh("npm install --offline --no-audit --no-fund ./clone/dist/*.tgz", folder);
  return folder;
}

/** What a clone has, as far as the package is made of it. */
const CLONE = ["LICENSE", "cli", "deno.json", "deno.lock", "mod.ts", "scripts", "src"];

async function sh(command: string, cwd: string): Promise<void> {
  const env = { PATH: `${dirname(Deno.execPath())}:${environment("PATH")}` };
  const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-euc", command], cwd, env }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, `${out}${err}`);
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
  "the npm package of the guide for developers reads devices, live frames and a session in Node",
  NODE,
  async () => {
    const cwd = await project();
    await Deno.writeTextFile(
      `${cwd}/main.js`,
      `import * as client from "@vessel/gateway/client";
console.log(JSON.stringify(await (${SCENE})(client, process.argv[2])));
`,
    );
    await play(async ({ url }) => {
      const { stdout, stderr } = await new Deno.Command(node ?? "node", { args: ["main.js", url], cwd }).output();
      const text = new TextDecoder().decode(stdout);
      assert.ok(text !== "", new TextDecoder().decode(stderr));
      return JSON.parse(text);
    });
  },
);

/** Whether the types of a program for the npm package are right, and what is wrong with them. */
async function checkTypes(folder: string, program: string): Promise<{ success: boolean; text: string }> {
  await Deno.writeTextFile(`${folder}/types.ts`, program);
  const args = ["check", "--quiet", "--no-config", "--no-lock", "--node-modules-dir=manual", "types.ts"];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder }).output();
  return { success, text: new TextDecoder().decode(stderr) };
}

Deno.test("a program in TypeScript knows the types of the npm package", PACKAGE, async () => {
  const folder = await project();
  const program = (field: string) =>
    `import { connect, type Device } from "@vessel/gateway/client";
const devices: Device[] = await connect("http://127.0.0.1").devices();
export const first: number | undefined = devices[0]?.${field};
`;
  for (const [field, isRight] of [["src", true], ["no_such_field", false], ["manufacturer", false]] as const) {
    const { success, text } = await checkTypes(folder, program(field));
    assert.equal(success, isRight, text);
  }
});

Deno.test("the program of the guide for developers is right by the types of the npm package", PACKAGE, async () => {
  const guide = { page: "docs/guide-developer.md", language: "ts" };
  const program = await blockAfter("## Reading it from a program", guide);
  const live = `for await (const { seq } of connect("http://127.0.0.1").subscribe()) console.log(seq.toFixed());
export const live = connect("http://127.0.0.1").subscribe()[Symbol.asyncIterator]().return();`;
  const { success, text } = await checkTypes(await project(), `${program}${live}\n`);
  assert.ok(success, text);
});

Deno.test("in a real browser a page of somebody else's reads with the file of the npm package", BROWSER, async () => {
  const script = await Deno.readTextFile(`${await project()}/node_modules/@vessel/gateway/client.js`);
  const site = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const isScript = new URL(request.url).pathname === "/client.js";
    return new Response(isScript ? script : "<!doctype html><body>", {
      headers: { "Content-Type": isScript ? "text/javascript" : "text/html" },
    });
  });
  try {
    await using browser = await Browser.start({ hosts: [] });
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${site.addr.port}/`);
    await play(async ({ url }) => {
      const call = `import("/client.js").then((client) => (${SCENE})(client, ${JSON.stringify(url)}))`;
      return JSON.parse(String(await page.evaluate(`${call}.then(JSON.stringify)`)));
    });
  } finally {
    await site.shutdown();
  }
});

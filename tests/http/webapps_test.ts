import assert from "node:assert/strict";
import { findWebApps } from "../../src/http/mod.ts";
import { Logger } from "../../src/base/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { rawRequest } from "../support/raw_http.ts";
import { tokenOf } from "./auth_server.ts";

const DISK = needs({ permissions: ["read", "write", "net"] });

/** An npm package with a page, as a web app or not. */
async function makePackage(
  folder: string,
  name: string,
  { keywords = ["signalk-webapp"] }: { keywords?: string[] } = {},
) {
  const path = `${folder}/${name}`;
  await Deno.mkdir(`${path}/public/assets`, { recursive: true });
  await Deno.writeTextFile(
    `${path}/package.json`,
    JSON.stringify({ name, keywords, signalk: { displayName: `App ${name}` } }),
  );
  await Deno.writeTextFile(`${path}/public/index.html`, `<h1>${name}</h1>`);
  await Deno.writeTextFile(`${path}/public/assets/a b.js`, "1;".repeat(1000));
  await Deno.writeTextFile(`${path}/secret.txt`, "secret");
}

Deno.test(
  "web apps are served from npm packages without a token, and linked at /; nothing else of the disk is",
  DISK,
  () =>
    inFolder(async (folder) => {
      await makePackage(`${folder}/node_modules`, "@scope/kip");
      await makePackage(folder, "plain");
      await makePackage(folder, "no-app", { keywords: ["library"] });
      await Deno.symlink("../secret.txt", `${folder}/plain/public/link.txt`);
      await using boat = await TestBoat.start({
        webApps: folder,
        signalk: {},
        tokens: [tokenOf("reader", "secret-token", ["read"])],
      });
      const status = async (path: string) => {
        const response = await fetch(boat.url + path, { redirect: "manual" });
        return [response.status, await response.text()];
      };
      assert.deepEqual(await status("/@scope/kip/"), [200, "<h1>@scope/kip</h1>"]);
      assert.deepEqual(await status("/@scope/kip"), [308, ""]);
      assert.deepEqual(await status("/plain/assets/a%20b.js"), [200, "1;".repeat(1000)]);
      assert.equal((await status("/no-app/"))[0], 401, "not served, so it asks for a token as any path");
      for (
        const path of [
          ...["/plain/../secret.txt", "/plain/%2e%2e/secret.txt", "/plain/..%2fsecret.txt", "/plain/link.txt"],
          ...[
            "/plain/assets",
            "/plain/none",
            "/plain/%00",
            "/plain/%ff",
            "/plain//etc/passwd",
            "/plain/%2fetc%2fpasswd",
          ],
        ]
      ) {
        const reply = await rawRequest(boat.url + path);
        assert.ok([401, 404].includes(reply.status), `${path}: ${reply.status}`);
        assert.doesNotMatch(await reply.text(), /^secret|root:/, path);
      }
      const home = await fetch(boat.url, { headers: { Authorization: "Bearer secret-token" } });
      const { web_apps } = await home.json();
      assert.deepEqual(web_apps, [
        { title: "App @scope/kip", path: "/@scope/kip/" },
        { title: "App plain", path: "/plain/" },
      ]);
    }),
);

Deno.test("a directory without web apps is told in the log", DISK, () =>
  inFolder(async (folder) => {
    const lines: string[] = [];
    const log = new Logger({ write: (line) => lines.push(line) });
    assert.deepEqual(await findWebApps(`${folder}/nothing`, log), []);
    assert.match(lines.join(), /no web app found/);
  }));

import assert from "node:assert/strict";
import { defaultConfigPath, EMPTY_CONFIG, loadClientConfig, readClientConfig } from "../../cli/client/client_config.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CommandRun } from "./dump_run.ts";

const FILES = needs({ permissions: ["env", "read", "sys", "write"] });

const FILE = `
default-boat = aurora
mdns-timeout = 500ms
exclude-pgn = 60928
boats {
  aurora { mdns = "aurora-gateway", cloud = "https://cloud.example.com", token = "secret", exclude-pgn = [126993, 126996] }
  "s/v borealis" { cloud = "https://cloud.example.com/instances/b", exclude-name = ["0xc0509635e772ee1f"] }
}
`;

/** What is wrong with a tree. */
function complaint(tree: unknown): string {
  try {
    readClientConfig(tree, "vbg.conf");
  } catch (error) {
    return error instanceof Error ? error.message.replace('Cannot use config file "vbg.conf": ', "") : "";
  }
  return "";
}

Deno.test("the configuration names boats with their places, tokens and exclusions", FILES, async () => {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/vbg`);
    await Deno.writeTextFile(`${folder}/vbg/vbg.conf`, FILE);
    const config = await loadClientConfig({ path: undefined, environment: { XDG_CONFIG_HOME: folder } });
    assert.deepEqual(config, {
      path: `${folder}/vbg/vbg.conf`,
      defaultBoat: "aurora",
      mdnsTimeoutMs: 500,
      exclude: { pgns: [60928], names: [] },
      boats: new Map([
        ["aurora", {
          mdns: "aurora-gateway",
          cloud: "https://cloud.example.com",
          token: "secret",
          exclude: { pgns: [126993, 126996], names: [] },
        }],
        ["s/v borealis", {
          mdns: undefined,
          cloud: "https://cloud.example.com/instances/b",
          token: undefined,
          exclude: { pgns: [], names: ["0xc0509635e772ee1f"] },
        }],
      ]),
    });
  });
});

Deno.test("a configuration that nobody named need not be there; one that was named must", FILES, async () => {
  await inFolder(async (folder) => {
    const environment = { HOME: folder };
    assert.equal(defaultConfigPath(environment), `${folder}/.config/vbg/vbg.conf`);
    assert.deepEqual(await loadClientConfig({ path: undefined, environment }), EMPTY_CONFIG);
    const path = `${folder}/mine.conf`;
    await assert.rejects(loadClientConfig({ path, environment }), { message: `config file not found: ${path}` });
    await Deno.writeTextFile(path, "boats { a { mdns = x }");
    await assert.rejects(loadClientConfig({ path, environment }), /is never closed/);
  });
});

Deno.test("a mistake in the configuration is exit code 2 and one line", FILES, async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/vbg.conf`, "boat { a { mdns = x } }");
    const { code, complaints } = await CommandRun.end(["dump", "-config", `${folder}/vbg.conf`]);
    assert.equal(code, 2);
    const why = 'unknown key "boat": did you mean "boats"?';
    assert.equal(complaints, `vbg dump: Cannot use config file "${folder}/vbg.conf": ${why}`);
  });
});

Deno.test("what cannot be used is named by its key", () => {
  assert.equal(complaint({ boats: { a: { mdn: "x" } } }), 'unknown key "boats.a.mdn": did you mean "mdns"?');
  assert.equal(complaint({ boats: { a: {} } }), "boats.a has neither mdns nor cloud");
  assert.equal(complaint({ boats: { a: 1 } }), "boats.a must be a section");
  assert.equal(complaint({ boats: [] }), "boats must be a section of boats");
  assert.equal(complaint({ boats: { a: { mdns: ["x"] } } }), "boats.a.mdns must be a text");
  assert.match(complaint({ boats: { a: { cloud: "cloud" } } }), /^boats.a.cloud is "cloud": expected an address/);
  const token = complaint({ boats: { a: { mdns: "x", token: "…" } } });
  assert.equal(token, "boats.a.token cannot be used: expected ASCII without spaces");
  assert.match(complaint({ "exclude-pgn": [1, "x"] }), /^exclude-pgn has "x": expected a PGN/);
  assert.match(complaint({ "exclude-pgn": 999999 }), /^exclude-pgn has "999999": expected a PGN/);
  assert.match(complaint({ "exclude-name": "zz" }), /^exclude-name has "zz": expected a NAME/);
  assert.match(complaint({ "mdns-timeout": "soon" }), /^mdns-timeout: /);
  assert.match(complaint([]), /^expected keys and values/);
});

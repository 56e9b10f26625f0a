import assert from "node:assert/strict";
import { boatOptions } from "../../cli/settings/boat_options.ts";
import { cloudOptions } from "../../cli/settings/cloud_options.ts";
import { FIXED_LIMITS } from "../../scripts/fixed_limits.ts";
import { limitsPage } from "../../scripts/limits_page.ts";
import { boatProgram } from "../../cli/boat.ts";
import { settingNames } from "../../cli/settings/options.ts";
import { OptionGroup } from "../../cli/settings/option_types.ts";
import { manPages, programManPage, writeManPages } from "../../scripts/man.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

/** How an option is called that limits something. */
const LIMITING = /(^|-)max-|-(age|backlog|buffer|burst|bytes|limit|memory|rate|size|timeout)$/;
/** Options that are called so and limit nothing that a stranger or a fault could reach. */
const EXCEPTIONS: Record<string, string> = {
  "bus-silence-timeout": "from when a silent bus gives an alert",
  "journal-block-size": "how blocks are made",
  "journal-rotate-size": "when a new file begins",
  "replication-max-reconnect-delay": "longest of our own waits",
};

Deno.test("every option that limits something says what happens beyond the limit", () => {
  const page = limitsPage();
  for (const { name, beyond } of [...Object.values(boatOptions), ...Object.values(cloudOptions)]) {
    if (!LIMITING.test(name)) continue;
    if (name in EXCEPTIONS) assert.equal(beyond, undefined, `${name} is no exception any more`);
    else assert.ok(beyond && page.includes(beyond), `${name} has no text "beyond"`);
  }
});

Deno.test("a limit that no setting changes has its number from the code, and a sentence on what happens beyond it", () => {
  const page = limitsPage();
  for (const { what, limit, beyond } of FIXED_LIMITS) {
    assert.match(limit, /\d/, what);
    assert.match(beyond, /^[A-Z0-9].*\.$/, what);
    assert.ok(page.includes(`| ${what} | ${limit} | ${beyond} |`), what);
  }
  assert.equal(new Set(FIXED_LIMITS.map(({ what }) => what)).size, FIXED_LIMITS.length);
});

const MAN = needs({ permissions: ["env", "write", "sys"], programs: ["man", "groff"] });
const NEEDS = needs({ permissions: ["env", "sys"] });
const PAGE = { section: 1, version: "1.2.3", related: ["other(8)"] } as const;

/** What a reader sees, in wide lines. */
async function read(page: string): Promise<{ shown: string; warnings: string }> {
  let result = { shown: "", warnings: "" };
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/page.1`, page);
    const env = { MANWIDTH: "200", MAN_KEEP_FORMATTING: "", LC_ALL: "C.UTF-8", MANROFFOPT: "" };
    const { stdout, stderr } = await new Deno.Command("man", {
      args: ["--warnings", "-P", "cat", "-l", `${folder}/page.1`],
      env,
    })
      .output();
    const decoder = new TextDecoder();
    result = { shown: decoder.decode(stdout), warnings: decoder.decode(stderr) };
  });
  return result;
}

Deno.test("man finds nothing wrong with any page, and shows every flag", MAN, async () => {
  for (const [name, print] of Object.entries(manPages)) {
    const { shown, warnings } = await read(await print());
    assert.equal(warnings, "", name);
    for (const title of ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"]) {
      assert.match(shown, new RegExp(`^${title}$`, "m"), `${name}: ${title}`);
    }
  }
  const { shown } = await read(await manPages["vbg-boat.8"]!());
  for (const key of settingNames(boatProgram.options)) {
    const { name, onCommandLine } = boatProgram.options[key];
    if (onCommandLine) assert.ok(shown.includes(` -${name}`), name);
  }
});

Deno.test("words that roff would take for its own are shown as they are", MAN, async () => {
  const help = `.SH is no heading\n'quoted' a\\b -dash "double"`;
  const options = { odd: new OptionGroup('Group "A"').text({ name: "odd", default: "\\n", help }) };
  const { shown, warnings } = await read(programManPage({ name: "odd", summary: "does .odd things", options }, PAGE));
  assert.equal(warnings, "");
  for (
    const part of [".SH is no heading", `'quoted' a\\b -dash "double" Default: \\n.`, 'Group "A"', "odd - does .odd"]
  ) {
    assert.ok(shown.includes(part), `${part} in ${shown}`);
  }
});

Deno.test("pages are written under the names that man looks for, the same each time", MAN, async () => {
  await inFolder(async (folder) => {
    const paths = await writeManPages(`${folder}/man`);
    assert.deepEqual(paths, ["vbg.1", "vbg-boat.8", "vbg-cloud.8"].map((name) => `${folder}/man/${name}`));
    const first = await Promise.all(paths.map((path) => Deno.readTextFile(path)));
    await writeManPages(`${folder}/man`);
    assert.deepEqual(await Promise.all(paths.map((path) => Deno.readTextFile(path))), first);
  });
});

Deno.test("a page of commands has a section for each", NEEDS, async () => {
  const page = await manPages["vbg-cloud.8"]!();
  for (const command of ["vbg\\-cloud ca init", "vbg\\-cloud ca issue"]) {
    assert.ok(page.includes(`.SH "${command}"`), command);
  }
});

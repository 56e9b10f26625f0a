import assert from "node:assert/strict";
import { flattenConfig, parseHocon } from "../../cli/settings/hocon.ts";
import { mdnsChecks, mdnsOptions, type MdnsSettings } from "../../cli/settings/mdns_options.ts";
import { parseCommandLine, resolveSettings } from "../../cli/settings/options.ts";
import { needs } from "../support/needs.ts";

/** The file's parser asks for the home directory. */
const HOCON = needs({ permissions: ["env", "read", "sys"] });

function resolve(...args: string[]) {
  const { flags, error } = parseCommandLine(args, mdnsOptions);
  assert.equal(error, undefined);
  return resolveSettings<MdnsSettings>(mdnsOptions, { flags, checks: mdnsChecks });
}

Deno.test("the server is announced by the machine's name unless it is told otherwise", () => {
  assert.deepEqual(resolve().settings, { mdns: true, mdnsName: "", mdnsLplex: false });
  assert.deepEqual(resolve("-mdns=false").settings, { mdns: false, mdnsName: "", mdnsLplex: false });
  assert.deepEqual(resolve("-mdns-name", "Étoile du Nord").settings, {
    ...{ mdns: true, mdnsName: "Étoile du Nord", mdnsLplex: false },
  });
});

Deno.test("a name that DNS cannot carry is refused, and one that is not used is told", () => {
  for (const name of ["a.b", "x".repeat(64), " "]) {
    const { settings, problems } = resolve("-mdns-name", name);
    assert.equal(settings, undefined);
    assert.match(problems[0]?.message ?? "", /Cannot use the name/);
  }
  const { settings, problems } = resolve("-mdns=false", "-mdns-name", "aurora");
  assert.equal(settings?.mdnsName, "aurora");
  assert.deepEqual(problems.map(({ severity }) => severity), ["warning"]);
});

Deno.test("the file has a switch and a name, which do not take each other's place", HOCON, async () => {
  const { values, unknown } = flattenConfig(await parseHocon('mdns = false, mdns-name = "aurora"'), mdnsOptions);
  assert.deepEqual(unknown, []);
  const { settings } = resolveSettings<MdnsSettings>(mdnsOptions, { config: values, checks: mdnsChecks });
  assert.deepEqual(settings, { mdns: false, mdnsName: "aurora", mdnsLplex: false });
});

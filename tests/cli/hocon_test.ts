import assert from "node:assert/strict";
import { loadConfigFile } from "../../cli/settings/config_file.ts";
import { flattenConfig, parseHocon } from "../../cli/settings/hocon.ts";
import { OptionGroup } from "../../cli/settings/option_types.ts";
import { type Options, resolveSettings } from "../../cli/settings/options.ts";
import { needs } from "../support/needs.ts";

// The parser looks at the environment and the home directory when it is loaded.
const parser = needs({ permissions: ["env", "read", "sys"] });
const files = needs({ permissions: ["env", "read", "sys", "write"] });

const words = { help: "Help." };
const group = new OptionGroup("Group");
const table = {
  port: group.integer({ ...words, name: "port", default: 0 }),
  dir: group.text({ ...words, name: "journal-dir", key: "journal.dir", default: "" }),
  rotate: group.duration({
    ...words,
    name: "journal-rotate-duration",
    key: ["journal.rotate-duration", "journal.rotate.duration"],
    default: 0,
  }),
  mdns: group.text({ ...words, name: "mdns", default: "" }),
  mdnsName: group.text({ ...words, name: "mdns-name", key: "mdns.name", default: "" }),
  buses: group.list({ ...words, name: "interface", key: ["interface", "interfaces"], commas: true, default: [] }),
  rules: group.structured<unknown>({
    ...words,
    name: "send-rules",
    key: "send.rules",
    default: undefined,
    parse: (value) => value,
    format: (value) => value === undefined ? undefined : JSON.stringify(value),
  }),
};
type Sample = { [K in keyof typeof table]: ReturnType<(typeof table)[K]["default"]> };
const options: Options<Sample> = table;

async function read(hocon: string): Promise<Sample> {
  const { values, unknown } = flattenConfig(await parseHocon(hocon), options);
  assert.deepEqual(unknown, []);
  const { settings, problems: wrong } = resolveSettings(options, { config: values });
  assert.ok(settings, wrong.map(({ message }) => message).join());
  return settings;
}

async function unknownKeys(hocon: string): Promise<string[]> {
  return flattenConfig(await parseHocon(hocon), options).unknown.map(({ key, nearest }) => `${key}: ${nearest}`);
}

Deno.test("numbers and texts mean the same, nested and dotted keys too", parser, async () => {
  for (
    const hocon of [
      "port = 80",
      'port: "80"',
      '"port" = 80',
      "{ port: 80 }",
      "port = 1, port = 80",
      "\uFEFFport = 80\r\n",
    ]
  ) {
    assert.equal((await read(hocon)).port, 80, hocon);
  }
  for (
    const hocon of [
      "journal.rotate.duration = 5m",
      "journal.rotate-duration = PT5M",
      "journal { rotate { duration = 5m } }",
      'journal.rotate { duration = "5m" }',
      "journal { rotate-duration = 300s }",
      "journal { rotate.duration = 1m }\njournal.rotate.duration = 5m",
    ]
  ) assert.equal((await read(hocon)).rotate, 300_000, hocon);
});

Deno.test("texts keep their punctuation, quoted or not", parser, async () => {
  for (
    const [hocon, dir] of [
      ['journal.dir = "/var/lib/a-b:c,d e_f.g"', "/var/lib/a-b:c,d e_f.g"],
      ["journal.dir = /var/lib/a-b_c.d", "/var/lib/a-b_c.d"],
      ["journal.dir = two words # comment", "two words"],
      ["journal.dir = 00a1b2c3", "00a1b2c3"],
      ["journal.dir = 00112233", "00112233"],
      ['journal.dir = "1234e5"', "1234e5"],
      ["journal.dir = 1234e56f", "1234e56f"],
      ['journal.dir = "}]{["', "}]{["],
      ['journal.dir = """a "b" }"""', 'a "b" }'],
      ['journal.dir = "a\\"}b\\u0041"', 'a"}bA'],
      ['journal.dir = ""', ""],
    ] as const
  ) assert.equal((await read(hocon)).dir, dir, hocon);
});

Deno.test("lists are lists, single values, or additions", parser, async () => {
  for (
    const hocon of [
      "interfaces = [can0, can1]",
      'interfaces = ["can0", "can1",]',
      "interfaces = [\n can0 // one\n can1\n]",
      'interface = "can0,can1"',
      "interface = [can0]\ninterface += can1",
      'interface += "can0"\ninterface += can1',
    ]
  ) assert.deepEqual((await read(hocon)).buses, ["can0", "can1"], hocon);
  assert.deepEqual((await read("interface = [1]\ninterface += 2")).buses, ["1", "2"]);
});

Deno.test("substitutions come from the file or the environment", parser, async () => {
  assert.equal((await read("journal.dir = a\njournal.dir = ${?VBG_TEST_NOT_THERE}")).dir, "a");
  assert.equal((await read('journal.dir = ${HOME}"/log"')).dir, `${Deno.env.get("HOME")}/log`);
  assert.equal((await read("port = 7\njournal.dir = ${port}")).dir, "7");
});

Deno.test("null takes a value away", parser, async () => {
  assert.equal((await read("port = 5\nport = null")).port, 0);
});

Deno.test("a structured key hands its sub-tree over as parsed", parser, async () => {
  const { rules } = await read('send.rules = [{ pgn = 59904, deny = true }, "x", { name = [a, b] }]');
  assert.deepEqual(rules, [{ deny: true, pgn: 59904 }, "x", { name: ["a", "b"] }]);
  assert.deepEqual((await read("send { rules { a = 1, b.c = 2 } }")).rules, { a: 1, b: { c: 2 } });
});

Deno.test("a key may be a value and a section", parser, async () => {
  assert.equal((await read("mdns = off")).mdns, "off");
  assert.equal((await read("mdns { name = boat }")).mdnsName, "boat");
});

Deno.test("an unknown key names the nearest known one", parser, async () => {
  assert.deepEqual(await unknownKeys("prot = 1"), ["prot: port"]);
  assert.deepEqual(await unknownKeys("journal { dri = x, rotate.duraton = 5m }"), [
    "journal.dri: journal.dir",
    "journal.rotate.duraton: journal.rotate.duration",
  ]);
  assert.deepEqual(await unknownKeys("port = 1\ninterface = can0"), []);
});

Deno.test("a section where a value belongs is unknown below or refused", parser, async () => {
  const { values } = flattenConfig(await parseHocon("port { number = 1 }"), options);
  const { problems } = resolveSettings(options, { config: values });
  assert.match(problems[0]?.message ?? "", /expected one value, found a section/);
});

Deno.test("a text that is no HOCON is refused with line and column", parser, async () => {
  const cases: [hocon: string, message: RegExp][] = [
    ["port = 1\nx = [1", /"text": "\[" is never closed at line 2, column 5$/],
    ["journal {\n dir = x\n", /"\{" is never closed at line 1, column 9$/],
    ['journal.dir = "x', /Quoted string not closed at line 1/],
    [
      "listen = 127.0.0.1:80",
      /Unexpected token ":" \(a value with : in it must be written in quotes\) at line 1, column 19$/,
    ],
    ["port", /No value specified for the field at line 1, column 1$/],
    ["port = ${VBG_TEST_NOT_THERE}", /Unable to resolve 'VBG_TEST_NOT_THERE' at line 1, column 8$/],
    ["port = 1 }\n# end", /Unexpected "}" at line 1, column 10$/],
    ["interface = [can0]]\nport = 1", /Unexpected "]" at line 1, column 19$/],
    ["interface = [can0}\n", /Unexpected "}" at line 1, column 18$/],
    ["interface += can 0", /Several words after \+= must be written in quotes at line 1, column 11$/],
    ["port = 1\n journal.dir = 1234e5", /The number 1234e5 must be written in quotes at line 2, column 16$/],
    ["send.rules = [{ name = 9007199254740993 }]", /The number 9007199254740993 must be written in quotes/],
    ["journal.dir = 1e+5", /The number 1e\+5 must be written in quotes/],
    ["[1, 2]", /expected keys and values, found a list/],
    ["toString = 1", /Cannot read config file/],
  ];
  for (const [hocon, message] of cases) {
    await assert.rejects(parseHocon(hocon), { name: "HoconError", message }, hocon);
  }
});

Deno.test("a text of nothing but comments is an empty file", parser, async () => {
  for (const hocon of ["", "\n", "# nothing\n// here }\n"]) assert.deepEqual(await parseHocon(hocon), {}, hocon);
});

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "vbg config #1 " });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test(
  "a file includes others relative to itself, and a mistake in them names them",
  files,
  () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/more.conf`, "port = 81\njournal.dir = x");
      // The name of the file does not matter to us, though it does to the parser.
      await Deno.writeTextFile(`${folder}/settings`, 'include "more.conf"\ninclude "missing.conf"\nport = 82');
      const { values, problems } = await loadConfigFile(options, { path: `${folder}/settings`, places: [] });
      assert.deepEqual(problems, []);
      assert.deepEqual([...values].sort(), [["journal.dir", "x"], ["port", 82]]);
      await Deno.writeTextFile(`${folder}/more.conf`, "port = [81");
      const broken = await loadConfigFile(options, { path: `${folder}/settings`, places: [] });
      assert.match(broken.problems[0]?.message ?? "", /more\.conf": The array is not closed at line 1/);
    }),
);

Deno.test("a missing file and a folder are told apart", files, () =>
  inFolder(async (folder) => {
    const load = async (path: string) => (await loadConfigFile(options, { path, places: [] })).problems[0]?.message;
    assert.equal(await load(`${folder}/none.conf`), `config file not found: ${folder}/none.conf`);
    assert.equal(await load(folder), `config path is a directory: ${folder}`);
  }));

Deno.test("without a path the first file there is taken, or none", files, () =>
  inFolder(async (folder) => {
    const places = [`${folder}/one.conf`, `${folder}/two.conf`];
    assert.equal((await loadConfigFile(options, { path: undefined, places })).path, undefined);
    await Deno.writeTextFile(`${folder}/two.conf`, "port = 2");
    assert.equal((await loadConfigFile(options, { path: undefined, places })).path, places[1]);
    await Deno.writeTextFile(`${folder}/one.conf`, "port = 1");
    const { path, values } = await loadConfigFile(options, { path: undefined, places });
    assert.deepEqual([path, values.get("port")], [places[0], 1]);
  }));

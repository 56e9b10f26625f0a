import assert from "node:assert/strict";
import { optional, OptionGroup } from "../../cli/settings/option_types.ts";
import {
  type Check,
  type Inputs,
  type Option,
  type Options,
  parseCommandLine,
  resolveSettings,
} from "../../cli/settings/options.ts";

interface Sample {
  name: string;
  loud: boolean;
  count: number;
  ratio: number;
  wait: number;
  room: number;
  slots: number;
  mode: "fast" | "slow";
  buses: readonly string[];
  tags: readonly string[];
  listen: { hostname: string; port: number } | undefined;
  quiet: number | undefined;
  secret: string;
  rules: readonly string[];
}

const words = { help: "Help." };
const group = new OptionGroup("Group");
const sample: Options<Sample> = {
  name: group.text({ ...words, name: "name", default: "boat" }),
  loud: group.boolean({ ...words, name: "loud", default: false }),
  count: group.integer({ ...words, name: "max-count", default: 3, max: 100 }),
  ratio: group.number({ ...words, name: "ratio", default: 1, max: 1 }),
  wait: group.duration({ ...words, name: "wait", key: ["wait.for", "wait-for"], default: 1000, maxMs: 3_600_000 }),
  room: group.size({ ...words, name: "room", default: 0, maxBytes: 1e12 }),
  slots: group.powerOfTwo({ ...words, name: "slots", default: 16, min: 16, max: 1024 }),
  mode: group.oneOf({ ...words, name: "mode", default: "fast", choices: ["fast", "slow"] }),
  buses: group.list({
    ...words,
    name: "bus",
    aliases: ["buses"],
    key: ["bus", "buses"],
    commas: true,
    default: ["can0"],
    validate: (bus) => bus.includes(" ") ? `Cannot use "${bus}"` : undefined,
  }),
  tags: group.list({ ...words, name: "tag", default: [] }),
  listen: group.address({ ...words, name: "listen" }),
  quiet: optional(group.duration({ ...words, name: "quiet", default: 0 })),
  secret: group.text({
    ...words,
    name: "secret",
    secret: true,
    default: "",
    validate: (value) => value === "bad" ? `Cannot use "${value}"` : undefined,
  }),
  rules: group.structured({
    ...words,
    name: "rules",
    default: [],
    parse: (value) => {
      if (!Array.isArray(value)) throw new RangeError("Cannot read the rules: expected a list");
      return value.map((rule) => JSON.stringify(rule));
    },
    parseText: (value) => value.split(";"),
    format: (rules) => rules.length === 0 ? undefined : rules.join(";"),
  }),
};

function readFlags(...args: string[]): Sample {
  const { flags, error } = parseCommandLine(args, sample);
  assert.equal(error, undefined);
  return settingsOf({ flags });
}

function settingsOf(inputs: Inputs): Sample {
  const { settings, problems } = resolveSettings(sample, inputs);
  assert.ok(settings, problems.map(({ message }) => message).join("\n"));
  return settings;
}

function messageOf(flag: string, value: string): string {
  const { flags, error } = parseCommandLine([`-${flag}=${value}`], sample);
  assert.equal(error, undefined);
  const { problems, settings } = resolveSettings(sample, { flags });
  assert.equal(settings, undefined, `-${flag}=${value} was accepted`);
  assert.equal(problems.length, 1);
  return problems[0]!.message;
}

Deno.test("a flag is written with one or two dashes, with = or with the next word", () => {
  for (const args of [["-name", "x"], ["-name=x"], ["--name", "x"], ["--name=x"]]) {
    assert.equal(readFlags(...args).name, "x", args.join(" "));
  }
  assert.equal(readFlags("-name=a=b").name, "a=b");
  assert.equal(readFlags("-name=").name, "");
  assert.equal(readFlags("-name", "").name, "");
  assert.equal(readFlags("-name", "two\nlines").name, "two\nlines");
  assert.equal(readFlags("-name=two\nlines").name, "two\nlines");
});

Deno.test("a switch is bare or has a value after =, and takes no next word", () => {
  assert.equal(readFlags("-loud").loud, true);
  assert.equal(readFlags("--loud").loud, true);
  assert.equal(readFlags("-loud=false").loud, false);
  assert.equal(readFlags("-loud=no", "-loud").loud, true);
  assert.deepEqual(parseCommandLine(["-loud", "false"], sample).positionals, ["false"]);
});

Deno.test("the last of several values of a scalar wins, a list keeps all", () => {
  assert.equal(readFlags("-name=a", "--name", "b").name, "b");
  assert.deepEqual(readFlags("-bus", "can0", "-bus=can1, can2,", "-bus", "can3").buses, [
    "can0",
    "can1",
    "can2",
    "can3",
  ]);
  assert.deepEqual(readFlags("-tag", "a,b", "-tag", "c").tags, ["a,b", "c"]);
});

Deno.test("the plural of a list overrides the singular, whatever their order", () => {
  assert.deepEqual(readFlags("-buses", "can1,can2", "-bus", "can0").buses, ["can1", "can2"]);
  assert.deepEqual(settingsOf({ config: new Map<string, unknown>([["buses", ["x"]], ["bus", "y"]]) }).buses, ["x"]);
});

Deno.test("a value may start with a dash", () => {
  assert.equal(readFlags("-name", "-x").name, "-x");
  assert.equal(readFlags("-name", "--").name, "--");
  assert.match(messageOf("max-count", "-5"), /"-5"/);
});

Deno.test("words that are no flags are positionals", () => {
  const { positionals, flags } = parseCommandLine(["a", "-", "-name", "x", "b", "--", "-loud"], sample);
  assert.deepEqual(positionals, ["a", "-", "b", "-loud"]);
  assert.deepEqual([...flags.keys()], ["name"]);
});

Deno.test("an unknown flag names the nearest one", () => {
  for (
    const [arg, nearest] of [["-nmae", "name"], ["--max-cuont=3", "max-count"], ["-l", "loud"], ["-lisen", "listen"], [
      "-max",
      "max-count",
    ]]
  ) {
    const { error } = parseCommandLine([arg!], sample);
    assert.match(error ?? "", new RegExp(`^Unknown flag -[\\w-]+: did you mean -${nearest}\\?$`), arg ?? "");
  }
});

Deno.test("an unknown flag that is like no other gets no hint", () => {
  assert.equal(parseCommandLine(["-frobnicate"], sample).error, "Unknown flag -frobnicate");
});

Deno.test("a flag without its value is named", () => {
  assert.equal(parseCommandLine(["-loud", "-wait"], sample).error, "Missing value of flag -wait: expected DURATION");
});

Deno.test("values of every type are read", () => {
  assert.equal(readFlags("-max-count", "100").count, 100);
  assert.equal(readFlags("-ratio", ".25").ratio, 0.25);
  assert.equal(readFlags("-ratio", "1e-2").ratio, 0.01);
  for (
    const [value, ms] of [["5m", 300_000], ["PT5M", 300_000], ["1m30s", 90_000], ["250ms", 250], ["0", 0]] as const
  ) {
    assert.equal(readFlags("-wait", value).wait, ms, value);
  }
  for (const [value, bytes] of [["4096", 4096], ["10GB", 1e10], ["512KiB", 524288], ["1 MiB", 1048576]] as const) {
    assert.equal(readFlags("-room", value).room, bytes, value);
  }
  assert.equal(readFlags("-slots", "1024").slots, 1024);
  assert.equal(readFlags("-mode", "SLOW").mode, "slow");
  for (const value of ["true", "yes", "on", "1", "TRUE"]) assert.equal(readFlags(`-loud=${value}`).loud, true);
  for (const value of ["false", "no", "off", "0"]) assert.equal(readFlags("-loud", `-loud=${value}`).loud, false);
  assert.deepEqual(readFlags("-rules", "a;b").rules, ["a", "b"]);
  assert.equal(readFlags("-quiet", "5s").quiet, 5000);
  assert.equal(readFlags("-quiet", "5s", "-quiet=").quiet, undefined);
});

Deno.test("an address is host:port, [ipv6]:port or :port", () => {
  assert.deepEqual(readFlags("-listen", "127.0.0.1:8089").listen, { hostname: "127.0.0.1", port: 8089 });
  assert.deepEqual(readFlags("-listen", "localhost:0").listen, { hostname: "localhost", port: 0 });
  assert.deepEqual(readFlags("-listen", "[::1]:8089").listen, { hostname: "::1", port: 8089 });
  assert.deepEqual(readFlags("-listen", ":8089").listen, { hostname: "::", port: 8089 });
  assert.equal(readFlags("-listen=").listen, undefined);
});

Deno.test("a bad value of every type is quoted and told what is expected", () => {
  const cases: [flag: string, value: string, message: RegExp][] = [
    ["loud", "maybe", /"maybe": expected true or false/],
    ["loud", "", /"": expected true or false/],
    ["max-count", "x", /"x": expected a whole number from 0 to 100/],
    ["max-count", "1.5", /"1.5": expected a whole number/],
    ["max-count", "", /"": expected a whole number/],
    ["max-count", "101", /"101"/],
    ["max-count", "0x10", /"0x10"/],
    ["max-count", "1e1", /"1e1"/],
    ["ratio", "NaN", /"NaN": expected a number from 0 to 1/],
    ["ratio", "1.01", /"1.01"/],
    ["ratio", "Infinity", /"Infinity"/],
    ["wait", "5", /"5": expected ISO 8601 such as PT5M, or 5m/],
    ["wait", "PT", /"PT"/],
    ["wait", "P1M", /"P1M"/],
    ["wait", "-5m", /"-5m"/],
    ["wait", "2h", /"2h": expected 0s to 1h/],
    ["wait", `${"9".repeat(400)}s`, /it is too long/],
    ["room", "10XB", /"10XB": expected bytes/],
    ["room", "-1", /"-1"/],
    ["room", "2TB", /"2TB": expected bytes from 0 to 1000000000000/],
    ["slots", "17", /"17": expected a power of two from 16 to 1024/],
    ["slots", "8", /"8"/],
    ["slots", "2048", /"2048"/],
    ["slots", "-16", /"-16"/],
    ["mode", "medium", /"medium": expected fast, slow/],
    ["bus", "a,b c", /Cannot use "b c"/],
    ["listen", "8089", /"8089": expected host:port such as 127.0.0.1:8089/],
    ["listen", "::1:8089", /"::1:8089"/],
    ["listen", "host:65536", /"host:65536"/],
    ["listen", "a b:1", /"a b:1"/],
    ["listen", "[::1]", /"\[::1\]"/],
    ["quiet", "soon", /"soon"/],
  ];
  for (const [flag, value, message] of cases) assert.match(messageOf(flag, value), message);
});

Deno.test("the message about a secret does not quote it", () => {
  assert.equal(messageOf("secret", "bad"), "Cannot read the value, which is secret");
});

Deno.test("a flag wins over the environment, that over the file, that over the default", () => {
  const all: Required<Inputs> = {
    flags: new Map([["max-count", ["1"]]]),
    environment: { VBG_MAX_COUNT: "2" },
    config: new Map([["max-count", 4]]),
  };
  const cases: [inputs: (keyof Inputs)[], count: number, from: string][] = [
    [["flags", "environment", "config"], 1, "flag"],
    [["flags", "environment"], 1, "flag"],
    [["flags", "config"], 1, "flag"],
    [["flags"], 1, "flag"],
    [["environment", "config"], 2, "environment"],
    [["environment"], 2, "environment"],
    [["config"], 4, "config"],
    [[], 3, "default"],
  ];
  for (const [names, count, from] of cases) {
    const inputs: Inputs = Object.fromEntries(names.map((name) => [name, all[name]]));
    const { settings, outcomes } = resolveSettings(sample, inputs);
    assert.equal(settings?.count, count, names.join());
    assert.equal(outcomes.count.source.from, from, names.join());
  }
});

Deno.test("a bad value in a weaker place does not matter, in the winning place it is not passed over", () => {
  const flags = new Map([["max-count", ["1"]]]);
  assert.equal(
    settingsOf({ flags, environment: { VBG_MAX_COUNT: "x" }, config: new Map([["max-count", "y"]]) }).count,
    1,
  );
  const { problems } = resolveSettings(sample, {
    environment: { VBG_MAX_COUNT: "x" },
    config: new Map([["max-count", 5]]),
  });
  assert.deepEqual(problems.map(({ source }) => source), [{ from: "environment", name: "VBG_MAX_COUNT" }]);
});

Deno.test("an empty variable counts as not set, a list in a variable has commas", () => {
  assert.equal(settingsOf({ environment: { VBG_MAX_COUNT: "" } }).count, 3);
  assert.deepEqual(settingsOf({ environment: { VBG_TAG: "a, b" } }).tags, ["a", "b"]);
  assert.deepEqual(settingsOf({ environment: { VBG_BUS: "a", VBG_BUSES: "b,c" } }).buses, ["b", "c"]);
  assert.equal(settingsOf({ environment: { VBG_LOUD: "on" } }).loud, true);
});

Deno.test("the file may give a number, a text or a list wherever that makes sense", () => {
  const config = (key: string, value: unknown) => settingsOf({ config: new Map([[key, value]]) });
  assert.equal(config("max-count", "7").count, 7);
  assert.equal(config("max-count", 7).count, 7);
  assert.equal(config("loud", true).loud, true);
  assert.equal(config("loud", "yes").loud, true);
  assert.equal(config("room", 4096).room, 4096);
});

Deno.test("every alias of a key is read", () => {
  for (const key of ["wait.for", "wait-for"]) {
    assert.equal(settingsOf({ config: new Map([[key, "2s"]]) }).wait, 2000, key);
  }
});

Deno.test("one value of the file for a list is a list of one, or of its parts", () => {
  const config = (key: string, value: unknown) => settingsOf({ config: new Map([[key, value]]) });
  assert.deepEqual(config("bus", "can0,can1").buses, ["can0", "can1"]);
  assert.deepEqual(config("bus", ["can0", 1]).buses, ["can0", "1"]);
  assert.deepEqual(config("tag", "a,b").tags, ["a,b"]);
  assert.deepEqual(config("tag", 5).tags, ["5"]);
});

Deno.test("a list or a section where one value belongs is an error", () => {
  for (
    const [key, value, found] of [["max-count", [1], "a list"], ["name", { a: 1 }, "a section"], [
      "tag",
      [["a"]],
      "a list",
    ]] as const
  ) {
    const { problems } = resolveSettings(sample, { config: new Map<string, unknown>([[key, value]]) });
    assert.deepEqual(problems.map(({ message }) => message), [
      `Cannot read the value: expected one value, found ${found}`,
    ]);
  }
});

Deno.test("a structured setting gets its sub-tree as parsed", () => {
  assert.deepEqual(settingsOf({ config: new Map([["rules", [{ pgn: 59904 }, "x"]]]) }).rules, ['{"pgn":59904}', '"x"']);
  const { problems } = resolveSettings(sample, { config: new Map([["rules", 5]]) });
  assert.equal(problems[0]?.message, "Cannot read the rules: expected a list");
});

Deno.test("a structured setting without a text form is no flag and no variable", () => {
  const table: Options<{ slots: number }> = {
    slots: group.structured({
      ...words,
      name: "slots",
      key: "clients.slots",
      default: 0,
      parse: () => 1,
      format: String,
    }),
  };
  assert.match(parseCommandLine(["-slots", "x"], table).error ?? "", /Unknown flag -slots/);
  assert.equal(resolveSettings(table, { environment: { VBG_SLOTS: "x" } }).settings?.slots, 0);
});

Deno.test("every problem is reported, not the first alone", () => {
  const { flags } = parseCommandLine(["-max-count=x", "-wait=y", "-mode=z"], sample);
  const { problems } = resolveSettings(sample, { flags });
  assert.deepEqual(problems.map(({ name }) => name), ["max-count", "wait", "mode"]);
});

Deno.test("a check across settings is skipped when one of them could not be read", () => {
  const checks: Check<Sample>[] = [{
    settings: ["count", "slots"],
    severity: "error",
    test: ({ count, slots }, isGiven) => `${count} of ${slots}, given: ${isGiven("count")} ${isGiven("slots")}`,
  }];
  const flags = new Map([["slots", ["32"]]]);
  const [problem] = resolveSettings(sample, { flags, checks }).problems;
  assert.deepEqual([problem?.name, problem?.message], ["max-count", "3 of 32, given: false true"]);
  const bad = new Map([["slots", ["33"]]]);
  assert.deepEqual(resolveSettings(sample, { flags: bad, checks }).problems.map(({ name }) => name), ["slots"]);
});

Deno.test("a warning of a check does not stop the program", () => {
  const checks: Check<Sample>[] = [{ settings: ["count"], severity: "warning", test: () => "odd" }];
  const { settings, problems } = resolveSettings(sample, { checks });
  assert.equal(settings?.count, 3);
  assert.equal(problems.length, 1);
});

Deno.test("what format writes is read back as the same value", () => {
  const same = <T>(option: Option<T>, value: T) =>
    assert.deepEqual(option.fromFlags([option.format(value) ?? ""]), value, option.name);
  same(sample.count, 42);
  same(sample.ratio, 0.125);
  same(sample.wait, 90_250);
  for (const bytes of [0, 1000, 1024, 3 * 2 ** 20, 2 ** 30]) same(sample.room, bytes);
  same(sample.loud, true);
  same(sample.buses, ["a", "b"]);
  same(sample.listen, { hostname: "::1", port: 1 });
  same(sample.quiet, undefined);
});

import assert from "node:assert/strict";
import {
  doubtFields,
  MAX_WHERE_DEPTH,
  MAX_WHERE_LENGTH,
  parseWhere as parseExpressionWith,
  WhereError,
} from "../../src/where/mod.ts";
import { parseWhere, PGN_CATALOG } from "../support/where.ts";

/** The error of an expression. */
function errorOf(text: string): WhereError {
  try {
    parseWhere(text);
  } catch (error) {
    assert.ok(error instanceof WhereError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: `no error: ${text}` });
}

/** Expressions with `^` marking where each must be pointed at, beside what must be said. */
function expectErrors(errors: readonly (readonly [text: string, what: RegExp])[]): void {
  for (const [marked, what] of errors) {
    const text = marked.replace("^", "");
    const error = errorOf(text);
    assert.match(error.message, what, text);
    assert.equal(error.column, marked.indexOf("^") + 1, error.message);
  }
}

Deno.test("where: an error shows the expression with a caret under the mistake", () => {
  assert.equal(
    errorOf("pgn == 127250 and headng > 1").message,
    `Cannot read the expression at column 19: PGN 127250 has no "headng": did you mean "heading"? There are sid, heading, deviation, variation, heading_reference
  pgn == 127250 and headng > 1
                    ^^^^^^`,
  );
  assert.equal(
    errorOf('bus == "🚤" and\tpgn').message,
    `Cannot read the expression at column 19: expected a comparison (== != < <= > >= in contains), found the end
  bus == "🚤" and pgn
                    ^`,
  );
});

Deno.test("where: a long expression is shown around the mistake", () => {
  const [, line = "", caret = ""] = errorOf(`${"src == 1 or ".repeat(50)}dst = 2${" or src == 1".repeat(50)}`).message
    .split("\n");
  assert.ok(line.length < 140, line);
  assert.equal(line.slice(caret.indexOf("^"), caret.indexOf("^") + 2), "= ");
});

Deno.test("where: an error says what was expected", () => {
  expectErrors([
    ["^", /it is empty: expected such as/],
    ["  ^", /it is empty/],
    ["pgn^", /expected a comparison .*, found the end/],
    ["pgn ^and src == 1", /expected a comparison .*, found and/],
    ["pgn ^= 1", /write ==/],
    ["pgn == 1 ^& src == 2", /write && or the word and/],
    ["pgn == 1 ^| src == 2", /write \|\| or the word or/],
    ["pgn == ^", /expected a number, a text, true, false or null, found the end/],
    ["src.manufacturer == ^Garmin", /found Garmin: put a text in quotes/],
    ["^1 < depth", /expected the name of a field, found 1/],
    ["^5 == 5", /expected the name of a field/],
    ["wind_speed > 15 ^kg", /"kg" is not a unit: did you mean "k[nm].*"\? wind_speed takes m\/s, kn, km\/h, mph/],
    ["wind_speed > 15 ^bar", /wind_speed is measured in m\/s, kn, km\/h, mph: bar is a unit of pressure/],
    ["wind_speed in [1 kn, 2 ^°C]", /wind_speed is measured in .*: °C is a unit of temperature/],
    ["pgn == 130306 and wind_speed > 15 ^m", /wind_speed is measured in .*: m is a unit of length/],
    ["time_remaining > 1 ^kn", /time_remaining is measured in s, ms, min, h, d: kn is a unit of speed/],
    ["hdop > 1 ^m", /hdop has no unit/],
    ["pgn == 1 ^m", /pgn has no unit/],
    ["src.instance > 1 ^kn", /src.instance has no unit/],
    ["src == 3 ^pgn == 4", /expected and, or, or the end, found pgn/],
    ["wind_spede > 15 ^kn", /no known PGN has a field "wind_spede"/],
    ['pgn == 127505 and fluid_type == ^"Fule"', /fluid_type is never "Fule": did you mean "Fuel"/],
    ["depth > ^1.2.3", /this is no number/],
    ["depth > ^0x", /this is no number/],
    ["depth > ^1e999", /too large/],
    ['a == ^"open', /no closing quote/],
    ["a == ^'open\"", /no closing quote/],
    ["(pgn == 1^", /expected and, or, or a closing \), found the end/],
    ["pgn == 1^)", /expected and, or, or the end, found \)/],
    ["pgn == 1 ^src == 2", /expected and, or, or the end, found src/],
    ["pgn in ^5", /expected a list/],
    ["pgn in [^]", /expected a number/],
    ["pgn in [1 ^2]", /expected a comma or a closing \]/],
    ["a not ^== 1", /expected in, found ==/],
    ["a == 1 ^# comment", /nothing here begins with "#"/],
    ["a < ^null", /< needs a number or a text/],
    ["a contains ^true", /contains needs a number or a text/],
    ["a == 1 ^< 3", /expected and, or, or the end, found </],
    ["pgn == 1 and ^", /expected the name of a field, found the end/],
  ]);
});

Deno.test("where: fields of header and devices are checked for their names and kinds", () => {
  expectErrors([
    ['pgn == ^"127250"', /pgn is a number: expected a number/],
    ["pgn in [1, ^'2']", /pgn is a number/],
    ["bus == ^1", /bus is a text: write "1"/],
    ["prio contains ^1", /prio is a number: compare it with == or in/],
    ["src == ^true", /src is a number: it is never true/],
    ["^pgn.x == 1", /pgn has no parts/],
    ['^src.manufacturr == "a"', /a device has no "manufacturr": did you mean src.manufacturer/],
    ['^dst.name.x == "a"', /a device has no "name.x"/],
    ["src.manufacturer == ^229", /src.manufacturer is a text/],
    ['src.instance == ^"1"', /src.instance is a number/],
  ]);
});

Deno.test("where: where the PGN is told, its fields are checked for their names, parts and values", () => {
  expectErrors([
    ["(pgn == 127250 or pgn == 127251) and ^headng > 1", /PGN 127250, 127251 has no "headng": did you mean "heading"/],
    ["not (^headng > 1) and pgn == 127250", /did you mean "heading"/],
    ["pgn in [127250] and (src == 1 or ^headng > 1)", /did you mean "heading"/],
    ['pgn == 127250 and heading == ^"north"', /heading is a number, in rad: expected a number/],
    ["pgn == 127250 and ^heading.name == 1", /heading has no parts/],
    ['pgn == 130306 and wind_reference == ^"aparent"', /never "aparent": did you mean "apparent"/],
    ['pgn == 130306 and wind_reference in ["apparent", ^"x"]', /never "x"/],
    ["pgn == 130306 and wind_reference == ^2", /wind_reference is a label: write "apparent"/],
    ["pgn == 130306 and wind_reference == ^true", /wind_reference is never true/],
    ['pgn == 61184 and ^register.nam == "a"', /register has no "nam": did you mean "name"/],
    ["pgn == 129540 and satellites == ^1", /satellites is a list: name one of its fields, such as satellites.prn/],
    ["pgn == 129540 and ^satellites.prm == 1", /satellites has no "prm": did you mean "prn"/],
  ]);
  for (
    const text of [
      "pgn == 127250 or headng > 1",
      "pgn != 127250 and headng > 1",
      "not pgn == 127250 and headng > 1",
      "pgn == 127250 and (pgn == 1 and headng > 1)",
      "pgn == 1 and anything > 1",
      'pgn == 130306 and wind_reference == "APPARENT"',
      "pgn == 130306 and wind_reference == 7",
      'pgn == 130306 and wind_reference contains "app"',
      'pgn == 61184 and register.name == "x" and register.id == 1',
      "pgn == 126208 and params.anything == 1",
      "pgn == 129540 and satellites.prn == 1",
      "pgn == 127250 and heading == null",
    ]
  ) parseWhere(text);
});

Deno.test("where: length and depth of an expression are limited", () => {
  const nested = (depth: number) => "(".repeat(depth) + "src == 1" + ")".repeat(depth);
  parseWhere(nested(MAX_WHERE_DEPTH));
  assert.match(errorOf(nested(MAX_WHERE_DEPTH + 1)).message, /more than 100 inside each other/);
  assert.match(errorOf("!".repeat(5000) + "src == 1").message, /more than 100 inside each other/);
  parseWhere("src == 1".padEnd(MAX_WHERE_LENGTH));
  assert.match(errorOf("src == 1".padEnd(MAX_WHERE_LENGTH + 1)).message, /longer than 10000 characters/);
  parseWhere(Array.from({ length: 800 }, () => "src == 1").join(" or ").slice(0, MAX_WHERE_LENGTH));
});

Deno.test("where: a field that no known PGN has is doubted, with the nearest one", () => {
  const doubts: [expression: string, doubt: string | undefined][] = [
    ["wind_sped > 10", 'No known PGN has a field "wind_sped": did you mean wind_speed?'],
    ["src == 1 or not (pgn == 1 and qqqq in [1])", 'No known PGN has a field "qqqq"'],
    ["wind_speed > 10 and satellites.prn == 1", undefined],
    ["decoded.pgn == 1 or decoded.pgm == 1", 'No known PGN has a field "pgm": did you mean pgn?'],
    ['src.model_id == "x" or seq == 1', undefined],
  ];
  for (const [expression, doubt] of doubts) assert.equal(doubtFields(expression, PGN_CATALOG), doubt, expression);
});

Deno.test("where: the longest expression with units describes each PGN once to check it, and once for each comparison", () => {
  let described = 0;
  const catalog = { ...PGN_CATALOG, describe: (pgn: number) => (described++, PGN_CATALOG.describe(pgn)) };
  const comparisons = Array(900).fill("sog>1 kn");
  parseExpressionWith(comparisons.join("||"), catalog);
  assert.ok(described <= [...catalog.list()].length + comparisons.length, `${described}`);
});

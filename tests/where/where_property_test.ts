import assert from "node:assert/strict";
import { type DeviceAt, WhereError, type WhereFrame } from "../../src/where/mod.ts";
import { compileExpression } from "../../src/where/compile.ts";
import { type Expression, parseExpression, type Subject, type Value } from "../../src/where/parse.ts";
import type { Device } from "../../src/frame/mod.ts";
import { decode, describePgn, type ItemDescription } from "../../src/pgn/mod.ts";
import { naiveWhere } from "../support/naive_where.ts";
import { vectorPayloads } from "../support/payloads.ts";
import { Random } from "../support/random.ts";
import { IS_FULL } from "../support/needs.ts";
import { parseWhere, PGN_CATALOG } from "../support/where.ts";

const SPAN = { start: 0, end: 0 };
const FIELDS = ["number", "text", "none", "list", "lookup", "list.number", "list.list", "lookup.id", "lookup.name"];
const TEXTS = ["", "Garmin", "garmin", "GAR", 'quote " inside', "back\\slash", "'", "é 🚤", "12", "-1.5", "0x1F"];
const NUMBERS = [0, 1, -1, 12, -1.5, 31, 1e21, 1.5e-7, 127250];

function randomValue(random: Random): Value {
  const literal = random.pick<Value["literal"]>([random.pick(NUMBERS), random.pick(TEXTS), true, false, null]);
  return { literal, span: SPAN };
}

function randomSubject(random: Random): Subject {
  switch (random.int(6)) {
    case 0:
      return { kind: "header", name: random.pick(["pgn", "src", "dst", "prio", "seq", "bus"] as const), span: SPAN };
    case 1: {
      const name = random.pick(["manufacturer", "model_id", "instance", "class", "manufacturer_code"] as const);
      return { kind: "device", side: random.pick(["src", "dst"] as const), name, span: SPAN };
    }
  }
  const [first = "", ...others] = random.pick(FIELDS).split(".");
  return { kind: "field", path: [first, ...others], span: SPAN };
}

function randomExpression(random: Random, depth: number): Expression {
  const kind = random.int(depth > 0 ? 5 : 2);
  if (kind === 0) {
    const values = Array.from({ length: random.between(1, 3) }, () => randomValue(random));
    return { kind: "in", subject: randomSubject(random), values };
  }
  if (kind === 1) {
    const value = randomValue(random);
    const ordered = typeof value.literal === "number" || typeof value.literal === "string";
    const operators = ordered ? ["==", "!=", "<", "<=", ">", ">=", "contains"] as const : ["==", "!="] as const;
    return { kind: "compare", subject: randomSubject(random), operator: random.pick([...operators]), value };
  }
  if (kind === 2) return { kind: "not", term: randomExpression(random, depth - 1) };
  const terms = Array.from({ length: random.between(2, 4) }, () => randomExpression(random, depth - 1));
  return { kind: kind === 3 ? "and" : "or", terms };
}

/** An expression as text, each sign and word in one of the ways that it can be written. */
function print(expression: Expression, random: Random): string {
  const gap = () => random.pick([" ", "  ", "\t", "\n"]);
  const maybe = () => random.pick(["", " "]);
  switch (expression.kind) {
    case "and":
    case "or": {
      const sign = expression.kind === "and" ? ["and", "AND", "&&"] : ["or", "Or", "||"];
      return expression.terms.map((term) => {
        const text = print(term, random);
        const binds = term.kind === "or" || term.kind === expression.kind;
        return binds || random.chance(0.2) ? `(${maybe()}${text}${maybe()})` : text;
      }).reduce((left, right) => left + gap() + random.pick(sign) + gap() + right);
    }
    case "not": {
      const { term } = expression;
      if (term.kind === "in" && random.chance(0.5)) return printIn(term, "not in", random);
      const text = print(term, random);
      const inner = term.kind === "and" || term.kind === "or" ? `(${text})` : text;
      return random.pick(["not ", "!", "NOT\n", "! "]) + inner;
    }
    case "compare": {
      const { subject, operator, value } = expression;
      const space = operator === "contains" ? gap : maybe;
      return printSubject(subject, random) + space() + operator + space() + printValue(value, random);
    }
    case "in":
      return printIn(expression, "in", random);
  }
}

function printIn({ subject, values }: Expression & { kind: "in" }, word: string, random: Random): string {
  return `${printSubject(subject, random)} ${word} [${values.map((value) => printValue(value, random)).join(", ")}]`;
}

function printSubject(subject: Subject, random: Random): string {
  if (subject.kind === "header") return subject.name;
  if (subject.kind === "device") return `${subject.side}.${subject.name}`;
  return (random.chance(0.2) ? "decoded." : "") + subject.path.join(".");
}

function printValue({ literal }: Value, random: Random): string {
  if (typeof literal === "number") {
    const hex = Number.isInteger(literal) && literal >= 0 && literal < 2 ** 32 && random.chance(0.3);
    return hex ? `0x${literal.toString(16)}` : random.pick([String(literal), literal.toExponential(17)]);
  }
  if (typeof literal !== "string") return String(literal);
  const quote = random.pick(['"', "'"]);
  return quote + literal.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`) + quote;
}

/** The expression without the places of its parts. */
function bare(expression: Expression): unknown {
  return JSON.parse(JSON.stringify(expression, (key, value) => key === "span" ? undefined : value));
}

function randomFrame(random: Random): WhereFrame {
  const scalar = () => random.pick([null, random.pick(NUMBERS), random.pick(TEXTS)]);
  const list = () => Array.from({ length: random.int(3) }, scalar);
  const decoded = {
    number: random.pick([null, ...NUMBERS]),
    text: random.pick([null, ...TEXTS]),
    list: random.pick([list(), [{ number: scalar(), list: list() }, { number: scalar() }]]),
    lookup: random.pick([{ id: random.pick(NUMBERS) }, { id: random.pick(NUMBERS), name: random.pick(TEXTS) }]),
  };
  return {
    seq: random.pick([1, 12]),
    pgn: random.pick([12, 127250]),
    src: random.pick([0, 1]),
    dst: random.pick([1, 31]),
    prio: random.int(2),
    ...(random.chance(0.5) && { bus: random.pick(["Garmin", "12"]) }),
    ...(random.chance(0.9) && { decoded: random.pick([null, decoded, decoded, decoded]) }),
  };
}

Deno.test("where: random expressions read back as what was printed", () => {
  const random = new Random(1);
  for (let round = 0; round < (IS_FULL ? 3000 : 1000); round++) {
    const expression = randomExpression(random, 4);
    const text = print(expression, random);
    assert.deepEqual(bare(parseExpression(text)), bare(expression), text);
  }
});

Deno.test("where: the compiled evaluator agrees with one that reads the rules for each frame", () => {
  const random = new Random(2);
  const device: Partial<Device> = { manufacturer: "Garmin", manufacturer_code: 12, device_instance: 0 };
  const deviceAt: DeviceAt = (bus, src) =>
    src === 1 ? { ...device, ...(bus === "12" && { model_id: "12" }) } : undefined;
  const seen = { true: 0, false: 0 };
  for (let round = 0; round < (IS_FULL ? 3000 : 1000); round++) {
    const expression = randomExpression(random, 3);
    const test = compileExpression(expression, PGN_CATALOG);
    for (let each = 0; each < 10; each++) {
      const frame = randomFrame(random);
      const answer = test(frame, deviceAt);
      const context = JSON.stringify({ text: print(expression, random), frame });
      assert.equal(answer, naiveWhere(expression, frame, deviceAt), context);
      seen[`${answer}`]++;
    }
  }
  assert.ok(seen.true > 1000 && seen.false > 1000, JSON.stringify(seen));
});

Deno.test("where: random text is an expression or a WhereError that points into it", () => {
  const random = new Random(3);
  const pieces = [
    ...["pgn", "src", "dst.name", "src.", "depth", "register.name", "decoded", "and", "or", "not", "in", "contains"],
    ...["null", "true", "==", "!=", "<", "=", "&&", "|", "!", "(", ")", "[", "]", ",", ".", '"a"', "'", '"', "\\"],
    ...["src == 1", "text > 3", "list in [1]", "not lookup == 'a'", "(number != null)", "and", "or"],
    ...["1", "-", "0x", "1e5", "127250", " ", "\n", "\u0000", "é", "🚤", "\ud800", "#", "__proto__", "constructor"],
  ];
  let read = 0;
  for (let round = 0; round < (IS_FULL ? 30_000 : 10_000); round++) {
    const text = Array.from({ length: random.int(8) }, () => random.pick(pieces) + random.pick(["", " "])).join("");
    try {
      parseWhere(text).test(randomFrame(random));
      read++;
    } catch (error) {
      assert.ok(error instanceof WhereError, `${JSON.stringify(text)}: ${error}`);
      assert.ok(error.column >= 1 && error.column <= text.length + 1, `${JSON.stringify(text)}: ${error}`);
    }
  }
  assert.ok(read > 30, `${read} were read`);
});

Deno.test("where: an expression with a letter changed is an expression or a WhereError", () => {
  const random = new Random(4);
  for (let round = 0; round < (IS_FULL ? 5000 : 2000); round++) {
    const text = Array.from(print(randomExpression(random, 2), random));
    text.splice(random.int(text.length), random.int(2), random.pick(Array.from("\"'()[]!=<>&|.,\\ 1ax")));
    try {
      parseWhere(text.join(""));
    } catch (error) {
      assert.ok(error instanceof WhereError, `${text.join("")}: ${error}`);
    }
  }
});

Deno.test("where: every name in a decoded payload may be used where its PGN is told", () => {
  for (const { pgn, payload } of vectorPayloads()) {
    for (const name of Object.keys(decode(pgn, payload) ?? {})) {
      assert.doesNotThrow(() => parseWhere(`pgn == ${pgn} and decoded.${name} == null`));
    }
  }
});

Deno.test("where: every label of every field may be compared with it where its PGN is told", () => {
  const labelled = (items: ItemDescription[]) => items.flatMap((item) => item.type === "group" ? [] : [item]);
  for (const pgn of new Set(vectorPayloads().map((vector) => vector.pgn))) {
    const fields = describePgn(pgn)?.layouts.flatMap(({ fields }) => labelled(fields)) ?? [];
    for (const { name, labels = {} } of fields) {
      for (const label of Object.values(labels)) {
        parseWhere(`pgn == ${pgn} and decoded.${name} == ${JSON.stringify(label)}`);
      }
    }
  }
});

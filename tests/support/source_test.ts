import assert from "node:assert/strict";
import { functionsOf, importsOf, readSource } from "./source.ts";
import { Random } from "./random.ts";

/** A dollar sign and a brace, so that this file's own templates stay simple. */
const HOLE = "$" + "{";

Deno.test("the scanner blanks comments, strings and regular expressions and keeps places and lines", () => {
  const text = [
    `const a = "any // no" + 'it\\'s'; // any`,
    "const b = `any " + HOLE + "a + `any " + HOLE + "b}` } any`; /* any",
    'any */ const c = /any[/]"/g.test(a) && a / b / c;',
    `const { d } = a; if (x) return /any/;`,
  ].join("\n");
  const { code, comments } = readSource("a.ts", text);
  assert.equal(code.length, text.length);
  assert.ok(!code.includes("any"), code);
  assert.deepEqual(code.split("\n").length, 4);
  for (const kept of ["const a", "+ `", HOLE + "b}", ".test(a) && a / b / c;", "const { d }", "return"]) {
    assert.ok(code.includes(kept), kept);
  }
  assert.deepEqual(comments.map((each) => each.text), ["// any", "/* any\nany */"]);
});

Deno.test("the scanner finds imports of every kind and no other strings", () => {
  const text = `import x from "a";\nimport type { Y } from './b.ts';\nimport { type Z,\n w } from "./c.ts";\n` +
    `export * from "d";\nimport "e";\nconst f = await import("f");\nconst s = "from"; const no = 'import "g"';\n` +
    `export type { Q } from "h";\n`;
  assert.deepEqual(importsOf(readSource("a.ts", text)).map(({ specifier, kind }) => `${specifier} ${kind}`), [
    "a static",
    "./b.ts type",
    "./c.ts static",
    "d static",
    "e static",
    "f dynamic",
    "h type",
  ]);
});

Deno.test("the scanner measures functions of every form and nothing else", () => {
  const body = "\n  x();\n  y();\n";
  const functions = [
    `function f(a: { b: number }): { c: string } {${body}}`,
    `export async function* g<T>({ a }: T): AsyncIterable<T> {${body}}`,
    `class C {\n  static async #m(a: string, { b } = {}): Promise<Map<string, () => void>> {${body}  }\n}`,
    `class D {\n  get x(): number {${body}  }\n}`,
    `function k(): Map<string, Set<() => number>> {${body}}`,
    `const h = (a) => {${body}};`,
    `Deno.test("x", async () => {${body}});`,
    `run({ name, fn() {${body}} });`,
  ];
  for (const text of functions) {
    assert.deepEqual(functionsOf(readSource("a.ts", text)).map(({ lines }) => lines), [4], text);
  }
  const others = [
    `class C extends mix(D) {${body}}`,
    `if (a) {${body}} else if (b) {${body}}`,
    `for await (const a of b()) {${body}}`,
    `const a = f(1) || {${body}};`,
    `interface I {${body}}`,
    `call(a, {${body}});`,
    `try {${body}} catch (e) {${body}}`,
  ];
  for (const text of others) assert.deepEqual(functionsOf(readSource("a.ts", text)), [], text);
});

Deno.test("random gives the same numbers for the same seed and others for another", () => {
  const draw = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 20 }, () => random.int(1000));
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
});

Deno.test("random reaches both ends of a range and nothing beyond", () => {
  const random = new Random(1);
  const drawn = new Set(Array.from({ length: 1000 }, () => random.between(3, 6)));
  assert.deepEqual([...drawn].sort(), [3, 4, 5, 6]);
});

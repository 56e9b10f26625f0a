import assert from "node:assert/strict";
import { needs } from "../support/needs.ts";
import { MUTANTS } from "./list.ts";
import { faultsOf, readTree } from "./tree.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const MUTANT = { name: "a", find: "x + 1", replace: "x", tests: ["a_test.ts"] };

Deno.test("the text of every mutant is in the code once, and its tests exist", needs({ permissions: ["read"] }), () => {
  assert.equal(faultsOf(MUTANTS, readTree(ROOT)).join("\n"), "");
});

Deno.test("a mutant whose text or test file is missing or not unique is a fault of the list", () => {
  const code = (...texts: string[]) => new Map(texts.map((text, i) => [`src/${i}.ts`, text]));
  const tests = ["tests/one/a_test.ts", "tests/one/b_test.ts", "tests/two/b_test.ts"];
  const faults = (text: string, changed: Partial<typeof MUTANT> = {}) =>
    faultsOf([{ ...MUTANT, ...changed }], { code: code(text, "y + 1"), tests });
  assert.deepEqual(faults("x + 1"), []);
  assert.deepEqual(faults("x + 1", { tests: ["two/b_test.ts"] }), []);
  assert.match(faults("x + 2").join(), /not found/);
  assert.match(faults("x + 1; x + 1").join(), /2 times: src\/0\.ts, src\/0\.ts/);
  assert.match(faults("x + 1", { tests: ["c_test.ts"] }).join(), /c_test\.ts: not found/);
  assert.match(faults("x + 1", { tests: ["b_test.ts"] }).join(), /2 times/);
  assert.match(faults("x + 1", { replace: "x + 1" }).join(), /changes nothing/);
  assert.match(faults("x + 1", { tests: [] }).join(), /no test file/);
  assert.match(faultsOf([MUTANT, MUTANT], { code: code("x + 1"), tests }).join(), /name is used twice/);
});

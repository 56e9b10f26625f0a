import assert from "node:assert/strict";
import { type Condition, OK, Subjects } from "../../src/integrations/alerts/subjects.ts";
import type { AlertSeverity } from "../../src/integrations/alerts/types.ts";
import { Random } from "../support/random.ts";

const WINDOW_MS = 300_000;

function condition(key: string, severity: AlertSeverity = key === OK ? "info" : "warning"): Condition {
  return { key, type: key, severity, summary: key, details: {} };
}

/** Types of what is due. */
function due(subjects: Subjects, nowMs: number): string[] {
  return subjects.due(nowMs, WINDOW_MS).map(({ subject, type }) => `${subject} ${type}`);
}

Deno.test("flapping gives the first alert, and the state at the end of the window if it is another", () => {
  const subjects = new Subjects();
  subjects.set("a", condition("bad"));
  assert.deepEqual(due(subjects, 0), ["a bad"]);
  subjects.set("a", condition(OK));
  assert.deepEqual(due(subjects, 1000), []);
  subjects.set("a", condition("bad"));
  assert.deepEqual(due(subjects, 2000), []);
  assert.deepEqual(due(subjects, WINDOW_MS), [], "it is what was told");
  subjects.set("a", condition(OK));
  assert.deepEqual(due(subjects, WINDOW_MS + 1), ["a ok"]);
  subjects.set("a", condition("bad"));
  assert.deepEqual(due(subjects, WINDOW_MS + 2), [], "a recovery has a window, too");
  assert.deepEqual(due(subjects, 2 * WINDOW_MS + 1), ["a bad"]);
});

Deno.test("a warning that becomes critical is sent within the window, once", () => {
  const subjects = new Subjects();
  subjects.set("a", condition("degraded"));
  assert.deepEqual(due(subjects, 0), ["a degraded"]);
  subjects.set("a", condition("unhealthy", "critical"));
  assert.deepEqual(due(subjects, 1000), ["a unhealthy"]);
  for (const key of ["degraded", OK]) {
    subjects.set("a", condition(key));
    assert.deepEqual(due(subjects, 2000), []);
    subjects.set("a", condition("unhealthy", "critical"));
    assert.deepEqual(due(subjects, 3000), []);
  }
});

Deno.test("another subject in the window is told at once", () => {
  const subjects = new Subjects();
  subjects.set("a", condition("bad"));
  due(subjects, 0);
  subjects.set("b", condition("bad"));
  assert.deepEqual(due(subjects, 1), ["b bad"]);
});

Deno.test("what is well from the start is nothing to tell, and nothing to remember", () => {
  const subjects = new Subjects();
  subjects.set("a", condition(OK));
  assert.deepEqual(due(subjects, 0), []);
  assert.deepEqual(subjects.open(""), []);
  subjects.set("a", condition("bad"));
  due(subjects, 0);
  subjects.set("a", condition(OK));
  due(subjects, WINDOW_MS);
  due(subjects, 2 * WINDOW_MS);
  assert.deepEqual(subjects.open(""), [], "forgotten once its window is over");
});

Deno.test("after a restart what was told is not told again, and its recovery is", () => {
  const before = new Subjects();
  before.set("a", condition("bad"));
  before.set("b", condition("bad"));
  due(before, 0);
  assert.deepEqual(before.reported, [{ subject: "a", key: "bad" }, { subject: "b", key: "bad" }]);
  const after = new Subjects(before.reported);
  assert.deepEqual(due(after, 0), [], "nothing is known yet");
  after.set("a", condition("bad"));
  after.set("b", condition(OK));
  assert.deepEqual(due(after, 0), ["b ok"]);
  assert.deepEqual(after.reported, [{ subject: "a", key: "bad" }]);
});

Deno.test("the subjects that are remembered have a bound", () => {
  const subjects = new Subjects();
  for (let i = 0; i < 5000; i++) subjects.set(`s${i}`, condition("bad"));
  assert.equal(due(subjects, 0).length, 1024);
  assert.equal(subjects.reported.at(-1)?.subject, "s4999");
});

Deno.test("alerts of a subject are a window apart, each says something new, and the last is true", () => {
  const random = new Random(20_260_102);
  const keys = [OK, OK, "degraded", "unhealthy"];
  for (let round = 0; round < 50; round++) {
    const subjects = new Subjects();
    const real = new Map<string, string>();
    const told = new Map<string, { key: string; atMs: number }>();
    const take = (nowMs: number) => {
      for (const { subject, type } of subjects.due(nowMs, WINDOW_MS)) {
        const last = told.get(subject);
        assert.notEqual(type, last?.key ?? OK);
        assert.ok(last === undefined || nowMs - last.atMs >= WINDOW_MS);
        told.set(subject, { key: type, atMs: nowMs });
      }
    };
    let nowMs = 0;
    for (let step = 0; step < 300; step++, nowMs += random.between(500, 60_000)) {
      const subject = `s${random.int(5)}`;
      real.set(subject, random.pick(keys));
      subjects.set(subject, condition(real.get(subject)!));
      take(nowMs);
    }
    take(nowMs + WINDOW_MS);
    for (const [subject, key] of real) assert.equal(told.get(subject)?.key ?? OK, key);
    take(nowMs + 2 * WINDOW_MS);
    take(nowMs + 3 * WINDOW_MS);
    assert.deepEqual(subjects.open("").sort(), [...real.keys()].filter((each) => real.get(each) !== OK).sort());
  }
});

import assert from "node:assert/strict";
import { evaluateJournal, type JournalSource } from "../../src/http/status/journal_health.ts";

function decide(unsyncedMs: number, syncIntervalMs: number, rest: Partial<JournalSource> = {}): string {
  const well = { state: { kind: "recording" }, lost: 0, files: undefined, damage: [] } as const;
  return evaluateJournal({ ...well, unsyncedMs, syncIntervalMs, ...rest }).status;
}

Deno.test("a journal is degraded at 5 sync intervals and unhealthy at 30 s, never before as many intervals", () => {
  assert.deepEqual([0, 4999, 5000, 29_999, 30_000].map((ms) => decide(ms, 1000)), [
    ...["ok", "ok", "degraded", "degraded", "unhealthy"],
  ]);
  assert.deepEqual([249, 250].map((ms) => decide(ms, 50)), ["ok", "degraded"]);
  assert.deepEqual([30_000, 299_999, 300_000].map((ms) => decide(ms, 60_000)), ["ok", "ok", "unhealthy"]);
});

Deno.test("a disk that hangs matters more than damage, and damage names one file and counts the others", () => {
  const damage = ['journal file "a" is damaged: torn', "another", "a third"];
  assert.equal(decide(30_000, 1000, { damage }), "unhealthy");
  const files = undefined;
  const state = { kind: "recording" } as const;
  assert.deepEqual(evaluateJournal({ state, lost: 0, files, damage, unsyncedMs: 0, syncIntervalMs: 1000 }), {
    status: "degraded",
    message: 'journal file "a" is damaged: torn; and 2 more, see the log',
  });
});

import assert from "node:assert/strict";
import { DiagnosticEvents, MAX_DIAGNOSTIC_EVENTS } from "../../src/cloud/mod.ts";

function filled(count: number, capacity?: number): DiagnosticEvents {
  const events = new DiagnosticEvents(capacity);
  for (let i = 1; i <= count; i++) events.add({ timeMs: i, type: "block_received", detail: `${i}` });
  return events;
}

function times(events: DiagnosticEvents, limit?: number): number[] {
  return events.list(limit).map(({ timeMs }) => timeMs);
}

Deno.test("events are listed newest first, and as many as are asked for", () => {
  assert.deepEqual(times(filled(0)), []);
  assert.deepEqual(times(filled(3)), [3, 2, 1]);
  assert.deepEqual(times(filled(3), 2), [3, 2]);
  assert.deepEqual(times(filled(3), 0), []);
});

Deno.test("where there are too many events the oldest go", () => {
  assert.deepEqual(times(filled(5, 3)), [5, 4, 3]);
  assert.deepEqual(times(filled(6, 3)), [6, 5, 4]);
  assert.deepEqual(times(filled(7, 3), 2), [7, 6]);
  const many = filled(3 * MAX_DIAGNOSTIC_EVENTS + 7);
  assert.equal(many.size, MAX_DIAGNOSTIC_EVENTS);
  assert.deepEqual(times(many, 1), [3 * MAX_DIAGNOSTIC_EVENTS + 7]);
});

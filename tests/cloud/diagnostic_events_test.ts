import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { DiagnosticEvents, EVENTS_FILE, MAX_DIAGNOSTIC_EVENTS } from "../../src/cloud/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });

function test(name: string, run: (folder: string) => Promise<void>): void {
  Deno.test({ name, ...DISK, fn: () => inFolder(run) });
}

function open(directory: string, lines: string[] = []): DiagnosticEvents {
  const log = new Logger({ write: (line) => lines.push(line) });
  return new DiagnosticEvents({ id: "boat", directory, clock: new FakeClock(), log });
}

function fill(events: DiagnosticEvents, { from = 1, to }: { from?: number; to: number }): void {
  for (let i = from; i <= to; i++) events.add("block_received", `${i}`);
}

async function details(events: DiagnosticEvents, limit?: number): Promise<string[]> {
  return (await events.list(limit)).map(({ detail }) => detail);
}

test("events are listed newest first, and as many as are asked for", async (folder) => {
  const events = open(folder);
  assert.deepEqual(await details(events), []);
  fill(events, { to: 3 });
  assert.deepEqual(await details(events), ["3", "2", "1"]);
  assert.deepEqual(await details(events, 2), ["3", "2"]);
  assert.deepEqual(await details(events, 0), []);
  await events.flush();
  fill(events, { from: 4, to: 5 });
  assert.deepEqual(await details(events, 3), ["5", "4", "3"], "written or not");
  await events.close();
});

test("the newest 1024 events are there after a restart, in a file that is bounded", async (folder) => {
  let [last, longest] = [0, 0];
  for (const count of [1, 700, 700, 700, 3000, 5]) {
    const events = open(folder);
    fill(events, { from: last + 1, to: last += count });
    await events.close();
    longest = Math.max(longest, Deno.readTextFileSync(`${folder}/${EVENTS_FILE}`).split("\n").length - 1);
  }
  assert.ok(longest <= 2 * MAX_DIAGNOSTIC_EVENTS, `${longest} lines`);
  const events = open(folder);
  const found = await details(events);
  assert.deepEqual(found, Array.from({ length: MAX_DIAGNOSTIC_EVENTS }, (_, i) => `${last - i}`));
  await events.close();
  if (Deno.build.os !== "windows") assert.equal(Deno.statSync(`${folder}/${EVENTS_FILE}`).mode! & 0o777, 0o640);
});

test("a torn line costs that event alone, and a disk that takes nothing none", async (folder) => {
  const first = open(folder);
  fill(first, { to: 3 });
  await first.close();
  const path = `${folder}/${EVENTS_FILE}`;
  Deno.truncateSync(path, Deno.statSync(path).size - 2);
  // What is written is replaced in this place, which cannot be while it is a directory with something in it.
  Deno.mkdirSync(`${folder}/.${EVENTS_FILE}.tmp/there`, { recursive: true });
  const lines: string[] = [];
  const second = open(folder, lines);
  fill(second, { from: 4, to: 4 });
  await second.flush();
  fill(second, { from: 5, to: 5 });
  await second.flush();
  assert.deepEqual(await details(second), ["5", "4", "2", "1"]);
  assert.equal(lines.length, 1, "it is told once");
  Deno.removeSync(`${folder}/.${EVENTS_FILE}.tmp`, { recursive: true });
  await second.close();
  const third = open(folder);
  assert.deepEqual(await details(third), ["5", "4", "2", "1"]);
  await third.close();
});

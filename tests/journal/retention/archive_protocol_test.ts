import assert from "node:assert/strict";
import {
  ArchiveAnswers,
  type ArchiveOutcome,
  batchesOf,
  MAX_LINE_BYTES,
  requestLine,
} from "../../../src/journal/retention/archive_protocol.ts";
import { Random } from "../../support/random.ts";

const PATHS = ["/j/a.lpj", "/j/b.lpj", "/j/c.lpj"];

function answersTo(
  output: string | Uint8Array,
  { pieceBytes = Infinity }: { pieceBytes?: number } = {},
): ArchiveAnswers {
  const bytes = typeof output === "string" ? new TextEncoder().encode(output) : output;
  const answers = new ArchiveAnswers(PATHS);
  for (let at = 0; at < bytes.length; at += pieceBytes) answers.push(bytes.subarray(at, at + pieceBytes));
  answers.end();
  return answers;
}

function outcomes(answers: ArchiveAnswers): Record<string, ArchiveOutcome> {
  return Object.fromEntries(answers.outcomes);
}

Deno.test("a file is described with path, instance, size and the time of its name", () => {
  const file = { path: '/j/"1"/nmea2k-20250615T120000.123Z.lpj', name: "nmea2k-20250615T120000.123Z.lpj", bytes: 4112 };
  assert.equal(
    requestLine(file, { instanceId: "boat-1" }),
    `{"path":"/j/\\"1\\"/nmea2k-20250615T120000.123Z.lpj","instance_id":"boat-1","size":4112,"created":"2025-06-15T12:00:00Z"}\n`,
  );
});

Deno.test("an answer counts for the path that it names, in whatever order and pieces answers come", () => {
  const output = [
    `{"path":"/j/c.lpj","status":"ok"}`,
    `{"status":"error","error":"no space","path":"/j/a.lpj"}`,
    `{"path":"/j/b.lpj","status":"ok","more":[1]}`,
  ].join("\r\n");
  for (const pieceBytes of [Infinity, 1, 7, 40]) {
    const answers = answersTo(output, { pieceBytes });
    assert.deepEqual(outcomes(answers), {
      "/j/c.lpj": { status: "ok" },
      "/j/a.lpj": { status: "error", error: "no space" },
      "/j/b.lpj": { status: "ok" },
    });
    assert.equal(answers.ignored, 0);
  }
});

Deno.test("a line that is no answer shifts no other, and is counted", () => {
  const bad = [
    "uploading...",
    `{"path":"/j/a.lpj"`,
    `{"path":"/j/a.lpj","status":"done"}`,
    `{"path":"/j/a.lpj","status":true}`,
    `{"status":"ok"}`,
    `{"path":["/j/a.lpj"],"status":"ok"}`,
    `null`,
    `"ok"`,
    `{"path":"/elsewhere/a.lpj","status":"ok"}`,
    `{"path":"a.lpj","status":"ok"}`,
  ];
  const answers = answersTo([...bad, "", "  ", `{"path":"/j/b.lpj","status":"ok"}`].join("\n"));
  assert.deepEqual(outcomes(answers), { "/j/b.lpj": { status: "ok" } });
  assert.equal(answers.ignored, bad.length);
});

Deno.test("of a file that is said to be both, error is believed; without a reason, too, and only so much of it", () => {
  const both = [`{"path":"/j/a.lpj","status":"error"}`, `{"path":"/j/a.lpj","status":"ok"}`];
  for (const lines of [both, both.toReversed()]) {
    assert.deepEqual(outcomes(answersTo(lines.join("\n"))), {
      "/j/a.lpj": { status: "error", error: "the command gave no reason" },
    });
  }
  const long = answersTo(JSON.stringify({ path: "/j/a.lpj", status: "error", error: "x".repeat(10_000) }));
  assert.deepEqual(outcomes(long), { "/j/a.lpj": { status: "error", error: "x".repeat(500) } });
});

Deno.test("a line that is too long is passed over whole, and the next one is read", () => {
  const filler = (bytes: number) => `{"path":"/j/a.lpj","status":"ok","x":"${"x".repeat(bytes - 40)}"}`;
  const fits = filler(MAX_LINE_BYTES);
  assert.equal(fits.length, MAX_LINE_BYTES);
  for (const pieceBytes of [Infinity, 1000]) {
    assert.deepEqual(Object.keys(outcomes(answersTo(fits, { pieceBytes }))), ["/j/a.lpj"]);
    const answers = answersTo(filler(MAX_LINE_BYTES + 1) + `\n{"path":"/j/b.lpj","status":"ok"}`, { pieceBytes });
    assert.deepEqual(Object.keys(outcomes(answers)), ["/j/b.lpj"]);
    assert.equal(answers.ignored, 1);
  }
});

Deno.test("whatever bytes come, nothing is thrown and no file is believed archived", () => {
  const random = new Random(9);
  for (let round = 0; round < 300; round++) {
    const bytes = random.bytes(random.int(3000));
    for (let i = 0; i < bytes.length; i++) if (random.chance(0.05)) bytes[i] = 0x0a;
    assert.deepEqual(outcomes(answersTo(bytes, { pieceBytes: random.between(1, 500) })), {});
  }
});

Deno.test("batches hold few files and few bytes of paths, and together all of them in order", () => {
  const short = Array.from({ length: 100 }, (_, i) => ({ path: `/j/${i}` }));
  const batches = [...batchesOf(short)];
  assert.deepEqual(batches.flat(), short);
  assert.deepEqual(batches.map(({ length }) => length), [32, 32, 32, 4]);
  const long = Array.from({ length: 10 }, (_, i) => ({ path: "é".repeat(10_000) + i }));
  assert.deepEqual([...batchesOf(long)].map(({ length }) => length), [3, 3, 3, 1]);
  assert.deepEqual([...batchesOf([{ path: "x".repeat(100_000) }, { path: "y" }])].map(({ length }) => length), [1, 1]);
  assert.deepEqual([...batchesOf([])], []);
});

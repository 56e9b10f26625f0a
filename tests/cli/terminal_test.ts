import assert from "node:assert/strict";
import { Progress } from "../../cli/program/progress.ts";
import { StatusLine } from "../../cli/program/status_line.ts";
import { formatTable } from "../../cli/program/table.ts";
import { BufferedOutput, OutputClosed, paint, printable, visible } from "../../cli/program/terminal.ts";
import { turn } from "../../src/base/mod.ts";
import { Random } from "../support/random.ts";

/** An output whose pieces are kept; each write takes at most so many bytes. */
function kept({ isTerminal = false, most = Infinity, closedAfter = Infinity, columns = 80 } = {}) {
  const pieces: Uint8Array[] = [];
  const sink = {
    write: (bytes: Uint8Array) => {
      if (pieces.length >= closedAfter) return Promise.reject(new Deno.errors.BrokenPipe("Broken pipe"));
      const taken = bytes.slice(0, most);
      pieces.push(taken);
      return Promise.resolve(taken.length);
    },
  };
  const status = new StatusLine((text) => void pieces.push(new TextEncoder().encode(text)));
  const output = new BufferedOutput(sink, { isTerminal, hasColor: isTerminal, columns: () => columns, status });
  const text = () => new TextDecoder().decode(Uint8Array.from(pieces.flatMap((piece) => [...piece])));
  return { output, pieces, text };
}

Deno.test("what is written comes out whole and in order, however little is taken at once", async () => {
  const random = new Random(1);
  const { output, text } = kept({ most: 7 });
  let expected = "";
  for (let i = 0; i < 200; i++) {
    const line = `${i} ${"ä€😀".repeat(random.int(20))}\n`;
    expected += line;
    void output.write(line);
    if (random.chance(0.1)) void output.flush();
  }
  await output.flush();
  assert.equal(text(), expected);
});

Deno.test("bytes come out between the texts before and after them, and may change once the next call resolves", async () => {
  const { output, pieces, text } = kept({ most: 1000 });
  const buffers = [new Uint8Array(5000), new Uint8Array(5000)];
  let expected = "";
  for (let i = 0; i < 20; i++) {
    const bytes = buffers[i % 2]!.fill(97 + i);
    expected += `${i}\n${new TextDecoder().decode(bytes)}`;
    void output.write(`${i}\n`);
    await output.writeBytes(bytes);
  }
  await output.flush();
  assert.ok(pieces.length > 100);
  assert.equal(text(), expected);
});

Deno.test("bytes on a terminal are text, with what it would obey escaped, wherever they are cut", async () => {
  const { output, text } = kept({ isTerminal: true });
  const bytes = new TextEncoder().encode("ä\u001b[2Jb€\n");
  for (let i = 0; i < bytes.length; i++) await output.writeBytes(bytes.subarray(i, i + 1));
  await output.flush();
  assert.equal(text(), "ä\\u001b[2Jb€\n");
});

Deno.test("small writes go out together, and much at once goes out at once", async () => {
  const { output, pieces } = kept();
  for (let i = 0; i < 100; i++) assert.equal(output.write("line\n"), undefined);
  await output.flush();
  assert.equal(pieces.length, 1);
  await output.write("x".repeat(300_000));
  assert.equal(pieces.length, 2);
});

Deno.test("a second piece is taken while the first goes out; whoever writes a third waits for a place", async () => {
  const gate = Promise.withResolvers<void>();
  const pieces: Uint8Array[] = [];
  const sink = {
    write: async (bytes: Uint8Array) => {
      pieces.push(bytes);
      await gate.promise;
      return bytes.length;
    },
  };
  const output = new BufferedOutput(sink, { isTerminal: false, hasColor: false, columns: () => 80 });
  const piece = "x".repeat(300_000);
  await output.write(piece);
  const waited: string[] = [];
  const second = Promise.resolve(output.write(piece)).then(() => waited.push("second"));
  await turn();
  waited.push("opened");
  gate.resolve();
  await second;
  await output.flush();
  assert.deepEqual(waited, ["opened", "second"]);
  assert.deepEqual(pieces.map(({ length }) => length), [300_000, 300_000]);
});

Deno.test("once the reader has gone, bytes are refused, too", async () => {
  const { output } = kept({ closedAfter: 1 });
  await output.writeBytes(Uint8Array.of(1));
  await output.writeBytes(Uint8Array.of(2));
  await assert.rejects(output.flush(), OutputClosed);
  await assert.rejects(output.writeBytes(Uint8Array.of(3)), OutputClosed);
});

Deno.test("once the reader has gone, every write says so", async () => {
  const { output } = kept({ closedAfter: 1 });
  void output.write("one\n");
  await output.flush();
  void output.write("two\n");
  await assert.rejects(output.flush(), OutputClosed);
  assert.throws(() => output.write("three\n"), OutputClosed);
  await assert.rejects(output.flush(), OutputClosed);
});

Deno.test("colours come only where they are shown, and what a terminal would obey is escaped", () => {
  assert.equal(paint({ hasColor: false }, "red", "x"), "x");
  assert.equal(paint({ hasColor: true }, "red", "x"), "\u001b[31mx\u001b[0m");
  assert.equal(printable("a\u001b[2Jb\u009bc\nd\u202ee"), "a\\u001b[2Jb\\u009bc\\u000ad\\u202ee");
});

Deno.test("a table fits its width: the widest column loses, and what is cut ends with …", () => {
  const columns = [{ title: "SRC", align: "right" as const }, { title: "MODEL" }, { title: "NOTE", max: 6 }];
  const rows = [["5", "GPS 24xd with a long name", "fine"], ["120", "Wind\u0007", "very long"]];
  assert.equal(
    formatTable(rows, { columns, width: 80, color: false }),
    "SRC  MODEL                      NOTE\n" +
      "  5  GPS 24xd with a long name  fine\n" +
      "120  Wind\\u0007                 very …",
  );
  assert.equal(
    formatTable(rows, { columns, width: 24, color: false }),
    "SRC  MODEL        NOTE\n  5  GPS 24xd w…  fine\n120  Wind\\u0007   very …",
  );
  assert.equal(formatTable([], { columns: [{ title: "A" }], width: 9, color: true }), "\u001b[1mA\u001b[0m");
});

Deno.test("progress is a bar with rate and time left on a terminal, and nothing in a pipe", async () => {
  const clock = { now: 0, monoMs: () => clock.now };
  const { output, text } = kept({ isTerminal: true, columns: 100 });
  const bar = new Progress({ output, total: 4000, unit: "frames", clock });
  clock.now = 1000;
  bar.add(1000);
  bar.add(1);
  bar.done();
  await output.flush();
  assert.equal(
    text(),
    "\r\u001b[K██████░░░░░░░░░░░░░░░░░░ 25 %  1000 frames, 1000 frames/s, 0:03 left\r\u001b[K",
  );
  const pipe = kept();
  const none = new Progress({ output: pipe.output, unit: "bytes", clock });
  none.add(1e9);
  none.done();
  await pipe.output.flush();
  assert.equal(pipe.text(), "");
});

/** What a terminal could take for a command, or for a way to show text as something else. */
// deno-lint-ignore no-control-regex -- those are the ones
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const HOSTILE = "\u0007\u0008\u000b\u001b]0;x\u0007\u001b[2J\u007f\u0085\u009b31m\u009d\u202e\u2066\u2028";

Deno.test("whatever is written, a terminal gets no control characters but ends of lines, tabs and colours", async () => {
  const { output, text } = kept({ isTerminal: true });
  const json = JSON.stringify({ name: HOSTILE, plain: "Grüße ä€😀" });
  void output.write(`${HOSTILE}\t${paint({ hasColor: true }, "bold", "title")}\r\n${json}\n`);
  await output.flush();
  const [first = "", second = ""] = text().replaceAll("\u001b[1m", "<").replaceAll("\u001b[0m", ">").split("\n");
  assert.ok(first.endsWith("\t<title>\r"), first);
  assert.doesNotMatch(first.slice(0, -1) + second, STEERING);
  assert.deepEqual(JSON.parse(second), JSON.parse(json));
});

Deno.test("every character that steers a terminal is escaped, and no other is", () => {
  for (let code = 0; code < 0x10000; code++) {
    const character = String.fromCharCode(code);
    const isSteering = STEERING.test(character);
    assert.equal(visible(character) === character, !isSteering, code.toString(16));
    if (isSteering) assert.equal(JSON.parse(`"${visible(character)}"`), character);
  }
});

Deno.test("a pipe gets the bytes as they are", async () => {
  const { output, text } = kept();
  void output.write(HOSTILE);
  await output.flush();
  assert.equal(text(), HOSTILE);
});

Deno.test("a bar of progress may move in its line, and a text of others may not", async () => {
  const { output, text } = kept({ isTerminal: true });
  void output.control("\r\u001b[K");
  void output.write("a\rb\u001b[K");
  await output.flush();
  assert.equal(text(), "\r\u001b[Ka\\u000db\\u001b[K");
});

import assert from "node:assert/strict";
import { runVbg } from "../../cli/vbg.ts";
import { runCommand } from "../support/command.ts";
import { frameText, messagesOf, messageText, namesIn, readJournal } from "../support/converted.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { OWN_WORDS } from "../support/own_words.ts";
import { sampleBytes } from "../support/recordings.ts";
import { taskArgs } from "../support/task.ts";

const inProcess = needs({ permissions: ["env", "read", "sys", "write"] });
const children = needs({ permissions: ["env", "read", "run", "sys", "write"] });

const SAMPLE = "candump_sample3.txt";

/** Runs `vbg convert` in this process. */
async function convert(...args: string[]) {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = await runVbg({
    args: ["convert", ...args],
    environment: {},
    print: (text) => printed.push(text),
    printError: (text) => complained.push(text),
  });
  return { code, printed: printed.join("\n"), complained: complained.join("\n") };
}

/** Runs a test with a folder that has a recording of candump in it. */
function withRecording(test: (paths: { folder: string; input: string; out: string }) => Promise<void>) {
  return () =>
    inFolder(async (folder) => {
      const input = `${folder}/bus.log`;
      await Deno.writeFile(input, sampleBytes(SAMPLE));
      await test({ folder, input, out: `${folder}/out.lpj` });
    });
}

Deno.test(
  "vbg convert writes a journal and tells on standard error what became of every line",
  inProcess,
  withRecording(async ({ input, out }) => {
    const { code, printed, complained } = await convert(input, "-out", out);
    assert.deepEqual([code, printed], [0, ""]);
    const { frames, bytes } = await readJournal(out);
    assert.deepEqual(frames.map(frameText), (await messagesOf(sampleBytes(SAMPLE))).map(messageText));
    assert.deepEqual(complained.split("\n"), [
      `${input}: candump, 2378 lines: 2368 frames of "slcan0" → 1874 messages`,
      "  skipped: 10 lines (comments, headings, empty lines)",
      `${out}: messages 1 to 1874, 2017-08-17T15:47:46.421Z to 2017-08-17T15:48:03.826Z, 1 block, ${bytes.length} bytes`,
    ]);
  }),
);

Deno.test(
  "damaged lines, drops and notes are told, with what a terminal would obey escaped",
  inProcess,
  withRecording(async ({ folder, out }) => {
    const path = `${folder}/night.log`;
    const fragment = "00:00:00.000 R 0DF80510 00 2B FF FF FF FF FF FF";
    await Deno.writeTextFile(path, `${fragment}\n\u001b[31mred\n`);
    const { code, complained } = await convert(path, "-out", out);
    assert.equal(code, 1);
    assert.deepEqual(complained.split("\n"), [
      `${path}: ydwg, 2 lines: 1 frame → 0 messages`,
      "  damaged: 1 line",
      '    line 2: not a line of RAW mode: "\\u001b[31mred"',
      "  incomplete: 1 (timeout)",
      "  note: the recording has no dates and none was given: it begins on 1970-01-01",
      "no messages: no file is written",
    ]);
    assert.deepEqual(await namesIn(folder), ["bus.log", "night.log"]);
  }),
);

Deno.test(
  "-json prints the summary on standard output",
  inProcess,
  withRecording(async ({ input, out }) => {
    const { code, printed, complained } = await convert(input, "-out", out, "-json");
    assert.deepEqual([code, complained], [0, ""]);
    const { messages, epoch, inputs, files } = JSON.parse(printed);
    assert.equal(messages, 1874);
    assert.match(epoch, /^[0-9a-f]{32}$/);
    assert.deepEqual([inputs[0].name, inputs[0].format, inputs[0].passed_over.comment], [input, "candump", 10]);
    assert.deepEqual([files[0].path, files[0].last_seq], [out, 1874]);
  }),
);

Deno.test(
  "an output that is there is code 2 and stays, -force overwrites it",
  inProcess,
  withRecording(async ({ input, out }) => {
    await Deno.writeTextFile(out, "precious");
    const refused = await convert(input, "-out", out);
    const line = `vbg convert: Cannot write "${out}": it is there already; -force overwrites it`;
    assert.deepEqual([refused.code, refused.complained], [2, line]);
    assert.equal(await Deno.readTextFile(out), "precious");
    assert.equal((await convert(input, "-out", out, "-force")).code, 0);
    assert.equal((await readJournal(out)).frames.length, 1874);
  }),
);

Deno.test(
  "wrong use is code 2 with one line that says what is wrong",
  inProcess,
  withRecording(async ({ folder, input, out }) => {
    await Deno.writeTextFile(`${folder}/text`, "hello\n");
    const cases: [args: string[], line: RegExp][] = [
      [["-out", out], /^vbg convert: Missing input: expected at least one FILE\n/],
      [[input], /^vbg convert: flag -out: Missing output: expected -out FILE.lpj or DIR/],
      [[`${folder}/none`, "-out", out], /^vbg convert: Cannot read ".*none": No such file/],
      [[folder, "-out", out], /^vbg convert: Cannot read ".*": it is a directory\n/],
      [["-", "-", "-out", out], /^vbg convert: Cannot read standard input twice\n/],
      [
        [input, "-out", out, "-format", "pcap"],
        /^vbg convert: flag -format: Cannot read "pcap": expected auto, candump/,
      ],
      [
        [input, "-out", out, "-start-time", "2024-02-30T00:00:00Z"],
        /^vbg convert: flag -start-time: Cannot read the time/,
      ],
      [
        [`${folder}/text`, "-out", out],
        /^vbg convert: Cannot convert ".*text": The recording has an unknown format; expected candump, /,
      ],
    ];
    for (const [args, line] of cases) {
      const { code, printed, complained } = await convert(...args);
      assert.deepEqual([code, printed], [2, ""], complained);
      assert.match(complained, line);
    }
    assert.deepEqual(await namesIn(folder), ["bus.log", "text"]);
  }),
);

Deno.test(
  "what cannot be written is code 1, and nothing is left",
  inProcess,
  withRecording(async ({ folder, input }) => {
    const { code, complained } = await convert(input, "-out", `${input}/out.lpj`);
    assert.equal(code, 1);
    assert.match(complained, /^vbg convert: Cannot write ".*out\.lpj": /);
    assert.deepEqual(await namesIn(folder), ["bus.log"]);
  }),
);

Deno.test(
  "a directory gets files named as a boat server's, at the times that -start-time tells",
  inProcess,
  withRecording(async ({ folder }) => {
    const path = `${folder}/night.raw`;
    await Deno.writeFile(path, sampleBytes("ydwg_merrimac_head.txt"));
    const args = ["-out", `${folder}/journal`, "-prefix", "night", "-start-time", "2020-05-06T00:00:00+00:00"];
    assert.equal((await convert(path, ...args)).code, 0);
    assert.deepEqual(await namesIn(`${folder}/journal`), ["night-20200506T002958.618Z.lpj"]);
  }),
);

Deno.test(
  "- is standard input, which a pipe may be, too",
  children,
  withRecording(async ({ input, out }) => {
    const direct = await convert(input, "-out", out);
    assert.equal(direct.code, 0);
    const expected = await Deno.readFile(out);
    const vbg = new Deno.Command(Deno.execPath(), {
      args: taskArgs("cli", "convert", "-", "-out", out, "-force"),
      env: OWN_WORDS,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = vbg.stdin.getWriter();
    const bytes = sampleBytes(SAMPLE);
    for (let at = 0; at < bytes.length; at += 10_000) await writer.write(bytes.subarray(at, at + 10_000));
    await writer.close();
    const { code, stderr } = await vbg.output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.match(new TextDecoder().decode(stderr), /^standard input: candump, 2378 lines/);
    assert.deepEqual(await Deno.readFile(out), expected);
  }),
);

Deno.test(
  "how far it is, is shown on a terminal and not in a pipe",
  inProcess,
  withRecording(async ({ input, out }) => {
    const shown = await runCommand(["convert", input, "-out", out], { isTerminal: true });
    assert.equal(shown.code, 0);
    assert.match(shown.err, /█░* \d+ % {2}[\d.]+ [KM]?B/);
    const piped = await runCommand(["convert", input, "-out", out, "-force"]);
    assert.ok(!piped.err.includes("█"), piped.err);
  }),
);

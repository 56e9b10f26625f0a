import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { inFolder } from "../support/folder.ts";
import { journalFiles, makeWriter, readJournal } from "../support/journal_run.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { PtyCommand, vbgWords } from "../support/pty_command.ts";
import { sampleBytes } from "../support/recordings.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { taskArgs } from "../support/task.ts";

const PTY = needs({
  permissions: ["env", "net", "read", "run", "write"],
  programs: ["script", "stty", "mkfifo", "sleep", "cat"],
});
const ERASE_LINE = "\r\u001b[K";

/** The lines of a terminal as a person sees them in the end. */
function linesOf(text: string): string[] {
  return text.split("\r\n").map((line) => line.split(ERASE_LINE).at(-1) ?? "");
}

/** A journal file with `count` alarms, and a copy of it that ends in the middle. */
async function makeJournals(folder: string, count: number): Promise<{ whole: string; damaged: string }> {
  const directory = `${folder}/journal`;
  await Deno.mkdir(directory);
  const { writer } = makeWriter(directory);
  const data = Uint8Array.fromHex("504cfe0542ff08ff");
  for (let seq = 1; seq <= count; seq++) {
    writer.append(seq, message({ pgn: 130762, data, timeUs: START_US + seq * 1000 }));
  }
  await writer.close();
  const whole = `${directory}/${journalFiles(directory)[0]}`;
  const damaged = `${folder}/damaged.lpj`;
  const bytes = await Deno.readFile(whole);
  bytes.fill(0x55, bytes.length >> 1);
  await Deno.writeFile(damaged, bytes);
  return { whole, damaged };
}

Deno.test(
  "no command leaves a bar of progress on the terminal, at its end and after a complaint",
  PTY,
  () =>
    inFolder(async (folder) => {
      const { whole, damaged } = await makeJournals(folder, 20_000);
      const log = `${folder}/bus.log`;
      await Deno.writeFile(log, sampleBytes("candump_sample3.txt"));
      const commands = [
        ["alarms", whole],
        ["alarms", damaged],
        ["inspect", damaged],
        ["verify", damaged],
        ["repair", damaged, "-out", `${folder}/repaired`],
        ["convert", log, "-out", `${folder}/converted.lpj`],
        ["loadtest", "-duration", "0.5s", "-rate", "100"],
      ];
      const line = commands.map((words) => `${vbgWords(...words)}; echo "END"`).join("; ");
      const dumped = [whole, damaged].map((path) => `${vbgWords("dump", path)} > /dev/null; echo "END"`).join("; ");
      await using terminal = new PtyCommand(`${line}; ${dumped}`, { columns: 100, env: { NO_COLOR: "1" } });
      await terminal.code();
      assert.ok(terminal.text.split("█").length > commands.length, "there were bars");
      const lines = linesOf(terminal.text);
      assert.deepEqual(lines.filter((each) => each.includes("█") || each.includes("░")), []);
      assert.equal(lines.filter((each) => each === "END").length, commands.length + 2, "each end begins a line");
    }),
);

Deno.test("Ctrl-C takes the bar of progress away before the command ends", PTY, () =>
  inFolder(async (folder) => {
    const log = `${folder}/bus.log`;
    await Deno.writeFile(log, sampleBytes("candump_sample3.txt"));
    for (const [name = "", ...words] of [["dump"], ["convert", "-out", `${folder}/converted.lpj`]]) {
      const pipe = `${folder}/${name}.pipe`;
      // The shell stays at Ctrl-C, the command behind it does not.
      const feed = `mkfifo ${pipe}; (trap '' INT PIPE; cat ${log}; exec sleep 60) > ${pipe} & feeder=$!; trap : INT`;
      const line = `${feed}; ${vbgWords(name, ...words, pipe)} > /dev/null; echo "END $?"; kill $feeder 2> /dev/null`;
      await using terminal = new PtyCommand(line, { columns: 100, env: { NO_COLOR: "1" } });
      await terminal.shows("/s");
      await terminal.type("\u0003");
      await terminal.shows("END");
      assert.deepEqual(linesOf(terminal.text).filter((each) => !["^C", ""].includes(each)), ["END 130"], name);
    }
  }));

const PROGRAM = needs({ permissions: ["env", "net", "read", "run", "write"], programs: ["nohup"] });
const FRAMES = 200;
/** They come within some milliseconds. */
const SIGNALS = 3;

/** Records `FRAMES` frames of a boat; `end` ends the recording. Answers its exit code and the numbers in its journal. */
async function record(
  end: (child: Deno.ChildProcess, parts: { boat: TestBoat; recorded: () => number }) => void | Promise<void>,
  { through = [] }: { through?: string[] } = {},
): Promise<{ code: number; frames: number }> {
  const folder = await Deno.makeTempDir();
  try {
    await using boat = await TestBoat.start();
    const directory = `${folder}/journal`;
    const words = taskArgs("cli", "dump", "-server", boat.url, "-journal", directory, "-json");
    const [command = "", ...args] = [...through, Deno.execPath(), ...words];
    const child = new Deno.Command(command, { args, cwd: folder, stdin: "null", stdout: "piped", stderr: "piped" })
      .spawn();
    let [out, err] = ["", ""];
    const reading = Promise.all([
      child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
        new WritableStream({ write: (text) => void (out += text) }),
      ),
      child.stderr.pipeThrough(new TextDecoderStream()).pipeTo(
        new WritableStream({ write: (text) => void (err += text) }),
      ),
    ]);
    await eventually("the connection", () => err.includes("connected to"));
    for (let i = 0; i < FRAMES; i++) boat.say({ src: 7 });
    const recorded = () => out.split("\n").length - 1;
    await eventually("all frames", () => recorded() === FRAMES);
    await end(child, { boat, recorded });
    const { code } = await child.status;
    await reading;
    assert.ok(journalFiles(directory).length > 0);
    return { code, frames: readJournal(directory).frames.length };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("two SIGTERMs in a row, as timeout sends them, end a recording in order", PROGRAM, async () => {
  const { code, frames } = await record(async (child) => {
    const ended = child.status.then(() => true);
    // Signals that are pending merge: each has to be handled before the next.
    for (let i = 0; i < SIGNALS && !await Promise.race([ended, delay(5, false)]); i++) child.kill("SIGTERM");
  });
  assert.deepEqual({ code, frames }, { code: 0, frames: FRAMES });
});

Deno.test("the end of the terminal (SIGHUP) ends a recording in order", PROGRAM, async () => {
  assert.deepEqual(await record((child) => child.kill("SIGHUP")), { code: 0, frames: FRAMES });
});

Deno.test("a recording under nohup outlives its terminal", PROGRAM, async () => {
  const { code, frames } = await record(async (child, { boat, recorded }) => {
    child.kill("SIGHUP");
    boat.say({ src: 7 });
    await eventually("a frame after the signal", () => recorded() === FRAMES + 1);
    child.kill("SIGTERM");
  }, { through: ["nohup"] });
  assert.deepEqual({ code, frames }, { code: 0, frames: FRAMES + 1 });
});

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { journalFiles, readJournal } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { taskArgs } from "../support/task.ts";

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

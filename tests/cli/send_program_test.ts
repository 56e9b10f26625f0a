import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

const options = needs({ permissions: ["run", "read", "write", "net", "env"] });
const HEADING = { pgn: 127250, data: "00" };
const WIND = { pgn: 130306, data: "00" };

/** The server with a file that it reads again when it is written. */
class RuledBoat implements AsyncDisposable {
  readonly #program: TestProgram;
  readonly #url: string;

  private constructor(program: TestProgram, url: string) {
    this.#program = program;
    this.#url = url;
  }

  static async start(): Promise<RuledBoat> {
    const flags = ["-loopback", "-discovery=false", "-send-enabled", "-listen", "127.0.0.1:0"];
    const program = await TestProgram.start("boat", (folder) => ["-state-dir", folder, ...flags]);
    return new RuledBoat(program, await program.url());
  }

  /** Statuses of a heading and of a wind. */
  async statuses(): Promise<number[]> {
    return await Promise.all([HEADING, WIND].map(async (body) => {
      const reply = await fetch(`${this.#url}/send`, { method: "POST", body: JSON.stringify(body) });
      await reply.body?.cancel();
      return reply.status;
    }));
  }

  /** Writes the file, has it read, and answers what the log says of it. */
  async reload(file: string): Promise<string> {
    const before = this.#program.log.length;
    await Deno.writeTextFile(`${this.#program.folder}/vbg-boat.conf`, file);
    this.#program.signal("SIGHUP");
    return await eventually("the settings are read", () => {
      const log = this.#program.log.slice(before);
      return /settings (reloaded|refused)[^\n]*\n/.test(log) && log;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

Deno.test("SIGHUP keeps rules that are objects, and never opens a server by a mistake", options, async () => {
  await using boat = await RuledBoat.start();
  assert.deepEqual(await boat.statuses(), [202, 202]);

  const objects = "send.rules = [{ deny = true, pgn = 127250 }, { pgn = [127245-127258, 130306] }]";
  assert.match(await boat.reload(objects), /"changed":"send-rules"/);
  assert.deepEqual(await boat.statuses(), [403, 202]);
  assert.match(await boat.reload(`${objects}, max-queries = 3`), /"changed":"max-queries"/);
  assert.deepEqual(await boat.statuses(), [403, 202]);

  for (const bad of ["send.rules = [{ pgn = 9-3 }]", `${objects} }`, "send.rules = [{}]", "send.rule = []"]) {
    assert.match(await boat.reload(bad), /settings refused/, bad);
    assert.deepEqual(await boat.statuses(), [403, 202], bad);
  }
  assert.match(await boat.reload("send.rules = [{ deny = true }]"), /settings reloaded/);
  assert.deepEqual(await boat.statuses(), [403, 403]);
});

Deno.test("SIGHUP tells when there are no rules any more, and what needs a restart", options, async () => {
  await using boat = await RuledBoat.start();
  await boat.reload('send.rules = ["pgn:130306"]');
  const log = await boat.reload("virtual-device = true");
  assert.match(log, /"level":"warn".*clients may send anything/);
  assert.match(log, /need a restart.*"settings":"virtual-device"/);
  assert.deepEqual(await boat.statuses(), [202, 202]);
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { TestAuthority } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { LiveCommand } from "../support/live_command.ts";
import { PtyCommand } from "../support/pty_command.ts";
import { taskArgs } from "../support/task.ts";

const PROGRAM = needs({ permissions: ["env", "net", "read", "run", "write"] });
const OPENSSL = needs({ permissions: ["env", "net", "write"], programs: ["openssl"] });

function startBoat(env: Record<string, string>, ...args: string[]): Promise<TestProgram> {
  const all = (folder: string) => ["-loopback", "-listen", "127.0.0.1:0", "-state-dir", `${folder}/state`, ...args];
  return TestProgram.start("boat", all, env);
}

/** Writes a file with one token that may read. */
async function writeTokens(path: string, token: string): Promise<void> {
  const sha256 = createHash("sha256").update(token).digest("hex");
  await Deno.writeTextFile(path, JSON.stringify([{ name: "one", sha256, scopes: ["read"] }]), { mode: 0o600 });
}

Deno.test("SIGHUP reads tokens again and logs that, and a bad file leaves the old ones", PROGRAM, async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/tokens.json`;
    await writeTokens(file, "sesame-1");
    await using program = await startBoat({ VBG_API_KEY: "sesame-3" }, "-auth-file", file);
    const url = await program.url();
    const status = async (key: string) => {
      const reply = await fetch(`${url}/devices`, { headers: { "X-API-Key": key } });
      await reply.body?.cancel();
      return reply.status;
    };
    assert.deepEqual([await status("sesame-1"), await status("sesame-2"), await status("sesame-3")], [200, 401, 200]);
    await Deno.writeTextFile(file, "[]");
    program.signal("SIGHUP");
    await eventually("the refusal", () => program.log.includes("has no token"));
    assert.deepEqual([await status("sesame-1"), await status("")], [200, 401]);
    await writeTokens(file, "sesame-2");
    program.signal("SIGHUP");
    await eventually("the other token", async () => await status("sesame-2") === 200);
    assert.deepEqual([await status("sesame-1"), await status("sesame-3")], [401, 200]);
    await eventually("the log", () => program.log.includes('"changed":"auth-file"'));
    program.signal("SIGHUP");
    await eventually("the log of a reload without changes", () => program.log.includes('"changed":"nothing"'));
    assert.doesNotMatch(program.log, /sesame/);
  });
});

Deno.test("a program with tokens that cannot be read does not start", PROGRAM, async () => {
  await using program = await startBoat({}, "-auth-file", "missing.json");
  assert.equal(await program.exitCode(), 2);
  assert.match(program.log, /^vbg-boat: flag -auth-file: missing\.json: No such file/m);
});

Deno.test("SIGHUP takes another certificate over at once", OPENSSL, async () => {
  await inFolder(async (folder) => {
    const authority = await TestAuthority.make(folder);
    const { certPath, keyPath } = await authority.issue("first");
    const second = await authority.issue("second");
    await using program = await startBoat({}, "-tls-cert", certPath, "-tls-key", keyPath);
    const listening = () => /"url":"https:\/\/[^"]+:(\d+)"/.exec(program.log)?.[1];
    const port = Number(await eventually("the log line with the address", listening));
    assert.equal(await authority.nameAt(port), "first");
    await Deno.copyFile(second.certPath, certPath);
    await Deno.copyFile(second.keyPath, keyPath);
    program.signal("SIGHUP");
    await eventually("the other certificate", async () => await authority.nameAt(port) === "second");
  });
});

const NET = needs({ permissions: ["net"] });

/** Ends a command while a server leaves its question without an answer. Answers its exit code and its words. */
async function interrupted(args: readonly string[]): Promise<[code: number, words: string]> {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked.resolve();
    return answer.promise;
  });
  const command = new LiveCommand([...args, "-server", `http://127.0.0.1:${server.addr.port}`]);
  try {
    await Promise.race([asked.promise, command.code]);
    return [await command.stop(), [...command.written, ...command.complained].join("")];
  } finally {
    answer.resolve(new Response());
  }
}

Deno.test("Ctrl-C before a server has answered is exit code 130, without a word", NET, async () => {
  const questions = [
    ["send", "-pgn", "127250", "-data", "00"],
    ["request", "-pgn", "127250"],
    ["devices"],
    ["values"],
    ["history"],
    ["pgns"],
  ];
  for (const args of questions) assert.deepEqual(await interrupted(args), [130, ""], args.join(" "));
});

Deno.test("Ctrl-C is the good end of what goes on until then, also before the first answer", NET, async () => {
  const endless = [["devices", "-watch"], ["values", "-watch"], ["top"], ["tail"], ["dump"]];
  for (const args of endless) assert.deepEqual(await interrupted(args), [0, ""], args.join(" "));
});

const PTY = needs({ permissions: ["env", "net", "read", "run", "write"], programs: ["script", "stty"] });
const TEXT = /^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {2}listening url=/m;
const JSON_LINE = /^\{"time":"[^"]+","level":"info","message":"listening"/m;

Deno.test(
  "servers log text on a terminal and JSON in a pipe, unless -log-format says otherwise",
  PTY,
  () =>
    inFolder(async (folder) => {
      const quiet = ["-mdns=false", "-state-dir", `${folder}/state`, "-listen", "127.0.0.1:0"];
      const line = (...words: string[]) =>
        [Deno.execPath(), ...taskArgs("boat", "-demo", ...quiet, ...words)].map((word) => `'${word}'`).join(" ");
      const cases: [line: string, form: RegExp][] = [
        [line(), TEXT],
        [line("-log-format", "json"), JSON_LINE],
        [`${line()} 2>&1 | cat`, JSON_LINE],
        [`${line("-log-format", "text")} 2>&1 | cat`, TEXT],
      ];
      for (const [command, form] of cases) {
        await using terminal = new PtyCommand(command, { columns: 200 });
        await terminal.shows("listening");
        await terminal.shows("\r\n");
        assert.match(terminal.text, form);
        await terminal.type("\u0003");
        await terminal.code();
      }
    }),
);

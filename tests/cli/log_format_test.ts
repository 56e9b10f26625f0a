import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { PtyCommand } from "../support/pty_command.ts";
import { taskArgs } from "../support/task.ts";

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

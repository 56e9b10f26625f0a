import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { fileNameOf, journalsOf, messagesCsv, messagesIn, tableCsv, tableOf } from "../support/exported.ts";
import { namesIn } from "../support/converted.ts";
import { needs } from "../support/needs.ts";
import { CommandRun } from "./dump_run.ts";

const OFFLINE = needs({ permissions: ["env", "read", "sys", "write"] });

Deno.test(
  "every recording as CSV: rows equal those of a plain reading, in one table and in one for each PGN",
  OFFLINE,
  () =>
    inFolder(async (folder) => {
      for (const [name, journal] of await journalsOf(folder, { isFull: true })) {
        const messages = await messagesIn(journal);
        assert.ok(messages.length > 0, name);
        const { code, text, complaints } = await CommandRun.end(["export", journal]);
        assert.deepEqual([code, complaints], [0, ""], name);
        assert.equal(text, messagesCsv(messages), name);
        const out = `${folder}/${name}.out`;
        assert.equal((await CommandRun.end(["export", journal, "-out", `${out}/`])).code, 0, name);
        const pgns = [...new Set(messages.map(({ frame }) => frame.pgn))];
        assert.deepEqual(await namesIn(out), pgns.map((pgn) => `${fileNameOf(pgn)}.csv`).sort(), name);
        for (const pgn of pgns) {
          const written = await Deno.readTextFile(`${out}/${fileNameOf(pgn)}.csv`);
          const hasData = /^[^\n]*,data\n/.test(written);
          assert.equal(written, tableCsv(pgn, tableOf(pgn, messages, { hasData })), `${name} ${pgn}`);
        }
      }
    }),
);

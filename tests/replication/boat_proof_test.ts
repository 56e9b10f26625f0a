import assert from "node:assert/strict";
import { DIGEST_WINDOW } from "../../src/journal/mod.ts";
import { newestDigest, unprovenSeqs } from "../../src/replication/link/proof.ts";
import { Ranges } from "../../src/replication/mod.ts";
import { TestJournal } from "../support/history.ts";
import { inFolder } from "../support/folder.ts";
import { EPOCH, frameOf } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";

const FILES = needs({ permissions: ["read", "write"] });

Deno.test(
  "what a boat shows is the newest that a cloud has and it can read, however far below the newest of all that is",
  FILES,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder, { epoch: EPOCH, buses: ["can0"] });
      const record = (from: number, to: number) => {
        for (let seq = from; seq <= to; seq++) journal.writer.append(seq, frameOf(seq));
      };
      const far = 40 * DIGEST_WINDOW;
      record(1, 300);
      record(far, far + 50);
      await journal.writer.sync();
      const shown = async (held: Ranges, head = far + 50) => {
        const seqs = unprovenSeqs(held, { sent: [], oldest: 1, head });
        const proof = await newestDigest(held, { seqs, oldest: 1, index: journal.index, epoch: EPOCH });
        return proof && [proof.firstSeq, proof.lastSeq];
      };
      const all = new Ranges([{ start: 1, end: far + 21 }]);
      assert.deepEqual(await shown(all), [far, far + 20]);
      // Recording was paused after 300, and frames went out live.
      assert.deepEqual(await shown(new Ranges([{ start: 1, end: far - 1000 }])), [1, 300]);
      assert.deepEqual(await shown(new Ranges([{ start: 100, end: 200 }, { start: 5000, end: far - 1 }])), [100, 199]);
      assert.deepEqual(await shown(new Ranges([{ start: 400, end: far - 1 }])), undefined);
      assert.deepEqual(await shown(all, far + 10), undefined, "the cloud has more than the boat ever had");
    }),
);

import assert from "node:assert/strict";
import { packWithDictionaries } from "../support/dictionary_journal.ts";
import { eventually } from "../support/eventually.ts";
import { journalFiles } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { assertFrames, LinkFixture, seqs } from "./boat_link_fixture.ts";

const HEAD = 3000;
const BLOCK_BYTES = 4096;
const TOOLS = needs({ permissions: ["env", "net", "write"], programs: ["openssl", "zstd"] });

for (const hasIndex of [true, false]) {
  Deno.test(
    `blocks with dictionaries come as plain zstd, from a file ${hasIndex ? "with" : "without"} an index`,
    TOOLS,
    () =>
      LinkFixture.run(async (fixture) => {
        const { cloud, folder } = fixture;
        const journal = await fixture.journalFolder();
        {
          await using recorder = await fixture.boat({ journal, writing: { compression: "none" } });
          recorder.bring(HEAD);
        }
        const [name] = journalFiles(journal);
        const packed = await packWithDictionaries(`${journal}/${name}`, { folder, hasIndex });
        assert.ok(packed >= 10, `${packed} blocks with dictionaries`);

        await using boat = await fixture.boat({ journal, firstSeq: HEAD + 1 });
        boat.link.start();
        await eventually("all frames", () => cloud.held.covers(1, HEAD + 1));
        // The fixture unpacks them with a decoder that knows no dictionaries.
        assertFrames(cloud, seqs(1, HEAD));
        assert.ok(cloud.blocks.every(({ compressed, blockSize }) => compressed && blockSize === BLOCK_BYTES));
        assert.deepEqual(boat.link.status().lost, []);
      }),
  );
}

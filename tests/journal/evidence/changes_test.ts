import assert from "node:assert/strict";
import { openBlockFile } from "../../../src/journal/mod.ts";
import { journalOf, recordSigned, verifyEvidence } from "../../support/evidence.ts";
import { type Bench, type Change, CHANGES, type Files, keyAt } from "../../support/evidence_changes.ts";
import { inFolder } from "../../support/folder.ts";
import { IS_FULL, needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
const ROUNDS = IS_FULL ? 10_000 : 300;

/** A directory of signed files that is changed and made good again. */
class Directory {
  readonly #path: string;
  readonly good: Files = new Map();
  #now: Files = new Map();

  constructor(path: string) {
    this.#path = path;
    for (const { name, isFile } of Deno.readDirSync(path)) {
      if (isFile && name.includes(".lpj")) this.good.set(name, Deno.readFileSync(`${path}/${name}`));
    }
    this.#now = new Map(this.good);
  }

  set(files: Files): void {
    for (const name of this.#now.keys()) if (!files.has(name)) Deno.removeSync(`${this.#path}/${name}`);
    for (const [name, bytes] of files) {
      if (this.#now.get(name) !== bytes) Deno.writeFileSync(`${this.#path}/${name}`, bytes);
    }
    this.#now = files;
  }
}

Deno.test(
  `evidence: each of ${ROUNDS} flips, cuts, swaps, deletions and new signatures is found, and no other file is named`,
  DISK,
  () =>
    inFolder(async (folder) => {
      const { files: names } = await recordSigned(folder, 4000);
      assert.ok(names.length >= 6, `${names.length} files`);
      const directory = new Directory(journalOf(folder));
      const bench: Bench = {
        ...{ random: new Random(21), names },
        own: await keyAt(`${folder}/state/evidence.pem`),
        other: await keyAt(`${folder}/other.pem`),
      };
      const publicKey = `${folder}/evidence.pub.pem`;
      Deno.writeTextFileSync(publicKey, bench.own.pem);
      const kinds = Object.entries(CHANGES);
      const verify = () => verifyEvidence("-evidence-key", publicKey, journalOf(folder));
      assert.equal((await verify()).ok, true);
      let located = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const [what = "", change] = kinds[round % kinds.length]!;
        const files: Files = new Map(directory.good);
        const made = await change(files, bench);
        directory.set(files);
        const { code, faults } = await verify();
        const context = `round ${round}, ${what}: ${JSON.stringify({ made, faults })}`;
        assert.equal(code, 1, context);
        assert.deepEqual([...new Set(faults.map(({ name }) => name))].sort(), [...made.names].sort(), context);
        if (made.kinds) { for (const { kind } of faults) assert.ok(made.kinds.includes(kind), context); }
        directory.set(directory.good);
        located += await locates(journalOf(folder), { made, places: faults[0]?.places ?? [], context });
      }
      assert.ok(located > 0);
      assert.equal((await verify()).ok, true);
    }),
);

/** Whether a change in the data of a block was to be located; fails if it was not. */
async function locates(
  directory: string,
  { made: { names: [name = ""], offset }, places, context }: {
    made: Change;
    places: readonly { offset?: number }[];
    context: string;
  },
): Promise<number> {
  if (offset === undefined) return 0;
  const { index: { blocks } } = await openBlockFile(`${directory}/${name}`);
  const block = blocks.find((each) => {
    const { headerBytes, dataBytes } = each.header;
    return offset >= each.offset + headerBytes && offset < each.offset + headerBytes + dataBytes;
  });
  if (!block) return 0;
  assert.ok(places.some((place) => place.offset === block.offset), `block ${block.offset}, ${context}`);
  return 1;
}

import assert from "node:assert/strict";
import { frameBodies } from "../../src/cloud/store/frame_objects.ts";
import { epochKey, frameKey, prunedKey } from "../../src/cloud/store/object_names.ts";
import type { CheckedBoat } from "../../src/cloud/mod.ts";
import { type ObjectStore, openStore } from "../../src/object_store/mod.ts";
import { runCloudCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { EPOCH, frameOf, journalFiles, makeWriter } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });

const check = (...args: string[]) => runCloudCommand(["store", "check", ...args]);

/** Stores frames of a boat in one object; returns its key. */
async function put(
  store: ObjectStore,
  { id = "aurora", first, last, folder, isOther = false }: {
    id?: string;
    first: number;
    last: number;
    folder: string;
    isOther?: boolean;
  },
): Promise<string> {
  const directory = await Deno.makeTempDir({ dir: folder });
  const { writer } = makeWriter(directory);
  for (let seq = first; seq <= last; seq++) writer.append(seq, frameOf(seq, isOther ? { timeUs: 5 } : {}));
  await writer.close();
  for await (const { bytes, ...body } of frameBodies(`${directory}/${journalFiles(directory)[0]}`, { epoch: EPOCH })) {
    const key = frameKey({ id, epoch: EPOCH.toHex(), ...body });
    await store.putIfAbsent(key, bytes);
    return key;
  }
  throw new Error("no frame");
}

async function inStore(work: (parts: { store: ObjectStore; folder: string; url: string }) => Promise<void>) {
  await inFolder(async (folder) => {
    const url = `file://${folder}/store`;
    using store = await openStore({ url });
    for (const id of ["aurora", "borealis"]) {
      await store.putIfAbsent(epochKey(id, 1), new TextEncoder().encode(EPOCH.toHex()));
    }
    await work({ store, folder, url });
  });
}

Deno.test(
  "vbg-cloud store check says what is stored, deleted by retention, and missing, which is no error",
  DISK,
  () =>
    inStore(async ({ store, folder, url }) => {
      for (const [first, last] of [[11, 100], [101, 200], [150, 160], [301, 400]] as const) {
        await put(store, { first, last, folder });
      }
      await put(store, { id: "borealis", first: 1, last: 5, folder });
      await store.putIfAbsent(prunedKey({ id: "aurora", epoch: EPOCH.toHex(), first: 1, last: 10 }), new Uint8Array());
      const { code, out } = await check(url, "-json=false");
      assert.equal(code, 0);
      assert.match(
        out,
        new RegExp(
          `^aurora: 4 objects, \\d+ bytes: OK\n  epoch ${EPOCH.toHex()}: numbers 11 to 400\n` +
            "  note: 1 to 10 deleted by retention\n  note: 201 to 300 not stored, the boat may still send them\n" +
            "  note: 11 numbers twice, with the same frames\nborealis: 1 object, \\d+ bytes: OK\n",
        ),
      );
      const { ok, boats }: { ok: boolean; boats: CheckedBoat[] } = JSON.parse(
        (await check(url, "-boat", "aurora")).out,
      );
      assert.deepEqual([ok, boats.map(({ id }) => id), boats[0]?.epochs[0]?.holes], [
        true,
        ["aurora"],
        [{ start: 201, end: 301 }],
      ]);
    }),
);

Deno.test(
  "vbg-cloud store check finds each kind of damage, and names the object",
  DISK,
  () =>
    inStore(async ({ store, folder, url }) => {
      const good = await put(store, { first: 1, last: 100, folder });
      const flipped = await put(store, { first: 101, last: 200, folder });
      const cut = await put(store, { first: 201, last: 300, folder });
      const contrary = await put(store, { first: 50, last: 60, folder, isOther: true });
      const path = (key: string) => `${folder}/store/${key}`;
      const bytes = await Deno.readFile(path(flipped));
      bytes[bytes.length >> 1]! ^= 1;
      await Deno.writeFile(path(flipped), bytes);
      await Deno.truncate(path(cut), 100);
      const body = await store.get(good);
      const renamed = good.replace("0000001-", "0000002-");
      await store.putIfAbsent(renamed, body);
      const foreign = `instances/aurora/${EPOCH.toHex()}/notes.txt`;
      await store.putIfAbsent(foreign, new TextEncoder().encode("hello"));
      await store.putIfAbsent(epochKey("aurora", 3), new TextEncoder().encode("x"));
      const { code, out } = await check(url, "-boat", "aurora");
      assert.equal(code, 1);
      const { boats }: { boats: CheckedBoat[] } = JSON.parse(out);
      const faults = new Map(boats[0]?.faults.map(({ key, what }) => [key, what]));
      assert.match(faults.get(flipped) ?? "", /hash differs/);
      assert.match(faults.get(cut) ?? "", /hash differs/);
      assert.match(faults.get(contrary) ?? "", /other frames than .* with the same numbers/);
      assert.match(faults.get(renamed) ?? "", /not those of its name/);
      assert.match(faults.get(foreign) ?? "", /name is not that of frames/);
      assert.match(faults.get(epochKey("aurora", 3)) ?? "", /position 2/);
      assert.equal(faults.has(good), false);
      assert.equal(faults.size, 6);
    }),
);

Deno.test(
  "vbg-cloud store check refuses what is no store, and a store without the boat",
  DISK,
  () =>
    inStore(async ({ store, folder, url }) => {
      await put(store, { first: 1, last: 5, folder });
      for (
        const [words, reason] of [
          [[], /found 0/],
          [[url, url], /found 2/],
          [["ftp://x"], /expected s3:\/\/BUCKET/],
          [[url, "-boat", "nobody"], /has no such boat/],
          [[url, "-store-endpoint", "localhost"], /Expected http/],
        ] as const
      ) {
        const { code, err } = await check(...words);
        assert.equal(code, 2, err);
        assert.match(err, reason);
      }
      const missing = await check(`file://${folder}/fleeet`);
      assert.equal(missing.code, 1);
      assert.match(missing.err, /Cannot open .*fleeet: No such file or directory/);
      await assert.rejects(Deno.stat(`${folder}/fleeet`), Deno.errors.NotFound, "nothing is created");
      await Deno.mkdir(`${folder}/empty`);
      assert.match((await check(`file://${folder}/empty`)).err, /it has no boat/);
      assert.deepEqual([...Deno.readDirSync(`${folder}/empty`)], [], "nothing is written");
    }),
);

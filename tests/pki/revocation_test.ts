import assert from "node:assert/strict";
import { type LogFields, Logger } from "../../src/base/mod.ts";
import {
  formatRevocations,
  normalSerial,
  parseRevocations,
  RevocationError,
  RevocationFile,
} from "../../src/pki/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { authorityNamed, DAY_ONE_MS } from "../cloud/handshake.ts";

const FILES = needs({ permissions: ["read", "write"] });
const NONE = { authorities: "" };

Deno.test("a serial number is the same in every form that tools print", () => {
  for (const text of ["0a3f", "0A:3F", "0x0a3f", " a3f\t", "000A3F"]) assert.equal(normalSerial(text), "a3f", text);
  assert.equal(normalSerial("00"), "0");
  for (const text of ["", "xyz", "a3f b", "0x", "-1", "f".repeat(43)]) {
    assert.equal(normalSerial(text), undefined, text);
  }
});

Deno.test("what is written as a list is read back, notes and empty lines are passed over", async () => {
  const revoked = [{ serial: "4a3f", name: "aurora", revokedMs: DAY_ONE_MS }, {
    serial: "51",
    name: "b",
    revokedMs: DAY_ONE_MS,
  }];
  const text = formatRevocations(revoked);
  assert.match(text, /^4a3f # aurora, 2026-06-01T00:00:00\.000Z$/m);
  assert.deepEqual([...await parseRevocations(text, NONE)], ["4a3f", "51"]);
  assert.deepEqual([...await parseRevocations("\r\n# all\r\n0A:01 # one\r\n\r\n", NONE)], ["a01"]);
  assert.equal((await parseRevocations("", NONE)).size, 0);
});

Deno.test("a line that is no serial number is an error with its number, not a certificate that stays good", async () => {
  await assert.rejects(parseRevocations("51\n\naurora\n", NONE), (error: Error) => {
    assert.ok(error instanceof RevocationError);
    assert.equal(error.message, 'line 3 is not a serial number: "aurora"');
    return true;
  });
});

Deno.test("a signed list counts when an authority that is trusted has signed it", async () => {
  const [ours, rogue] = [await authorityNamed("Boats"), await authorityNamed("Boats")];
  const revoked = [{ serial: "4a3f", revokedMs: DAY_ONE_MS }];
  const list = await ours.signer.listRevoked(revoked, { number: 200, nowMs: DAY_ONE_MS });
  const forged = await rogue.signer.listRevoked([], { number: 201, nowMs: DAY_ONE_MS });
  assert.deepEqual([...await parseRevocations(list, { authorities: ours.cert })], ["4a3f"]);
  assert.deepEqual([...await parseRevocations(list, { authorities: rogue.cert + ours.cert })], ["4a3f"]);
  const both = { authorities: ours.cert };
  await assert.rejects(parseRevocations(forged, both), /not signed by a trusted authority/);
  await assert.rejects(parseRevocations(list + forged, both), /not signed by a trusted authority/);
  await assert.rejects(parseRevocations(list.replace(/^[A-Za-z0-9+/]{9}/m, ""), both), RevocationError);
  const empty = await ours.signer.listRevoked([], { number: 128, nowMs: DAY_ONE_MS });
  assert.equal((await parseRevocations(empty, both)).size, 0);
});

/** A file that is followed, and what was logged of it. */
async function openFile(path: string) {
  const lines: LogFields[] = [];
  const log = new Logger({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) });
  const file = await RevocationFile.open({ path, authorities: () => "", log });
  return { file, lines };
}

Deno.test(
  "a list is used as soon as its file has changed, and who follows it is told once",
  FILES,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/revoked.txt`;
      await Deno.writeTextFile(path, "51\n");
      const { file } = await openFile(path);
      let changes = 0;
      const leave = file.follow(() => changes++);
      try {
        assert.deepEqual([file.has("51"), file.has("4A3F"), file.size], [true, false, 1]);
        await Deno.writeTextFile(path, "51\n4a3f\n");
        await eventually("the new list", () => file.has("0x4A3F"));
        await file.check();
        assert.deepEqual([changes, file.size], [1, 2]);
        leave();
        await Deno.writeTextFile(path, "");
        await file.check();
        assert.deepEqual([changes, file.size], [1, 0]);
      } finally {
        file.stop();
      }
    }),
);

Deno.test(
  "a file that is gone or wrong leaves the old list in use, is logged once, and heals",
  FILES,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/revoked.txt`;
      await Deno.writeTextFile(path, "51\n");
      const { file, lines } = await openFile(path);
      for (const spoil of [() => Deno.writeTextFile(path, "51\nwhat\n"), () => Deno.remove(path)]) {
        await spoil();
        await file.check();
        await file.check();
        assert.ok(file.has("51"));
        assert.notEqual(file.fault, undefined);
      }
      assert.equal(lines.length, 2, JSON.stringify(lines));
      await Deno.writeTextFile(path, "51\n");
      await file.check();
      assert.deepEqual([file.fault, file.has("51"), lines.length], [undefined, true, 2]);
    }),
);

Deno.test("a list that cannot be used at the start is an error with its path", FILES, () =>
  inFolder(async (folder) => {
    const path = `${folder}/revoked.txt`;
    await assert.rejects(
      openFile(path),
      /Cannot use the list of revoked certificates ".*revoked\.txt": there is no such file/,
    );
    await Deno.writeTextFile(path, "what");
    await assert.rejects(openFile(path), /line 1 is not a serial number/);
    await assert.rejects(openFile(folder), RevocationError);
  }));

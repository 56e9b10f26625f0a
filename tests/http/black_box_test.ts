import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";
import { needs } from "../support/needs.ts";
import { createHash } from "node:crypto";

const DISK = needs({ permissions: ["net", "read", "write"] });
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

interface Entry {
  name: string;
  complete: boolean;
  text: string;
}

Deno.test(
  "a mark tells its file, the next one within ten minutes the same; the file can be downloaded",
  DISK,
  () =>
    inFolder(async (folder) => {
      let name = "";
      {
        await using boat = await TestBoat.start({ stateDirectory: folder });
        const client = connect(boat.url);
        for (let i = 0; i < 30; i++) boat.say({ data: [i, 2, 3, 4, 5, 6, 7, 8] });
        const bodyless = await fetch(`${boat.url}/mark`, { method: "POST" });
        const first = await bodyless.json();
        assert.deepEqual([bodyless.status, first.is_new], [202, true]);
        assert.deepEqual(await client.mark("again"), { name: first.name, is_new: false });
        const [entry] = await client.blackBox();
        assert.deepEqual([entry?.name, entry?.complete, entry?.bytes], [first.name, false, 0]);
        assert.equal((await fetch(`${boat.url}/blackbox/${first.name}`)).status, 404, "not complete yet");
        name = first.name;
      }
      await using boat = await TestBoat.start({ stateDirectory: folder });
      const [entry] = await eventually("the list", () => boat.get<Entry[]>("/blackbox"));
      assert.deepEqual([entry?.name, entry?.complete], [name, true]);
      const bytes = new Uint8Array(
        await new Blob(await Array.fromAsync(connect(boat.url).blackBoxFile(name), (part) => part.slice()))
          .arrayBuffer(),
      );
      const frames = readLpj(bytes).blocks.flatMap(({ frames }) => frames);
      assert.deepEqual(
        frames.map(({ data }) => parseInt(data.slice(0, 2), 16)),
        Array.from({ length: 30 }, (_, i) => i),
      );
      for (const other of ["../sessions.json", "..%2Fsessions.json", name.replace("lpj", "json")]) {
        const reply = await fetch(`${boat.url}/blackbox/${other}`);
        await reply.body?.cancel();
        assert.equal(reply.status, 404, other);
      }
    }),
);

Deno.test(
  "a mark needs the scope send and no page of another origin; without a black box it is refused",
  DISK,
  () =>
    inFolder(async (folder) => {
      const tokens = [
        { name: "reader", sha256: sha256("r"), scopes: ["read"] },
        { name: "sender", sha256: sha256("s"), scopes: ["send"] },
      ] as const;
      await using boat = await TestBoat.start({ stateDirectory: folder, tokens });
      const mark = async (headers: Record<string, string>, body = "{}") => {
        const reply = await fetch(`${boat.url}/mark`, { method: "POST", headers, body });
        await reply.body?.cancel();
        return reply.status;
      };
      assert.equal(await mark({}), 401);
      assert.equal(await mark({ "X-API-Key": "r" }), 403);
      assert.equal(await mark({ "X-API-Key": "s", Origin: "https://evil.example" }), 403);
      assert.equal(await mark({ "X-API-Key": "s" }, JSON.stringify({ text: "x".repeat(501) })), 400);
      assert.equal(await mark({ "X-API-Key": "s" }, JSON.stringify({ note: "x" })), 400);
      assert.equal(await mark({ "X-API-Key": "s" }), 202);
      for (const path of ["/blackbox", "/blackbox/x"]) {
        const reply = await fetch(boat.url + path, { headers: { "X-API-Key": "s" } });
        await reply.body?.cancel();
        assert.equal(reply.status, 403, "send does not include read");
      }
      await Deno.mkdir(`${folder}/off`);
      await using off = await TestBoat.start({ stateDirectory: `${folder}/off`, blackBoxBytes: 0 });
      const refused = await off.post("/mark", {});
      assert.equal(refused.status, 503);
      assert.deepEqual(await off.get("/blackbox"), []);
    }),
);

Deno.test("an alert of a running boat is kept in its black box", DISK, () =>
  inFolder(async (folder) => {
    await using boat = await TestBoat.start({ stateDirectory: folder, busSilenceTimeoutMs: 500 });
    boat.say();
    const [entry] = await eventually("the event", async () => {
      const list = await boat.get<Entry[]>("/blackbox");
      return list.length > 0 && list;
    });
    assert.match(entry?.text ?? "", /^can0 has had no frames for/);
  }));

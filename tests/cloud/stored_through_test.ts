import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CloudFixture } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

Deno.test(
  "a cloud without a store says nothing of it; with one it says what is stored, at once and then",
  CLOUD,
  async () => {
    await inFolder(async (folder) => {
      await using cloud = await CloudFixture.start(`${folder}/data`);
      assert.equal((await cloud.greeted()).response.storedThrough, undefined);
      cloud.boat.record.storedThrough = () => 0;
      const { client, response } = await cloud.greeted();
      assert.equal(response.storedThrough, 0);
      cloud.boat.record.storedThrough = () => 7;
      const live = client.live();
      for await (const { storedThrough } of live) {
        assert.equal(storedThrough, 7);
        break;
      }
      live.end();
    });
  },
);

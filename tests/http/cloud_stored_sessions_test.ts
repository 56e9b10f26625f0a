import assert from "node:assert/strict";
import { ObjectCache } from "../../src/cloud/mod.ts";
import { openStore } from "../../src/object_store/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { SessionClient } from "../support/session.ts";
import { WrappedStore } from "../support/wrapped_store.ts";
import { CloudServer } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write", "env", "sys"] });

Deno.test(
  "a session that was created or deleted is so at a node with an empty disk at once, and while the store is away here",
  DISK,
  () =>
    inFolder(async (folder) => {
      using disk = await openStore({ url: `file://${folder}/store` });
      const store = new WrappedStore(disk);
      const frameStore = { store, cache: new ObjectCache({ store }) };
      const start = (name: string) => CloudServer.start(`${folder}/${name}`, { frameStore });
      const clientOf = ({ url }: CloudServer, id: string) => new SessionClient(`${url}/instances/boat-1`, { id });
      await using one = await start("one");
      (await one.boat("boat-1")).say();
      await one.instances.get("boat-1")?.ship();
      for (const id of ["kept", "deleted"]) await clientOf(one, id).put();
      assert.equal((await clientOf(one, "deleted").request("DELETE", "")).status, 204);
      store.isAway = true;
      await clientOf(one, "local").put();
      assert.equal((await clientOf(one, "local").request("GET", "")).status, 200);
      store.isAway = false;

      await using two = await start("two");
      const states = ["kept", "deleted", "local"].map(async (id) => {
        const reply = await clientOf(two, id).request("GET", "");
        await reply.body?.cancel();
        return [id, reply.status];
      });
      assert.deepEqual(await Promise.all(states), [["kept", 200], ["deleted", 404], ["local", 404]]);
    }),
);

import assert from "node:assert/strict";
import { CloudServer } from "../http/cloud_server.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { rowsOf, runQuery } from "../support/query.ts";
import { accessToken } from "../support/sending.ts";

const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];
const DAY = ["-from", "2026-01-02T00:00:00Z", "-to", "2026-01-03T23:59:59Z"];
const SQL = "SELECT count(*) AS n, min(seq) AS first, max(seq) AS last, sum(heading) AS sum FROM vessel_heading";

Deno.test(
  "vbg query: the journal of a boat server, with what is not on disk yet, is queried here",
  RUN,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ stateDirectory: folder, journal, clock });
      for (let i = 1; i <= 30; i++) {
        boat.say({ src: 2 - i % 2, data: HEADING });
        await eventually("the message", () => boat.boat.broker.head === i);
        clock.advance(1000);
      }
      const server = ["-server", boat.url];
      assert.deepEqual(await rowsOf(SQL, ...server, ...DAY), [{ n: 30, first: 1, last: 30, sum: 30 }]);
      const some = ["-from", "2026-01-02T03:04:15Z", "-to", "2026-01-02T03:04:19Z"];
      assert.deepEqual(await rowsOf(SQL, ...server, ...some), [{ n: 5, first: 11, last: 15, sum: 5 }]);
      // The last hour of the real clock.
      assert.deepEqual(await rowsOf("FROM devices", ...server), []);
      const before = ["-from", "2020-01-01T00:00:00Z", "-to", "2020-01-02T00:00:00Z"];
      const nothing = await runQuery(["FROM devices", ...server, ...before]);
      assert.deepEqual([nothing.code, nothing.out.split("\n").length], [0, 2]);
      assert.equal(nothing.err, "vbg query: the server has recorded nothing in this time\n");
      const tables = await runQuery(["-tables", ...server, ...DAY]);
      assert.match(tables.out, /^vessel_heading,127250,30,heading,DOUBLE,rad$/m);
    }),
);

Deno.test(
  "vbg query: the journal of a boat in a cloud is queried here, with the token of who may read it",
  RUN,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder, { tokens: [accessToken("all", "secret", ["read"])] });
      const boat = await cloud.boat("aurora", { busNames: ["can0", "can1"] });
      for (let i = 0; i < 5; i++) boat.say({ src: 7, bus: i % 2, data: HEADING });
      const words = ["-server", `${cloud.url}/instances/aurora`, "-from", "2020-01-01T00:00:00Z"];
      const sql = "SELECT bus, count(*) AS n FROM vessel_heading GROUP BY bus ORDER BY bus";
      const { code, out, err } = await runQuery([sql, ...words], { environment: { VBG_TOKEN: "secret" } });
      assert.deepEqual([code, out, err], [0, "bus,n\ncan0,3\ncan1,2\n", ""]);
      const refused = await runQuery([sql, ...words]);
      assert.equal(refused.code, 1);
      assert.match(refused.err, /: 401 .*; use -token or VBG_TOKEN\n$/);
      const unknown = await runQuery([sql, "-server", `${cloud.url}/instances/nobody`], {
        environment: { VBG_TOKEN: "secret" },
      });
      assert.match(unknown.err, /404 There is no instance "nobody"/);
    }),
);

Deno.test("vbg query: a server without a journal says so", RUN, async () => {
  await using boat = await TestBoat.start();
  const { code, err } = await runQuery(["FROM devices", "-server", boat.url]);
  assert.equal(code, 1);
  assert.match(err, /^vbg query: GET .*\/journal\/blocks: 503 Recording is off: see -journal-dir\n$/);
});

import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const NETWORK = needs({ permissions: ["env", "net", "read", "sys"] });
const SERVER = needs({ permissions: ["env", "net", "read", "sys", "write"] });

Deno.test(
  "vbg ledger prints where frames and messages are, of a server and of its journal directory",
  SERVER,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      const boat = await TestBoat.start({ journal });
      for (let i = 0; i < 1200; i++) boat.say();
      boat.say({ pgn: 129029, data: new Array(43).fill(1) });
      await eventually("all", () => boat.boat.broker.head === 1201);
      const online = await runCommand(["ledger", "-server", boat.url, "-json=false"]);
      await boat[Symbol.asyncDispose]();
      const offline = await runCommand(["ledger", journal.directory, "-json=false"]);
      for (const { code, out } of [online, offline]) {
        assert.equal(code, 0, out);
        assert.match(out, /^can0\n {2}frames received {2}1 207\n {4}in messages {4}1 207\n/m);
        assert.match(out, /^ {2}messages {9}1 201\n {4}recorded {7}1 201\n/m);
        assert.match(out, /The sums are exact/);
      }
      assert.equal((await runCommand(["ledger", "a", "b"])).code, 2);
      assert.equal((await runCommand(["ledger", "-server", "x", folder])).code, 2);
    }),
);

Deno.test("vbg ledger ends with 1, and says by how much, when the sums are not exact", NETWORK, async () => {
  const bus = {
    bus: "can0",
    frames: { received: 10, dropped: 1, incomplete: { timeout: 2 }, in_messages: 5, waiting: 0 },
    messages: { numbered: 5, recorded: 3, acknowledged: 3, stored: 2, missing: { disk: 1 } },
    unknown: [{
      ...{ from: "2026-01-02T03:04:05.000Z", to: "2026-01-02T03:05:05.000Z", reason: "crashed", recorded: 7 },
      ...{ acknowledged: 7, stored: 7, interface_frames: 4812 },
    }],
    closed: false,
    off: { frames: 2, messages: 1 },
  };
  const report = { from: "2026-01-02T03:04:05.000Z", to: "2026-01-02T04:04:05.000Z", closed: false, buses: [bus] };
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => Response.json(report));
  const { code, out } = await runCommand(["ledger", "-server", `http://127.0.0.1:${server.addr.port}`, "-json=false"]);
  assert.equal(code, 1);
  assert.match(out, /not recorded +1 {2}the disk was full/);
  assert.match(out, /in the cloud +3 {2}acknowledged\n +2 {2}stored/);
  assert.match(out, /\(1m\): the server crashed; the interface counted 4 812 frames; 7 messages/);
  assert.match(out, /can0 are not exact: 2 frames were received and are nowhere; 1 messages were numbered/);
  assert.doesNotMatch(out, /The sums are exact/);
});

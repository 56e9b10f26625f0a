import assert from "node:assert/strict";
import { connect, connectCloud } from "../../src/client/mod.ts";
import { CloudServer, EPOCH } from "../http/cloud_server.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { range, seqs } from "../support/session.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { Reader } from "./reader.ts";
import { say } from "./say.ts";

const NET = needs({ permissions: ["net"] });
const DISK = needs({ permissions: ["net", "read", "write"] });
/** Tries that follow each other quickly. */
const SOON = { firstMs: 1, capMs: 20 };
const OFTEN = { bufferTimeout: "PT5M", ackIntervalMs: 5 };

Deno.test("a server without memory that was started anew gets a new session, and that is told", NET, async () => {
  using held = HeldPort.take();
  const { port } = held;
  const first = await TestBoat.start({ port });
  const reader = new Reader(connect(first.url, { retry: SOON }).session("log", OFTEN).events());
  await reader.connections(1);
  await say(first, 5);
  await reader.atLeast(5);
  await first.boat.stop();
  await using second = await TestBoat.start({ port });
  await reader.connections(2);
  await say(second, 3);
  assert.deepEqual(seqs(await reader.atLeast(8)), [...range(1, 5), ...range(1, 3)]);
  assert.equal(reader.told("new_epoch").length, 1);
  await reader.leave();
});

Deno.test("a server without memory that is further than we were is known as another run of numbers", NET, async () => {
  using held = HeldPort.take();
  const { port } = held;
  const first = await TestBoat.start({ port });
  await using proxy = await TcpProxy.start(port);
  const reader = new Reader(connect(`http://127.0.0.1:${proxy.port}`, { retry: SOON }).session("log", OFTEN).events());
  await reader.connections(1);
  await say(first, 5);
  await reader.atLeast(5);
  proxy.mode = "hold";
  proxy.cut("rst");
  await first.boat.stop();
  await using second = await TestBoat.start({ port });
  await say(second, 20);
  proxy.mode = "pass";
  await reader.connections(2);
  await say(second, 1);
  assert.deepEqual(seqs(await reader.atLeast(6)), [...range(1, 5), 21]);
  assert.equal(reader.told("new_epoch").length, 1);
  assert.deepEqual(reader.told("missed"), [{ type: "missed", fromSeq: 1, toSeq: 20, why: "expired" }]);
  await reader.leave();
});

Deno.test(
  "a session of a boat in a cloud goes on in the boat's next run of numbers",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using server = await CloudServer.start(folder);
      const boat = await server.boat("boat-1");
      const session = connectCloud(server.url, { retry: SOON }).boat("boat-1").session("log", OFTEN);
      const reader = new Reader(session.events());
      await reader.connections(1);
      for (let i = 0; i < 3; i++) boat.say({ src: 1 });
      await reader.atLeast(3);
      const next = await server.boat("boat-1", { epoch: EPOCH.map((byte) => byte + 1) });
      for (let i = 0; i < 2; i++) next.say({ src: 2 });
      assert.deepEqual((await reader.atLeast(5)).map(({ seq, src }) => [seq, src]), [
        ...[[1, 1], [2, 1], [3, 1]],
        ...[[1, 2], [2, 2]],
      ]);
      assert.equal(reader.told("new_epoch").length, 1);
      await reader.leave();
    }),
);

Deno.test(
  "numbers that began again while the connection was dead are told, and every new frame comes",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using server = await CloudServer.start(folder);
      await using proxy = await TcpProxy.start(Number(new URL(server.url).port));
      const boat = await server.boat("boat-1");
      const client = connectCloud(`http://127.0.0.1:${proxy.port}`, { retry: SOON });
      const reader = new Reader(client.boat("boat-1").session("log", OFTEN).events());
      await reader.connections(1);
      for (let i = 0; i < 3; i++) boat.say({ src: 1 });
      await reader.atLeast(3);
      proxy.mode = "swallow";
      const next = await server.boat("boat-1", { epoch: EPOCH.map((byte) => byte + 1) });
      for (let i = 0; i < 5; i++) next.say({ src: 2 });
      const session = connectCloud(server.url).boat("boat-1").session("log");
      await eventually("five frames", async () => (await session.state()).seq === 5);
      proxy.mode = "pass";
      proxy.cut("rst");
      assert.deepEqual((await reader.atLeast(8)).map(({ seq, src }) => [seq, src]), [
        ...range(1, 3).map((seq) => [seq, 1]),
        ...range(1, 5).map((seq) => [seq, 2]),
      ]);
      assert.deepEqual([reader.told("new_epoch").length, reader.told("missed")], [1, []]);
      await reader.leave();
    }),
);

import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { range } from "../support/session.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

const DISK = needs({ permissions: ["net", "read", "write"] });
const ALL = { from: new Date(0) };
const FRAMES = 30_000;

/** A boat whose recording holds so many frames of two sources on two buses. */
async function recorded(folder: string, count: number): Promise<TestBoat> {
  const journal = { directory: `${folder}/journal`, stateDirectory: folder, blockBytes: 65_536 };
  const boat = await TestBoat.start({ names: ["can0", "can1"], stateDirectory: folder, journal });
  for (let i = 0; i < count; i++) {
    boat.say({ src: 1 + i % 2, bus: i % 2, data: [i & 0xff, 0, 0xab, 0xcd, 1, 2, 3, 0xfd] });
  }
  await eventually("all frames", () => boat.boat.broker.head === count);
  return boat;
}

Deno.test(
  "a history of any length comes as a stream, filtered, limited and decoded as asked for",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = await recorded(folder, FRAMES);
      const client = connect(boat.url);
      let next = 1;
      for await (const { seq } of client.history({ ...ALL, limit: FRAMES })) assert.equal(seq, next++);
      assert.equal(next, FRAMES + 1);
      next = 1;
      for await (const { seq } of client.history(ALL)) assert.equal(seq, next++);
      assert.equal(next, FRAMES + 1, "without a limit it has every page");
      const paged = await Array.fromAsync(client.history({ ...ALL, src: [1], bus: ["can0", "can1"], interval: "1ms" }));
      const whole = await Array.fromAsync(
        client.history({ ...ALL, src: [1], bus: ["can0", "can1"], interval: "1ms", limit: FRAMES }),
      );
      assert.deepEqual(paged, whole);
      const query = { ...ALL, to: new Date(Date.now() + 60_000), src: [2], bus: ["can1"], limit: 3, decode: true };
      const frames = await Array.fromAsync(client.history(query));
      assert.deepEqual(frames.map(({ src, bus, decoded }) => [src, bus, decoded?.heading_reference]), [
        ...range(1, 3).map(() => [2, "can1", "magnetic"]),
      ]);
      const sparse = await Array.fromAsync(client.history({ from: "1970-01-01T00:00:00Z", interval: "P10D" }));
      assert.deepEqual(sparse.map(({ src }) => src).sort(), [1, 2]);
      assert.deepEqual(await Array.fromAsync(client.history({ ...ALL, pgn: [1] })), []);
    }),
);

Deno.test(
  "a history without a limit fails where the server does not say whether more frames follow",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = await recorded(folder, 10_001);
      const client = connect(boat.url, {
        fetch: async (url, init) => {
          const { body, headers } = await fetch(url, init);
          const type = headers.get("Content-Type") ?? "";
          return new Response(body, { headers: { "Content-Type": type } });
        },
      });
      const seen: number[] = [];
      const read = async () => {
        for await (const { seq } of client.history(ALL)) seen.push(seq);
      };
      await assert.rejects(read(), { name: "ConnectionError" });
      assert.deepEqual(seen, range(1, 10_000));
      assert.equal((await Array.fromAsync(client.history({ ...ALL, limit: 10_000 }))).length, 10_000);
      assert.equal((await Array.fromAsync(client.history({ ...ALL, src: [1] }))).length, 5001);
    }),
);

Deno.test(
  "a history that is left, ended by its signal or cut in the middle says so, and never seems whole",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = await recorded(folder, FRAMES);
      await using proxy = await TcpProxy.start(boat.boat.address.port);
      const client = connect(`http://127.0.0.1:${proxy.port}`);
      for await (const { seq } of client.history({ ...ALL, limit: FRAMES })) if (seq === 10) break;
      const abort = new AbortController();
      const ended = client.history({ ...ALL, limit: FRAMES }, { signal: abort.signal });
      assert.equal((await ended.next()).value?.seq, 1);
      abort.abort(new Error("enough"));
      await assert.rejects(Array.fromAsync(ended), { message: "enough" });
      proxy.bytesPerSecond = 1_000_000;
      const seen: number[] = [];
      const cut = async () => {
        for await (const { seq } of client.history({ ...ALL, limit: FRAMES, decode: true })) {
          if (seen.push(seq) === 1) proxy.cut("rst");
        }
      };
      await assert.rejects(cut(), { name: "ConnectionError" });
      assert.deepEqual(seen, range(1, seen.length));
      assert.ok(seen.length < FRAMES);
    }),
);

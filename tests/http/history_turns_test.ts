import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { HistoryTurns } from "../../src/http/history/turns.ts";
import { needs } from "../support/needs.ts";

/** What a slice of a history takes; any time will do. */
const BURN_MS = 2;
/** With nothing but `setImmediate` between slices, each way takes 61 of them. */
const MOST_SLICES = 20;

function burn(): void {
  const endMs = performance.now() + BURN_MS;
  while (performance.now() < endMs);
}

Deno.test("sockets are served between the slices of histories", needs({ permissions: ["net"] }), async () => {
  const turns = new HistoryTurns();
  let slices = 0;
  let isOver = false;
  const history = async () => {
    for (; !isOver; slices++) {
      await turns.slice();
      burn();
    }
  };
  const server = createServer((socket) => void socket.pipe(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address && typeof address === "object");
  const socket = connect({ host: "127.0.0.1", port: address.port });
  await once(socket, "connect");
  const histories = [history(), history()];
  const before = slices;
  socket.write("hello");
  await once(socket, "data");
  const taken = slices - before;
  isOver = true;
  await Promise.all(histories);
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(taken <= MOST_SLICES, `an echo took ${taken} slices`);
});

Deno.test("histories go on in turn", async () => {
  const turns = new HistoryTurns();
  const order: string[] = [];
  const history = async (name: string) => {
    for (let round = 0; round < 3; round++) {
      await turns.slice();
      order.push(name);
    }
  };
  await Promise.all(["a", "b", "c"].map(history));
  assert.equal(order.join(""), "abcabcabc");
});

import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";
import { PeerServer } from "../support/peer_server.ts";

const NET = needs({ permissions: ["net", "sys"] });

/** Runs a test with a peer's server that has three frames. */
function withPeer(test: (peer: PeerServer) => Promise<void>, options?: { isRecording: boolean }): () => Promise<void> {
  return async () => {
    await using peer = new PeerServer(options);
    for (let i = 0; i < 3; i++) peer.say();
    await test(peer);
  };
}

Deno.test(
  "vbg values reads the fields of a peer's server",
  NET,
  withPeer(async ({ url }) => {
    const shown = await runCommand(["values", "-server", url], { isTerminal: true });
    assert.deepEqual([shown.code, shown.err], [0, ""]);
    assert.match(shown.out, /127250 {2}Vessel Heading .*heading 057\.3°M/);
    const { code, out } = await runCommand(["values", "-server", url]);
    const [{ values: [value] }] = JSON.parse(out);
    assert.deepEqual([code, value.decoded], [0, { heading: 1, heading_reference: "magnetic" }]);
  }),
);

Deno.test(
  "vbg top shows a peer's server on all its pages",
  NET,
  withPeer(async (peer) => {
    await using top = new LiveCommand(["top", "-server", peer.url], { isTerminal: true, columns: 120 });
    await eventually("the values", () => top.written.join("").includes("057.3°M"));
    for (const [key, text] of [["2", "Garmin"], ["3", "Vessel Heading"], ["1", "Replication: connected"]] as const) {
      const before = top.written.length;
      top.press(key);
      await eventually(text, () => top.written.slice(before).join("").includes(text));
    }
    top.press("q");
    assert.equal(await top.code, 0);
  }),
);

Deno.test(
  "vbg tail -last begins with what a peer's server has recorded, each frame once",
  NET,
  withPeer(async (peer) => {
    await using tail = new LiveCommand(["tail", "-last", "2", "-server", peer.url]);
    const seqs = () =>
      tail.written.join("").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).seq);
    await eventually("the recorded frames", () => seqs().length === 2);
    peer.say();
    await eventually("the new frame", () => seqs().length === 3);
    assert.deepEqual(seqs(), [2, 3, 4]);
    assert.match(tail.complained.join(""), /^vbg tail: connected to http/);
    assert.equal(tail.complained.length, 1, tail.complained.join("\n"));
  }),
);

Deno.test(
  "where a peer's server records nothing, tail and history say so",
  NET,
  withPeer(async (peer) => {
    await using tail = new LiveCommand(["tail", "-last", "2", "-server", peer.url]);
    await eventually(
      "the note",
      () => tail.complained.includes("vbg tail: the server has no journal: only new frames are shown"),
    );
    const { code, err } = await runCommand(["history", "-server", peer.url]);
    assert.equal(code, 1);
    assert.match(err, /503 journaling is not enabled/);
  }, { isRecording: false }),
);

Deno.test("an empty history of a peer's server, which is null, is an empty list", NET, async () => {
  await using peer = new PeerServer();
  const { code, out, err } = await runCommand(["history", "-server", peer.url]);
  assert.deepEqual([code, out, err], [0, "", ""]);
});

Deno.test(
  "vbg doctor reads a peer's health, with the time of its last frame",
  NET,
  withPeer(async (peer) => {
    const { out } = await runCommand(["doctor", "-json=false", "-server", peer.url]);
    const [, health] = out.split("\n");
    assert.match(health ?? "", /^\[OK\] server's health: ok; 1 devices, newest frame 20/);
  }),
);

Deno.test(
  "a peer's device events are events of devices, and a lost stream goes on",
  NET,
  withPeer(async (peer) => {
    await using watching = new LiveCommand(["devices", "-watch", "-server", peer.url]);
    await eventually("the stream", () => peer.streams === 1 && watching.written.length > 0);
    peer.say();
    const told = () =>
      watching.written.join("").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    await eventually("the change", () => told().some(({ event }) => event === "removed"));
    assert.deepEqual(told().map(({ event, device }) => [event, device.src]), [
      ["present", 7],
      ["updated", 7],
      ["removed", 99],
    ]);
    assert.equal(told()[1].device.name, "0x00a0000000010000");
    assert.equal(told()[1].device.type, undefined);
  }),
);

Deno.test(
  "a session of a peer's server is made again where it cannot be asked how it stands",
  NET,
  withPeer(async (peer) => {
    await using dump = new LiveCommand(["dump", "-buffer-timeout", "90s", "-client-id", "x", "-server", peer.url]);
    const seqs = () =>
      dump.written.join("").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).seq);
    await eventually("the stream", () => peer.streams === 1);
    peer.say();
    await eventually("the frame", () => seqs().length === 1);
    peer.closeStreams();
    await eventually("the second stream", () => peer.streams === 1);
    peer.say();
    await eventually("the second frame", () => seqs().length === 2);
    const puts = peer.bodies.filter(([request]) => request === "PUT /clients/x").map(([, body]) => body);
    assert.deepEqual(puts, [{ buffer_timeout: "PT1M30S", filter: {} }, { buffer_timeout: "PT1M30S", filter: {} }]);
  }),
);

Deno.test(
  "durations go out as ISO 8601, whichever way they were given",
  NET,
  withPeer(async (peer) => {
    const client = connect(peer.url);
    await client.query({ pgn: 127250, timeoutMs: 2000 });
    await client.query({ pgn: 127250, timeoutMs: 90_500 });
    await client.session("x", { bufferTimeout: "1h30m" }).put();
    await client.session("x", { bufferTimeout: "PT5M" }).put();
    assert.deepEqual(peer.bodies.map(([, body]) => body), [
      { pgn: 127250, timeout: "PT2S" },
      { pgn: 127250, timeout: "PT90.5S" },
      { buffer_timeout: "PT5400S" },
      { buffer_timeout: "PT5M" },
    ]);
  }),
);

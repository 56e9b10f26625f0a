import assert from "node:assert/strict";
import type { BoatReplication } from "../../src/client/mod.ts";
import { countOf, rangesOfBoat, segmentsOf } from "../../web/views/hole_line.ts";

const BOAT: BoatReplication = {
  ...{ connected: true, instance_id: "a", live_lag: 0, backfill_remaining_seqs: 0, last_ack: null },
  state: "connected",
  ...{ cloud_durable_seq: null, live_frames_sent: 0, backfill_blocks_sent: 0, backfill_bytes_sent: 0 },
  ...{ reconnects: 0, lag_reconnects: 0 },
  ...{ local_head_seq: 0, cloud_cursor: 0, holes: [], lost: [] },
};

Deno.test("the line of frames has every frame in exactly one piece, in order", () => {
  const ranges = {
    head: 1000,
    holes: [{ start: 300, end: 400 }, { start: 990, end: 1001 }],
    lost: [{ start: 100, end: 101, reason: "retention" }],
  };
  const segments = segmentsOf(ranges);
  assert.deepEqual(segments.map(({ kind, count }) => [kind, count]), [
    ["there", 99],
    ["lost", 1],
    ["there", 199],
    ["hole", 100],
    ["there", 590],
    ["hole", 11],
  ]);
  assert.equal(segments.reduce((sum, { count }) => sum + count, 0), 1000);
  assert.equal(segments[0]?.from, 0);
  assert.ok(Math.abs((segments.at(-1)?.to ?? 0) - 1) < 1e-9);
  for (const [index, { from }] of segments.entries()) if (index > 0) assert.equal(from, segments[index - 1]?.to);
  assert.equal(segments[1]?.text, "frame 100 lost: retention");
});

Deno.test("one missing frame among millions can be seen", () => {
  const [, hole] = segmentsOf({ head: 5_000_000, holes: [{ start: 7, end: 8 }], lost: [] });
  assert.ok(hole && hole.kind === "hole" && hole.to - hole.from > 0.005);
});

Deno.test("without a connection all after the last confirmed frame is missing; with one, it is on its way", () => {
  const status: BoatReplication = {
    ...BOAT,
    local_head_seq: 50,
    cloud_cursor: 20,
    holes: [{ start: 21, end: 31 }],
    lost: [],
    live_lag: 2,
  };
  assert.deepEqual(rangesOfBoat(status).holes, [{ start: 21, end: 31 }]);
  assert.equal(rangesOfBoat(status).onTheWay, 2);
  const away = rangesOfBoat({ ...status, connected: false, holes: [] });
  assert.deepEqual(away.holes, [{ start: 21, end: 51 }]);
  assert.equal(countOf(away.holes), 30);
  assert.deepEqual(segmentsOf({ head: 0, holes: [], lost: [] }), []);
});

import assert from "node:assert/strict";
import { MqttUnconfirmed } from "../../src/integrations/mqtt/unconfirmed.ts";

const send = (unconfirmed: MqttUnconfirmed, ...seqs: number[]) =>
  seqs.forEach((seq) => unconfirmed.sent({ kind: "frame", seq, messages: {} }));

Deno.test("what was sent before a ping is confirmed by its answer, and nothing that came later", () => {
  const unconfirmed = new MqttUnconfirmed();
  send(unconfirmed, 1, 2, 3);
  unconfirmed.ping();
  send(unconfirmed, 4, 6);
  unconfirmed.pong();
  assert.deepEqual(unconfirmed.take().frames, { from_seq: 4, to_seq: 6, count: 2 });
  assert.equal(unconfirmed.take().frames, undefined);
});

Deno.test("without an answer everything that was sent may be lost, notices apart from frames", () => {
  const unconfirmed = new MqttUnconfirmed();
  send(unconfirmed, 1, 2);
  unconfirmed.ping();
  unconfirmed.sent({ kind: "dropped", dropped: { from_seq: 3, to_seq: 5, count: 3 } });
  send(unconfirmed, 6);
  assert.deepEqual(unconfirmed.take(), {
    frames: { from_seq: 1, to_seq: 6, count: 3 },
    notices: { from_seq: 3, to_seq: 5, count: 3 },
  });
});

Deno.test("a ping is wanted when something is not confirmed and no other ping is under way", () => {
  const unconfirmed = new MqttUnconfirmed();
  assert.equal(unconfirmed.wantsPing, false);
  send(unconfirmed, 1);
  assert.equal(unconfirmed.wantsPing, true);
  unconfirmed.ping();
  send(unconfirmed, 2);
  assert.equal(unconfirmed.wantsPing, false);
  unconfirmed.pong();
  assert.equal(unconfirmed.wantsPing, true);
});

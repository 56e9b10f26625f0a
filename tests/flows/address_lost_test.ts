import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";

const NAME = 0xc0328200ffc00001n;
const OWN = 252;
/** Of the queue's pace one fast packet leaves at once, and the others wait. */
const SLOW = { framesPerSecond: 1, burstFrames: 32 };
const WAITING = 3;
const FAST = { pgn: 129029, data: "00".repeat(200) };

Deno.test("what waits when the virtual device loses its address never leaves: the address is another's by then", async () => {
  await using boat = await TestBoat.start({ sendEnabled: true, virtualDevice: { name: NAME }, transmit: SLOW });
  const send = async (body: unknown) => (await boat.post("/send", body)).status;
  await eventually("an address", async () => await send(FAST) === 202);
  const long = { pgn: 130824, data: "00".repeat(1000) };
  assert.equal(await send([...new Array(WAITING).fill(FAST), long]), 202);
  boat.say({ pgn: 60928, src: OWN, prio: 6, data: new Uint8Array(8).with(0, 1) });
  const failed = 'vbg_transmit_failed_total{bus="can0",reason="address"}';
  await eventually("all to be given up", async () => (await boat.metric(failed) ?? 0) >= WAITING + 1);
  const from = (src: number) => boat.heard[0]!.filter((each) => each.src === src).length;
  const before = from(OWN);
  await eventually("a new address", () => from(OWN - 1) > 0);
  await eventually("leave to speak", async () => await send({ pgn: 127250, data: "00" }) === 202);
  assert.equal(from(OWN), before);
});

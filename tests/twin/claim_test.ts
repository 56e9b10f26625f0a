import assert from "node:assert/strict";
import {
  addressOf,
  type Claim,
  CLAIM_QUIET_MS,
  type Claimant,
  type ClaimEvent,
  NEW_CLAIM,
  stepClaim,
} from "../../src/twin/claim.ts";

const NODE: Claimant = { name: 100n, preferredAddress: 20, selfConfigurable: true };

/** Lets events happen one after the other and lists what was announced. */
function play(claimant: Claimant, events: readonly ClaimEvent[]): { claim: Claim; announced: number[] } {
  let claim = NEW_CLAIM;
  const announced: number[] = [];
  for (const event of events) {
    const step = stepClaim(claimant, { claim, event });
    claim = step.claim;
    if (step.announce !== undefined) announced.push(step.announce);
  }
  return { claim, announced };
}

const on = { type: "power-on", nowMs: 0 } as const;
const heard = (address: number, name: bigint, nowMs = 10): ClaimEvent => ({ type: "heard", nowMs, address, name });
const time = (nowMs: number): ClaimEvent => ({ type: "time", nowMs });

Deno.test("claim: the preferred address is held after 250 quiet milliseconds", () => {
  const { claim, announced } = play(NODE, [on, time(CLAIM_QUIET_MS - 1)]);
  assert.deepEqual(announced, [20]);
  assert.deepEqual(claim.state, { type: "claiming", address: 20, untilMs: 250 });
  assert.deepEqual(play(NODE, [on, time(250)]).claim.state, { type: "claimed", address: 20 });
});

Deno.test("claim: the lower NAME claims again and stays", () => {
  for (const when of [[on], [on, time(250)]]) {
    const { claim, announced } = play(NODE, [...when, heard(20, 101n)]);
    assert.deepEqual(announced, [20, 20]);
    assert.equal(addressOf(claim.state), 20);
  }
});

Deno.test("claim: the higher NAME takes the next free address and is quiet again", () => {
  const { claim, announced } = play(NODE, [on, heard(21, 5n), time(250), heard(20, 99n, 400)]);
  assert.deepEqual(announced, [20, 22]);
  assert.deepEqual(claim.state, { type: "claiming", address: 22, untilMs: 650 });
  const late = stepClaim(NODE, { claim, event: time(500) });
  assert.equal(late.claim.state.type, "claiming", "an earlier alarm must not end the new wait");
});

Deno.test("claim: the search for an address goes round", () => {
  const high: Claimant = { name: 9n, preferredAddress: 253, selfConfigurable: true };
  assert.deepEqual(play(high, [on, heard(253, 1n)]).announced, [253, 0]);
});

Deno.test("claim: an address is free again when its holder moves", () => {
  const { announced } = play(NODE, [on, heard(21, 5n), heard(30, 5n), heard(20, 1n)]);
  assert.deepEqual(announced, [20, 21]);
});

Deno.test("claim: cannot-claim goes out from 254 when every address is taken", () => {
  const others = Array.from({ length: 254 }, (_, address) => heard(address, BigInt(1000 + address)))
    .filter((event) => event.type === "heard" && event.address !== 20);
  const { claim, announced } = play(NODE, [on, ...others, heard(20, 20n), { type: "asked" }]);
  assert.deepEqual(announced, [20, 254, 254]);
  assert.deepEqual(claim.state, { type: "without-address" });
});

Deno.test("claim: who may not choose gives up at once", () => {
  const fixed = { ...NODE, selfConfigurable: false };
  assert.deepEqual(play(fixed, [on, heard(20, 1n)]).announced, [20, 254]);
  assert.deepEqual(play(fixed, [on, heard(20, 101n)]).announced, [20, 20]);
});

Deno.test("claim: a node answers who asks, unless it is off", () => {
  assert.deepEqual(play(NODE, [{ type: "asked" }]).announced, []);
  assert.deepEqual(play(NODE, [heard(20, 1n)]).announced, []);
  assert.deepEqual(play(NODE, [on, { type: "asked" }]).announced, [20, 20]);
});

Deno.test("claim: its own NAME is no rival", () => {
  assert.deepEqual(play(NODE, [on, heard(20, NODE.name), heard(25, NODE.name)]).announced, [20]);
});

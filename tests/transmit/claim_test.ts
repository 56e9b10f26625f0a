import assert from "node:assert/strict";
import {
  addressOf,
  type Claim,
  CLAIM_QUIET_MS,
  type Claimant,
  type ClaimEvent,
  NEW_CLAIM,
  stepClaim,
} from "../../src/transmit/virtual_device/claim.ts";

const upwardsFrom = (first: number) => Array.from({ length: 254 }, (_, i) => (first + i) % 254);
const NODE: Claimant = { name: 100n, candidates: upwardsFrom(20) };

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

const listen = { type: "listen" } as const;
const on = { type: "power-on", nowMs: 0 } as const;
const asked = { type: "asked" } as const;
const heard = (address: number, name: bigint, nowMs = 10): ClaimEvent => ({ type: "heard", nowMs, address, name });
const spoke = (address: number): ClaimEvent => ({ type: "spoke", address });
const gone = (address: number, nowMs = 10): ClaimEvent => ({ type: "gone", nowMs, address });
const time = (nowMs: number): ClaimEvent => ({ type: "time", nowMs });
const commanded = (address: number): ClaimEvent => ({ type: "commanded", nowMs: 300, address });
/** Others on all addresses but one, with NAMEs from 1000 on. */
const allBut = (free: number) =>
  upwardsFrom(0).filter((each) => each !== free).map((each) => heard(each, BigInt(1000 + each)));

Deno.test("claim: the first candidate is held after 250 quiet milliseconds", () => {
  const { claim, announced } = play(NODE, [on, time(CLAIM_QUIET_MS - 1)]);
  assert.deepEqual(announced, [20]);
  assert.deepEqual(claim.state, { type: "claiming", address: 20, untilMs: 250 });
  assert.deepEqual(play(NODE, [on, time(250)]).claim.state, { type: "claimed", address: 20 });
});

Deno.test("claim: the quiet time counts from when the claim has left", () => {
  const { claim } = play(NODE, [on, { type: "sent", nowMs: 100 }, time(349)]);
  assert.deepEqual(claim.state, { type: "claiming", address: 20, untilMs: 350 });
});

Deno.test("claim: addresses heard while listening are passed over, whoever speaks from them", () => {
  assert.deepEqual(play(NODE, [listen, heard(20, 1n), spoke(21), heard(22, 900n), on]).announced, [23]);
  assert.deepEqual(play(NODE, [listen, asked, heard(20, 1n)]).announced, [], "listening is silent");
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

Deno.test("claim: the search for an address goes round the candidates in their order", () => {
  assert.deepEqual(play({ name: 9n, candidates: upwardsFrom(253) }, [on, heard(253, 1n)]).announced, [253, 0]);
  const down = { name: 9n, candidates: [2, 1, 0] };
  assert.deepEqual(play(down, [on, heard(2, 1n), heard(1, 2n), heard(0, 3n)]).announced, [2, 1, 0, 254]);
});

Deno.test("claim: an address is free again when its holder moves, or is not heard for long", () => {
  assert.deepEqual(play(NODE, [on, heard(21, 5n), heard(30, 5n), heard(20, 1n)]).announced, [20, 21]);
  assert.deepEqual(play(NODE, [on, heard(21, 5n), gone(21), heard(20, 1n)]).announced, [20, 21]);
});

Deno.test("claim: cannot-claim goes out from 254 when every address is taken", () => {
  const { claim, announced } = play(NODE, [on, ...allBut(20), heard(20, 20n), asked]);
  assert.deepEqual(announced, [20, 254, 254]);
  assert.deepEqual(claim.state, { type: "without-address" });
});

Deno.test("claim: who has no address takes the first that becomes free, and says nothing until then", () => {
  const full = [on, ...allBut(20), heard(20, 20n)];
  assert.deepEqual(play(NODE, [...full, heard(77, 5000n), spoke(4), time(9e9)]).announced, [20, 254]);
  assert.deepEqual(play(NODE, [...full, heard(254, 1099n)]).announced, [20, 254, 99], "its holder cannot claim");
  assert.deepEqual(play(NODE, [...full, heard(98, 1099n)]).announced, [20, 254, 99], "its holder moves");
  assert.deepEqual(play(NODE, [...full, gone(33)]).announced, [20, 254, 33], "its holder is gone");
});

Deno.test("claim: who may not choose gives up at once", () => {
  const fixed = { ...NODE, candidates: [20] };
  assert.deepEqual(play(fixed, [on, heard(20, 1n)]).announced, [20, 254]);
  assert.deepEqual(play(fixed, [on, heard(20, 101n)]).announced, [20, 20]);
});

Deno.test("claim: a node answers who asks, unless it is off", () => {
  assert.deepEqual(play(NODE, [asked]).announced, []);
  assert.deepEqual(play(NODE, [heard(20, 1n)]).announced, []);
  assert.deepEqual(play(NODE, [on, asked]).announced, [20, 20]);
});

Deno.test("claim: its own NAME is no rival", () => {
  assert.deepEqual(play(NODE, [on, heard(20, NODE.name), heard(25, NODE.name)]).announced, [20]);
});

Deno.test("claim: a bus that was down hears the claim again, and the address is quiet again", () => {
  const { claim, announced } = play(NODE, [on, time(250), { type: "again", nowMs: 900 }]);
  assert.deepEqual(announced, [20, 20]);
  assert.deepEqual(claim.state, { type: "claiming", address: 20, untilMs: 1150 });
});

Deno.test("claim: a commanded address is claimed, unless it would be lost at once", () => {
  const ready = [on, time(250)];
  const { claim, announced } = play(NODE, [...ready, commanded(253)]);
  assert.deepEqual(announced, [20, 253]);
  assert.deepEqual(claim.state, { type: "claiming", address: 253, untilMs: 550 });
  assert.deepEqual(play(NODE, [...ready, heard(40, 101n), commanded(40)]).announced, [20, 40]);
  assert.deepEqual(play(NODE, [...ready, heard(40, 99n), commanded(40)]).announced, [20]);
  assert.deepEqual(play(NODE, [...ready, commanded(254)]).announced, [20]);
  assert.deepEqual(play(NODE, [...ready, commanded(20)]).announced, [20, 20]);
  assert.deepEqual(play(NODE, [listen, commanded(40)]).announced, []);
});

Deno.test("claim: who loses a commanded address outside its candidates begins with the first again", () => {
  const down = { name: 100n, candidates: [2, 1, 0] };
  assert.deepEqual(play(down, [on, commanded(9), heard(9, 1n)]).announced, [2, 9, 2]);
});

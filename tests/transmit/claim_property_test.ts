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
import { Random } from "../support/random.ts";

/** A claimant with what it still has to send. */
interface Node {
  readonly claimant: Claimant;
  claim: Claim;
  /** Addresses of claims that wait for the bus. */
  queue: number[];
  /** Its bus is down: it hears nothing, and nobody hears it. */
  deaf: boolean;
}

/** Claimants on one bus, where each frame is heard by all others at once, but leaves when the bus has time for it. */
class Crowd {
  readonly nodes: readonly Node[];
  readonly #random: Random;
  nowMs = 0;
  /** When nothing waited for the bus. */
  #emptyMs = 0;

  constructor(random: Random, { nodes, addresses }: { nodes: number; addresses: number }) {
    this.#random = random;
    const candidates = Array.from({ length: addresses }, (_, i) => addresses - 1 - i);
    const names = random.shuffle(Array.from({ length: nodes }, (_, i) => BigInt(1000 + i)));
    this.nodes = names.map((name) => ({ claimant: { name, candidates }, claim: NEW_CLAIM, queue: [], deaf: false }));
  }

  happen(node: Node, event: ClaimEvent): void {
    const step = stepClaim(node.claimant, { claim: node.claim, event });
    node.claim = step.claim;
    if (step.announce !== undefined && !node.deaf) node.queue.push(step.announce);
    this.#check();
  }

  /** One frame goes out. False when nobody has any. */
  sendOne(): boolean {
    const waiting = this.nodes.filter(({ queue }) => queue.length > 0);
    if (waiting.length === 0) return false;
    const sender = this.#random.pick(waiting);
    const address = sender.queue.shift()!;
    for (const node of this.#random.shuffle(this.nodes)) {
      if (node === sender || node.deaf) continue;
      this.happen(node, { type: "heard", nowMs: this.nowMs, address, name: sender.claimant.name });
    }
    if (sender.queue.length === 0) this.happen(sender, { type: "sent", nowMs: this.nowMs });
    return true;
  }

  /** Time passes, but no frame waits so long that a defence would come after the quiet time. */
  pass(ms: number): void {
    if (this.nowMs + ms - this.#emptyMs >= CLAIM_QUIET_MS) this.drain();
    this.nowMs += ms;
    for (const node of this.nodes) {
      if (node.queue.length === 0 && !node.deaf) this.happen(node, { type: "time", nowMs: this.nowMs });
    }
  }

  drain(): void {
    for (let sent = 0; this.sendOne(); sent++) assert.ok(sent < 5000, "the fight ends");
    this.#emptyMs = this.nowMs;
  }

  /** All frames leave, all waits end. */
  settle(): void {
    for (let round = 0; round < 3; round++) this.pass(300);
  }

  /** What whoever holds an address says by itself in the end, and what was silent until then is free. */
  catchUp(): void {
    for (const node of this.nodes) this.happen(node, { type: "asked" });
    this.settle();
    const used = new Set(this.nodes.map(({ claim }) => addressOf(claim.state)));
    for (const node of this.nodes) {
      for (const address of [...node.claim.holders.keys()]) {
        if (!used.has(address)) this.happen(node, { type: "gone", nowMs: this.nowMs, address });
      }
    }
    this.settle();
  }

  /** Nobody ever uses an address that another on the same bus uses. */
  #check(): void {
    const used = new Set<number>();
    for (const { claim: { state }, deaf } of this.nodes) {
      if (deaf || state.type !== "claimed") continue;
      assert.ok(!used.has(state.address), `two hold ${state.address} at ${this.nowMs} ms`);
      used.add(state.address);
    }
  }
}

function checkEnd({ nodes }: Crowd, addresses: number): void {
  const held = nodes.map(({ claim }) => claim.state).filter(({ type }) => type === "claimed").map(addressOf);
  assert.equal(new Set(held).size, held.length);
  assert.equal(held.length, Math.min(nodes.length, addresses));
  for (const { claim } of nodes) assert.ok(claim.state.type === "claimed" || claim.state.type === "without-address");
}

Deno.test("claim: of many that begin at any time, each gets one address, or none when all are taken", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed);
    const size = { nodes: random.between(2, 16), addresses: random.between(4, 12) };
    const crowd = new Crowd(random, size);
    const off = random.shuffle(crowd.nodes);
    while (off.length > 0) {
      if (random.chance(0.3)) crowd.happen(off.pop()!, { type: "power-on", nowMs: crowd.nowMs });
      else if (random.chance(0.7)) crowd.sendOne();
      else crowd.pass(random.between(1, 240));
    }
    crowd.settle();
    crowd.catchUp();
    checkEnd(crowd, size.addresses);
  }
});

Deno.test("claim: nodes whose bus goes down and comes back never share an address with another that hears them", () => {
  for (let seed = 100; seed <= 160; seed++) {
    const random = new Random(seed);
    const size = { nodes: random.between(2, 12), addresses: random.between(3, 10) };
    const crowd = new Crowd(random, size);
    for (const node of crowd.nodes) crowd.happen(node, { type: "power-on", nowMs: 0 });
    for (let i = 0; i < 400; i++) {
      const node = random.pick(crowd.nodes);
      if (random.chance(0.6)) crowd.sendOne();
      else if (random.chance(0.5)) crowd.pass(random.between(1, 200));
      else if (!node.deaf) Object.assign(node, { deaf: true, queue: [] });
      else comeBack(crowd, node);
    }
    for (const node of crowd.nodes) if (node.deaf) comeBack(crowd, node);
    crowd.settle();
    crowd.catchUp();
    checkEnd(crowd, size.addresses);
  }
});

function comeBack(crowd: Crowd, node: Node): void {
  // It claims anew before anybody could hear it as a holder.
  crowd.happen(node, { type: "again", nowMs: crowd.nowMs });
  node.deaf = false;
  crowd.happen(node, { type: "again", nowMs: crowd.nowMs });
}

Deno.test("claim: 260 on one bus fill all of 252 downwards, and the rest say that they cannot claim", () => {
  const random = new Random(7);
  const crowd = new Crowd(random, { nodes: 260, addresses: 253 });
  for (const node of crowd.nodes) {
    crowd.happen(node, { type: "listen" });
    for (const { claim } of crowd.nodes) {
      const address = addressOf(claim.state);
      if (address !== undefined) crowd.happen(node, { type: "spoke", address });
    }
    crowd.happen(node, { type: "power-on", nowMs: crowd.nowMs });
    crowd.sendOne();
  }
  crowd.settle();
  checkEnd(crowd, 253);
});

import type { Check, Context, Sender } from "../model.ts";
import type { RequestCheck } from "./requests.ts";

/** A device that never claims has sent at least so many messages, over so long a time, milliseconds. */
const MIN_MESSAGES = 20;
const MIN_TIME_MS = 10_000;
/** Time for a claim after a request, milliseconds. */
const CLAIM_MS = 5000;
/** It must have sent within this time, milliseconds. */
const ACTIVE_MS = 5000;

/** Devices that send without an address claim, though they were asked for one. */
export class ClaimCheck implements Check {
  readonly #context: Context;
  readonly #requests: RequestCheck;
  /** When a sender was first asked. */
  readonly #requested = new WeakMap<Sender, number>();

  constructor(context: Context, requests: RequestCheck) {
    this.#context = context;
    this.#requests = requests;
  }

  round(): void {
    const { nowMs, buses } = this.#context;
    for (const bus of buses) {
      if (!bus.isSettled(nowMs, CLAIM_MS)) continue;
      const senders = [...bus.all()];
      // Where nobody claims, the gateway does not forward claims.
      if (!senders.some(({ hasClaimed }) => hasClaimed)) continue;
      for (const sender of senders) if (this.#isGuilty(sender)) this.#report(sender);
    }
  }

  #isGuilty(sender: Sender): boolean {
    const { hasClaimed, firstMs, lastMs, messages, hasAddress, bus, src } = sender;
    const { nowMs } = this.#context;
    if (hasClaimed || !hasAddress || messages < MIN_MESSAGES || lastMs - firstMs < MIN_TIME_MS) return false;
    const requestedMs = this.#requested.get(sender) ?? this.#requests.claimRequestedMs(bus, src);
    if (requestedMs < firstMs) return false;
    this.#requested.set(sender, requestedMs);
    return nowMs - requestedMs > CLAIM_MS && sender.isActive(nowMs, ACTIVE_MS);
  }

  #report(sender: Sender): void {
    const { bus, src, messages, lastSeq } = sender;
    this.#context.report({
      kind: "never_claims",
      bus,
      sender,
      text:
        `The device at address ${src} has sent ${messages} messages and no address claim, though it was asked for one`,
      seqs: [lastSeq],
    });
  }
}

import { BROADCAST_ADDRESS, destinationOfId } from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import { MINUTE_MS } from "../kinds.ts";
import type { BusModel, Check, Context, Received, Sender } from "../model.ts";

/** Time for an answer, milliseconds; ISO 11783-3 has 1250. */
const ANSWER_MS = 2500;
/** Unanswered requests within ten minutes from which a device is at fault. */
const MIN_UNANSWERED = 3;
const UNANSWERED_WINDOW_MS = 10 * MINUTE_MS;
/** Refusals within a minute from which a request is hopeless. */
const MIN_REFUSED = 6;
/** The device must have sent something else within this time, milliseconds. */
const ALIVE_MS = 5000;
/** Control byte of PGN 59392: negative acknowledgement. */
const NAK = 1;
/** PGN lists, which every device has. */
const PGN_LISTS = 126464;
const MANDATORY: ReadonlySet<number> = new Set([PGN.addressClaim, PGN.productInformation, PGN_LISTS]);
/** Most requests and refusals that are followed. */
const MAX_PENDING = 256;

interface Request {
  readonly bus: BusModel;
  readonly dst: number;
  readonly pgn: number;
  readonly seq: number;
  readonly atMs: number;
  /** Messages of the PGN that the device had sent before. */
  readonly sentBefore: number;
}

/** ISO requests (PGN 59904) that are not answered, or refused again and again (PGN 59392). */
export class RequestCheck implements Check {
  readonly pgns = [PGN.isoRequest, PGN.isoAcknowledgement];
  readonly #context: Context;
  #pending: Request[] = [];
  readonly #unanswered = new Map<Sender, Request[]>();
  readonly #refused = new Map<string, { atMs: number[]; sender: Sender; asker: Sender | undefined; pgn: number }>();
  /** Who asked an address last. */
  readonly #askers = new WeakMap<Sender, Sender>();
  readonly #claimRequests = new Map<BusModel, Map<number, number>>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** When an address was last asked for its claim, alone or with all; -Infinity: never. */
  claimRequestedMs(bus: BusModel, src: number): number {
    const asked = this.#claimRequests.get(bus);
    return Math.max(asked?.get(src) ?? -Infinity, asked?.get(BROADCAST_ADDRESS) ?? -Infinity);
  }

  message({ message, sender, seq }: Received): void {
    const { id, pgn, data, offset, length } = message;
    const byte = (at: number) => at < length ? data[offset + at] ?? 0xff : 0xff;
    const dst = destinationOfId(id);
    if (pgn === PGN.isoRequest) {
      if (length >= 3) this.#request({ sender, dst, pgn: byte(0) | (byte(1) << 8) | (byte(2) << 16), seq });
    } else if (byte(0) === NAK && length >= 8) {
      this.#refuse({ sender, dst, pgn: byte(5) | (byte(6) << 8) | (byte(7) << 16), seq });
    }
  }

  round(): void {
    const { nowMs } = this.#context;
    const due = this.#pending.filter(({ atMs }) => nowMs - atMs > ANSWER_MS);
    this.#pending = this.#pending.filter(({ atMs }) => nowMs - atMs <= ANSWER_MS);
    for (const request of due) this.#settle(request);
    for (const [sender, requests] of this.#unanswered) this.#reportUnanswered(sender, requests);
    for (const [key, { atMs }] of this.#refused) {
      while ((atMs[0] ?? nowMs) < nowMs - MINUTE_MS) atMs.shift();
      if (atMs.length === 0) this.#refused.delete(key);
    }
  }

  #request({ sender, dst, pgn, seq }: { sender: Sender; dst: number; pgn: number; seq: number }): void {
    const { bus } = sender;
    const { nowMs } = this.#context;
    if (pgn === PGN.addressClaim) {
      const asked = this.#claimRequests.get(bus) ?? new Map<number, number>();
      this.#claimRequests.set(bus, asked.set(dst, nowMs));
    }
    const asked = bus.senders[dst];
    if (dst === BROADCAST_ADDRESS || !asked || asked === sender) return;
    this.#askers.set(asked, sender);
    const stream = asked.streams.get(pgn);
    if (!MANDATORY.has(pgn) && !stream) return;
    if (this.#pending.length >= MAX_PENDING) return;
    this.#pending.push({ bus, dst, pgn, seq, atMs: nowMs, sentBefore: stream?.count ?? 0 });
  }

  #refuse({ sender, dst, pgn, seq }: { sender: Sender; dst: number; pgn: number; seq: number }): void {
    const { nowMs } = this.#context;
    // A refusal is an answer, but every device must have the mandatory PGNs.
    if (!MANDATORY.has(pgn)) {
      this.#pending = this.#pending.filter((each) =>
        !(each.bus === sender.bus && each.dst === sender.src && each.pgn === pgn)
      );
    }
    const asker = dst === BROADCAST_ADDRESS ? this.#askers.get(sender) : sender.bus.senders[dst];
    const key = `${sender.bus.index}/${sender.src}/${asker?.src ?? ""}/${pgn}`;
    const known = this.#refused.get(key) ?? { atMs: [], sender, asker, pgn };
    if (this.#refused.size >= MAX_PENDING && known.atMs.length === 0) return;
    this.#refused.set(key, known);
    known.atMs.push(nowMs);
    while ((known.atMs[0] ?? nowMs) < nowMs - MINUTE_MS) known.atMs.shift();
    if (known.atMs.length < MIN_REFUSED) return;
    this.#context.report({
      kind: "request_refused",
      bus: sender.bus,
      sender: asker ?? sender,
      pgn,
      detail: String(sender.src),
      text:
        `${
          asker?.label ?? "Somebody"
        } has requested PGN ${pgn} of ${sender.label} ${known.atMs.length} times within a ` +
        "minute, and was refused each time",
      seqs: [seq],
    });
  }

  #settle(request: Request): void {
    const { bus, dst, pgn, atMs, sentBefore } = request;
    const { nowMs } = this.#context;
    const sender = bus.senders[dst];
    if (!sender || !bus.isSettled(nowMs, ANSWER_MS) || sender.lastMs < atMs - ALIVE_MS) return;
    const requests = this.#unanswered.get(sender) ?? [];
    if ((sender.streams.get(pgn)?.count ?? 0) > sentBefore) {
      this.#unanswered.set(sender, requests.filter((each) => each.pgn !== pgn));
      return;
    }
    // A device that has fallen silent is missing, which is another finding.
    if (sender.lastMs < atMs) return;
    this.#unanswered.set(sender, [...requests.slice(-MIN_UNANSWERED * 4), request]);
  }

  #reportUnanswered(sender: Sender, requests: readonly Request[]): void {
    const { nowMs } = this.#context;
    const recent = requests.filter(({ atMs }) => nowMs - atMs < UNANSWERED_WINDOW_MS);
    if (recent.length === 0) this.#unanswered.delete(sender);
    const latest = recent.at(-1);
    if (!latest || sender.bus.senders[sender.src] !== sender) return;
    const same = recent.filter(({ pgn }) => pgn === latest.pgn);
    // That it never claims is another finding.
    if (latest.pgn === PGN.addressClaim && !sender.hasClaimed) return;
    if (same.length < MIN_UNANSWERED || nowMs - latest.atMs > MINUTE_MS) return;
    this.#context.report({
      kind: "request_unanswered",
      bus: sender.bus,
      sender,
      pgn: latest.pgn,
      text:
        `${sender.label} has not answered ${same.length} requests for PGN ${latest.pgn}, though it sends other messages`,
      seqs: same.slice(-3).map(({ seq }) => seq),
    });
  }
}

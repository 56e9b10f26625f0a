import { isAddressed, MAX_DEVICE_ADDRESS } from "../../frame/mod.ts";
import { MINUTE_MS } from "../kinds.ts";
import { type BusModel, type Check, type ClaimEvent, type Context, nameText, type Sender } from "../model.ts";

/** A conflict is usual at power-on and over within this time, milliseconds. */
const RESOLVE_MS = 2500;
/** Claims of both for one address within a minute from which neither gives in. */
const MIN_CLAIMS = 4;
/** Messages after a lost conflict that show that the loser keeps sending. */
const MIN_MESSAGES = 5;
/** A conflict is followed for this time, milliseconds. */
const FOLLOW_MS = 60_000;
/** Changes of address within ten minutes from which a device is restless. */
const MIN_MOVES = 3;
const MOVES_WINDOW_MS = 10 * MINUTE_MS;
/** Most conflicts and NAMEs that are followed. */
const MAX_FOLLOWED = 256;

/** Two NAMEs that want one address. */
interface Conflict {
  readonly bus: BusModel;
  readonly src: number;
  readonly winner: bigint;
  readonly loser: bigint;
  readonly loserLabel: string;
  /** Times of claims by either. */
  claimsMs: number[];
  seqs: number[];
  readonly sinceMs: number;
  /** PGNs that only the loser sent; empty if it is new here. */
  readonly loserPgns: readonly number[];
  /** PGNs that the winner sent, if it was here first. */
  readonly winnerPgns: readonly number[];
}

/** A NAME that was at one address and then claimed another. */
interface Move {
  readonly bus: BusModel;
  readonly name: bigint;
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
  readonly seq: number;
}

/** Conflicts about addresses and NAMEs: two devices at one address, losers that keep sending, two devices with one NAME. */
export class AddressCheck implements Check {
  readonly #context: Context;
  readonly #conflicts = new Map<string, Conflict>();
  /** Newest moves of each NAME. */
  readonly #moves = new Map<string, Move[]>();

  constructor(context: Context) {
    this.#context = context;
  }

  claim({ bus, src, name, seq, holder, former }: ClaimEvent): void {
    const { nowMs } = this.#context;
    // A loser that claims another address, or says that it has none, has given in.
    for (const [key, conflict] of this.#conflicts) {
      if (conflict.bus === bus && conflict.loser === name && conflict.src !== src) this.#conflicts.delete(key);
    }
    if (former && former.src !== src && src <= MAX_DEVICE_ADDRESS) {
      const moves = this.#moves.get(`${bus.index}/${name}`) ?? [];
      if (this.#moves.size < MAX_FOLLOWED) this.#moves.set(`${bus.index}/${name}`, moves);
      // Several addresses in a row that turn out to be taken are one move.
      const last = moves.at(-1);
      const isOne = last !== undefined && nowMs - last.atMs < RESOLVE_MS;
      if (isOne) moves.pop();
      moves.push({ bus, name, from: isOne ? last.from : former.src, to: src, atMs: nowMs, seq });
      if (moves.length > 16) moves.shift();
    }
    const known = this.#conflicts.get(`${bus.index}/${src}`);
    if (known && (known.winner === name || known.loser === name)) {
      known.claimsMs.push(nowMs);
      known.seqs = [...known.seqs, seq].slice(-3);
    } else if (holder?.name !== undefined && holder.name !== name && src <= MAX_DEVICE_ADDRESS) {
      this.#begin({ bus, src, name, seq, holder, former });
    }
  }

  round(): void {
    for (const [key, conflict] of this.#conflicts) {
      if (this.#context.nowMs - (conflict.claimsMs.at(-1) ?? 0) > FOLLOW_MS && !this.#keepsSending(conflict)) {
        this.#conflicts.delete(key);
        continue;
      }
      this.#reportConflict(conflict);
    }
    for (const [key, moves] of this.#moves) {
      while ((moves[0]?.atMs ?? Infinity) < this.#context.nowMs - MOVES_WINDOW_MS) moves.shift();
      if (moves.length === 0) this.#moves.delete(key);
      else this.#reportMoves(moves);
    }
  }

  #begin({ bus, src, name, seq, holder }: ClaimEvent): void {
    if (!holder || holder.name === undefined || this.#conflicts.size >= MAX_FOLLOWED) return;
    const { nowMs } = this.#context;
    // A device that has been silent was switched off: its address is free.
    if (!holder.isActive(nowMs, RESOLVE_MS * 4)) return;
    const holderWins = holder.name < name;
    const pgns = [...holder.streams.values()].filter(({ pgn, count }) => !isAddressed(pgn) && count > 2)
      .map(({ pgn }) => pgn);
    this.#conflicts.set(`${bus.index}/${src}`, {
      bus,
      src,
      winner: holderWins ? holder.name : name,
      loser: holderWins ? name : holder.name,
      loserLabel: holderWins ? `the device with the NAME ${nameText(name)}` : holder.label,
      claimsMs: [nowMs],
      seqs: [seq],
      sinceMs: nowMs,
      loserPgns: holderWins ? [] : pgns,
      winnerPgns: holderWins ? pgns : [],
    });
  }

  /** Messages at the address that only the loser can have sent since the conflict. */
  #loserMessages({ bus, src, loserPgns, winnerPgns, sinceMs }: Conflict): number {
    const sender = bus.senders[src];
    if (!sender) return 0;
    const own = [...sender.streams.values()].filter(({ pgn, lastMs }) => {
      if (isAddressed(pgn) || lastMs < sinceMs + RESOLVE_MS) return false;
      return loserPgns.length > 0 ? loserPgns.includes(pgn) : winnerPgns.length > 0 && !winnerPgns.includes(pgn);
    });
    return own.reduce((sum, { count }) => sum + count, 0);
  }

  #keepsSending(conflict: Conflict): boolean {
    const { bus, src, sinceMs } = conflict;
    const { nowMs } = this.#context;
    return nowMs - sinceMs > RESOLVE_MS * 2 && this.#loserMessages(conflict) >= MIN_MESSAGES &&
      bus.senders[src]?.isActive(nowMs, RESOLVE_MS) === true;
  }

  #reportConflict(conflict: Conflict): void {
    const { bus, src, winner, loser, loserLabel, claimsMs, seqs, sinceMs } = conflict;
    const { nowMs } = this.#context;
    const absent = { name: loser, src };
    const recent = claimsMs.filter((atMs) => nowMs - atMs < MINUTE_MS);
    conflict.claimsMs = recent.length > 0 ? recent : claimsMs.slice(-1);
    if (recent.length >= MIN_CLAIMS && nowMs - sinceMs > RESOLVE_MS) {
      const text = `Two devices claim address ${src} of ${bus.name} again and again: ${nameText(winner)}, which has ` +
        `priority, and ${loserLabel}, which has to choose another`;
      this.#context.report({ kind: "address_conflict", bus, absent, text, seqs });
    } else if (this.#keepsSending(conflict)) {
      const text = `${loserLabel} has lost address ${src} of ${bus.name} to ${nameText(winner)} and keeps ` +
        "sending with it";
      const last = bus.senders[src]?.lastSeq ?? 0;
      this.#context.report({ kind: "loser_keeps_sending", bus, absent, text, confidence: 0.8, seqs: [...seqs, last] });
    }
  }

  #reportMoves(moves: readonly Move[]): void {
    const last = moves.at(-1);
    if (!last) return;
    const { bus, name, from, to, atMs, seq } = last;
    const { nowMs } = this.#context;
    const old = bus.senders[from];
    const now = bus.senders[to];
    const isBack = moves.slice(0, -1).some((move) => move.from === to);
    // Both addresses send long after the claim, and nobody else has taken the old one: two devices have this NAME.
    if (old && old.name === undefined && now && this.#sendsAfter(old, atMs) && this.#sendsAfter(now, atMs)) {
      const sender = now.name === name ? now : old;
      const text = `Two devices use the NAME ${nameText(name)}: addresses ${from} and ${to} of ${bus.name} both send`;
      this.#context.report({ kind: "duplicate_name", bus, sender, text, seqs: [seq, old.lastSeq, now.lastSeq] });
    } else if (
      moves.length >= MIN_MOVES && now?.name === name && nowMs - atMs < MINUTE_MS && !(isBack && moves.length < 4)
    ) {
      const text = `${now.label} has changed its address ${moves.length} times within ten minutes`;
      this.#context.report({
        kind: "address_unstable",
        bus,
        sender: now,
        text,
        seqs: moves.slice(-3).map((move) => move.seq),
      });
    }
  }

  /** Whether a sender goes on with its own messages after the NAME has claimed elsewhere. */
  #sendsAfter(sender: Sender, claimMs: number): boolean {
    const { nowMs } = this.#context;
    if (nowMs - claimMs < RESOLVE_MS * 2 || !sender.isActive(nowMs, RESOLVE_MS)) return false;
    return [...sender.streams.values()].some(({ lastMs, pgn }) => !isAddressed(pgn) && lastMs > claimMs + RESOLVE_MS);
  }
}

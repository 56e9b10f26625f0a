import { type Clock, errorText, type Logger, TokenBucket } from "../base/mod.ts";
import { BROADCAST_ADDRESS, formatHex, NULL_ADDRESS } from "../frame/mod.ts";
import { PGN } from "../pgn/mod.ts";
import { decide, type DenyCause, formatSendRule, type NameOf, type SendRule } from "./send_policy.ts";
import { type OutgoingMessage, type OwnAddress, type Transmit, TransmitError } from "./transmit.ts";

/** What may be sent; read whenever it matters. */
export interface SendSettings {
  /** Nothing is sent for clients unless this is true. */
  enabled: boolean;
  /** Nothing is sent for clients, whatever `enabled` says. */
  readOnly: boolean;
  /** In order; see {@linkcode decide}. */
  rules: readonly SendRule[];
  /** Messages a second on average, all clients together; 0: no limit. */
  rateLimit: number;
  /** Messages at once. */
  rateBurst: number;
}

/** A message that a client wants sent. */
export interface WantedMessage extends Omit<OutgoingMessage, "src"> {
  /** Used where we have no address of our own; undefined: 254. */
  src: number | undefined;
  /** What the rules are asked about when it is not the message's own PGN: a request is judged by what it asks for. */
  judgedPgn?: number;
}

/** Who wants it, for the audit log. */
export interface Sender {
  /** Address of the client. */
  address: string;
  /** Name of its token. */
  name?: string | undefined;
  /** Where it asked: `/send`, `/query`, `/ws`. */
  via: string;
}

/**
 * Why nothing was sent.
 *
 * - `disabled`, `read-only`: nobody may send
 * - `rate`: too many; `retryAfterMs` says when there is room
 * - `policy`: the rules do not allow it
 * - `address`: we have no address on the bus yet
 * - `bus`: the bus carries nothing now, or the server stops
 * - `full`: too many messages wait for the bus
 * - `too-long`: no transport carries so many bytes
 */
export type SendRefusal = "disabled" | "read-only" | "rate" | "policy" | "address" | "bus" | "full" | "too-long";

/** A client's message is not sent. */
export class SendError extends Error {
  override readonly name = "SendError";
  readonly reason: SendRefusal;
  /** With `rate`: when there is room again; Infinity: there will never be for so many at once. */
  readonly retryAfterMs: number;

  constructor(reason: SendRefusal, message: string, { retryAfterMs = 0 }: { retryAfterMs?: number } = {}) {
    super(message);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Totals of what clients wanted sent. */
export interface SendCounters {
  /** Messages queued. */
  accepted: number;
  /** Messages that were queued, and then could not be sent. */
  failed: number;
  /** Messages refused, by reason. */
  refused: Record<SendRefusal, number>;
}

/** What the gate stands between. */
export interface SendGateOptions {
  transmit: Transmit;
  /** Our own address on a bus. */
  address: (bus: number) => OwnAddress;
  /** NAME of who holds an address. */
  nameOf: NameOf;
  /** Names of the buses by index. */
  buses: readonly string[];
  /** Why a bus carries nothing now, in words; undefined while it does. */
  faultOf: (bus: number) => string | undefined;
  settings: () => SendSettings;
  clock: Clock;
  log: Logger;
}

/** The one way from clients to the buses. Whatever is asked, and what became of it, is a line of the audit log. */
export class SendGate {
  readonly counters: SendCounters = {
    accepted: 0,
    failed: 0,
    refused: { disabled: 0, "read-only": 0, rate: 0, policy: 0, address: 0, bus: 0, full: 0, "too-long": 0 },
  };
  readonly #options: SendGateOptions;
  #bucket: { key: string; tokens: TokenBucket } | undefined;

  constructor(options: SendGateOptions) {
    this.#options = options;
  }

  /**
   * Lets somebody in, whatever the message; who is not has a line in the audit log.
   *
   * @throws {SendError} `disabled`, `read-only`
   */
  admit(sender: Sender): void {
    const closed = this.#closed();
    if (!closed) return;
    this.counters.refused[closed.reason]++;
    this.turnAway(sender, { outcome: closed.reason, why: closed.message });
    throw closed;
  }

  /** Writes down that somebody is refused before a message is looked at. */
  turnAway({ via, address, name }: Sender, { outcome, why }: { outcome: string; why: string }): void {
    const token = name !== undefined && { token: name };
    this.#options.log.info("audit", { component: "audit", outcome, via, client: address, ...token, why });
  }

  /**
   * Checks messages and queues them: all or none.
   *
   * @param options.isWanted asked again when their turn comes; default they are
   * @throws {SendError} none is sent
   * @returns resolves when they are out, rejects with a {@linkcode TransmitError} when that failed
   */
  send(
    wanted: readonly WantedMessage[],
    sender: Sender,
    { isWanted = () => true }: { isWanted?: () => boolean } = {},
  ): Promise<void> {
    try {
      const messages = this.#pass(wanted);
      const mayLeave = (index: number) => isWanted() && this.#maySend(wanted[index]);
      const done = this.#options.transmit.send(messages, { mayLeave });
      this.counters.accepted += messages.length;
      const sent = wanted.map((message, i) => ({ ...message, src: messages[i]?.src }));
      for (const message of sent) this.#audit(message, { sender, outcome: "accepted" });
      done.catch((error: unknown) => this.#failed(sent, { sender, error }));
      return done;
    } catch (error) {
      const refusal = asRefusal(error);
      if (refusal === undefined) throw error;
      this.counters.refused[refusal.reason] += wanted.length;
      for (const message of wanted) this.#audit(message, { sender, outcome: refusal.reason, why: refusal.message });
      throw refusal;
    }
  }

  #closed(): SendError | undefined {
    const { enabled, readOnly } = this.#options.settings();
    if (!enabled) return new SendError("disabled", "send is disabled");
    return readOnly ? new SendError("read-only", "the server is in read-only mode") : undefined;
  }

  #pass(wanted: readonly WantedMessage[]): OutgoingMessage[] {
    const closed = this.#closed();
    if (closed) throw closed;
    this.#takeTokens(wanted.length);
    for (const message of wanted) {
      const why = this.#refusalOf(message);
      if (why !== undefined) throw new SendError("policy", why);
    }
    for (const { bus } of wanted) this.#checkBus(bus);
    return wanted.map(({ judgedPgn: _, ...message }) => ({ ...message, src: this.#source(message) }));
  }

  /** Whether a message that waits may still be sent: settings change, and addresses change hands. */
  #maySend(message: WantedMessage | undefined): boolean {
    return message !== undefined && !this.#closed() && this.#refusalOf(message) === undefined;
  }

  #takeTokens(count: number): void {
    const { clock, settings } = this.#options;
    const { rateLimit, rateBurst } = settings();
    const key = `${rateLimit} ${rateBurst}`;
    if (this.#bucket?.key !== key) {
      this.#bucket = { key, tokens: new TokenBucket({ perSecond: rateLimit, burst: rateBurst }) };
    }
    const { tokens } = this.#bucket;
    if (tokens.take(clock.monoMs(), count)) return;
    const retryAfterMs = tokens.waitMs(count);
    const why = Number.isFinite(retryAfterMs)
      ? `more than ${rateLimit} messages a second: see -send-rate-limit`
      : `${count} messages at once are more than ${rateBurst}: see -send-rate-burst`;
    throw new SendError("rate", why, { retryAfterMs });
  }

  /** What the rules have against a message. */
  #refusalOf(message: WantedMessage): string | undefined {
    const { settings, nameOf, address } = this.#options;
    const { bus, judgedPgn: pgn = message.pgn } = message;
    const isClaim = message.pgn === PGN.addressClaim;
    if (isClaim && address(bus).kind !== "none") return "the virtual device claims its address by itself";
    // Whoever a claim is for, all go by it, and so do our rules: it says whose the addresses are.
    const subject = { bus, pgn, dst: isClaim ? BROADCAST_ADDRESS : message.dst, messagePgn: message.pgn };
    const { rules } = settings();
    const verdict = decide(rules, { subject, nameOf });
    if (verdict.kind === "allowed") return undefined;
    const what = `(pgn=${subject.pgn}, dst=${subject.dst})`;
    if (verdict.kind === "unmatched") return `no send rule matched ${what}`;
    const rule = rules[verdict.rule - 1];
    const text = rule ? ` "${formatSendRule(rule)}"` : "";
    return `send denied by rule ${verdict.rule}${text} ${what}${causeText(verdict.cause, subject.dst)}`;
  }

  #checkBus(bus: number): void {
    const { buses, faultOf } = this.#options;
    const fault = faultOf(bus);
    if (fault !== undefined) throw new SendError("bus", `Cannot send on bus "${buses[bus]}": ${fault}`);
  }

  #source({ bus, src }: Pick<WantedMessage, "bus" | "src">): number {
    const own = this.#options.address(bus);
    if (own.kind === "none") return src ?? NULL_ADDRESS;
    if (own.kind === "claimed") return own.src;
    const why = own.kind === "claiming" ? "it is being claimed" : "every address is taken";
    throw new SendError("address", `the virtual device has no address on bus "${this.#options.buses[bus]}": ${why}`);
  }

  #failed(messages: readonly WantedMessage[], { sender, error }: { sender: Sender; error: unknown }): void {
    this.counters.failed += messages.length;
    const why = errorText(error);
    for (const message of messages) this.#audit(message, { sender, outcome: "failed", why });
  }

  #audit(
    { bus, prio, pgn, src, dst, data, judgedPgn }: WantedMessage,
    { sender, outcome, why }: { sender: Sender; outcome: string; why?: string },
  ): void {
    const { log, buses } = this.#options;
    log.info("audit", {
      component: "audit",
      outcome,
      via: sender.via,
      client: sender.address,
      ...(sender.name !== undefined && { token: sender.name }),
      bus: buses[bus],
      pgn,
      ...(judgedPgn !== undefined && { asked: judgedPgn }),
      ...(src !== undefined && { src }),
      dst,
      prio,
      data: formatHex(data),
      ...(why !== undefined && { why }),
    });
  }
}

/** Why a rule that denies a NAME matches a message that is not addressed to that device. */
function causeText(cause: DenyCause, dst: number): string {
  switch (cause) {
    case "destination":
      return "";
    case "broadcast":
      return ": a broadcast reaches the device of the rule as well";
    case "unknown-device":
      return `: no NAME is known for address ${dst}, which may be the device of the rule`;
  }
}

/** What the transmitter refuses at once is a refusal like any other. */
function asRefusal(error: unknown): SendError | undefined {
  if (error instanceof SendError) return error;
  if (!(error instanceof TransmitError)) return undefined;
  const { reason, message } = error;
  switch (reason) {
    case "full":
    case "too-long":
      return new SendError(reason, message);
    case "closed":
      return new SendError("bus", message);
    default:
      return undefined;
  }
}

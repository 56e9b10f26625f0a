import { type Clock, errorText, type Logger, TokenBucket } from "../base/mod.ts";
import { BROADCAST_ADDRESS, formatHex, NULL_ADDRESS } from "../frame/mod.ts";
import { PGN } from "../pgn/mod.ts";
import { decide, type DenyCause, formatSendRule, type NameOf, type SendRule } from "./send_policy.ts";
import { type OutgoingMessage, type OwnAddress, type Transmit, TransmitError } from "./transmit.ts";

/** Send settings, read at each use. */
export interface SendSettings {
  /** True to send for clients. */
  enabled: boolean;
  /** True to refuse all sends; overrides `enabled`. */
  readOnly: boolean;
  /** In order; see {@linkcode decide}. */
  rules: readonly SendRule[];
  /** Average rate over all clients, messages a second; 0: no limit. */
  rateLimit: number;
  /** Burst size, messages. */
  rateBurst: number;
}

/** A message from a client. */
export interface WantedMessage extends Omit<OutgoingMessage, "src"> {
  /** Source address if there is no virtual device; undefined: 254. */
  src: number | undefined;
  /** PGN for the rules if not the message's own: for an ISO request, the requested PGN. */
  policyPgn?: number;
}

/** The sender of a message, for the audit log. */
export interface Sender {
  /** Address of the client. */
  address: string;
  /** Name of its token. */
  name?: string | undefined;
  /** Endpoint: `/send`, `/query`, `/ws`; `gateway`: a client of the gateway server. */
  via: string;
}

/**
 * Why nothing was sent.
 *
 * - `disabled`, `read-only`: sending is off
 * - `rate`: rate limit exceeded; see `retryAfterMs`
 * - `policy`: the rules do not allow it
 * - `address`: the virtual device has no address on the bus yet
 * - `bus`: the bus is down, or the server stops
 * - `full`: the queue of the bus is full
 * - `too-long`: the payload exceeds the maximum of the transport protocol
 */
export type SendRefusal = "disabled" | "read-only" | "rate" | "policy" | "address" | "bus" | "full" | "too-long";

/** A client's message was refused. */
export class SendError extends Error {
  override readonly name = "SendError";
  readonly reason: SendRefusal;
  /** With `rate`: time until a retry can succeed; Infinity: never, because the list exceeds the burst size. */
  readonly retryAfterMs: number;

  constructor(reason: SendRefusal, message: string, { retryAfterMs = 0 }: { retryAfterMs?: number } = {}) {
    super(message);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Totals of client messages since the start. */
export interface SendCounters {
  /** Messages queued. */
  accepted: number;
  /** Messages queued that could not be sent. */
  failed: number;
  /** Messages refused, by reason. */
  refused: Record<SendRefusal, number>;
}

/** Options of {@linkcode SendGate}. */
export interface SendGateOptions {
  transmit: Transmit;
  /** Address of the virtual device on a bus. */
  address: (bus: number) => OwnAddress;
  /** NAME of the device at an address. */
  nameOf: NameOf;
  /** Names of the buses by index. */
  buses: readonly string[];
  /** Why a bus cannot send now; undefined while it can. */
  faultOf: (bus: number) => string | undefined;
  settings: () => SendSettings;
  clock: Clock;
  log: Logger;
}

/** Checks and queues the messages of clients. Every message and its outcome is a line in the audit log. */
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

  /** Whether sending is allowed at all. */
  get isOpen(): boolean {
    return this.#closed() === undefined;
  }

  /**
   * Checks whether sending is allowed at all. A refusal is a line in the audit log.
   *
   * @throws {SendError} `disabled`, `read-only`
   */
  admit(sender: Sender): void {
    const closed = this.#closed();
    if (!closed) return;
    this.counters.refused[closed.reason]++;
    this.auditRefusal(sender, { outcome: closed.reason, why: closed.message });
    throw closed;
  }

  /**
   * Writes the audit line of a request refused before its messages were checked, or of refusals that had no line of their
   * own: then `pgn` and `count` say which and how many.
   */
  auditRefusal(
    { via, address, name }: Sender,
    { outcome, why, ...fields }: { outcome: string; why: string; pgn?: number; count?: number },
  ): void {
    const token = name !== undefined && { token: name };
    this.#options.log.info("audit", { component: "audit", outcome, via, client: address, ...token, ...fields, why });
  }

  /**
   * Checks messages and queues them: all or none.
   *
   * @param options.isWanted called when a message is about to be sent; false withdraws it. Default always true
   * @param options.isCounted called with a refusal; true: the caller counts it and calls
   * {@linkcode SendGate.auditRefusal} later. Default: each refused message has an audit line
   * @throws {SendError} none is sent
   * @returns resolves when all are sent, rejects with a {@linkcode TransmitError} if one fails
   */
  send(
    wanted: readonly WantedMessage[],
    sender: Sender,
    { isWanted = () => true, isCounted = () => false }: {
      isWanted?: () => boolean;
      isCounted?: (refusal: SendError) => boolean;
    } = {},
  ): Promise<void> {
    try {
      const messages = this.#check(wanted);
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
      if (isCounted(refusal)) throw refusal;
      for (const message of wanted) this.#audit(message, { sender, outcome: refusal.reason, why: refusal.message });
      throw refusal;
    }
  }

  #closed(): SendError | undefined {
    const { enabled, readOnly } = this.#options.settings();
    if (!enabled) return new SendError("disabled", "send is disabled");
    return readOnly ? new SendError("read-only", "the server is in read-only mode") : undefined;
  }

  #check(wanted: readonly WantedMessage[]): OutgoingMessage[] {
    const closed = this.#closed();
    if (closed) throw closed;
    this.#takeTokens(wanted.length);
    for (const message of wanted) {
      const why = this.#refusalOf(message);
      if (why !== undefined) throw new SendError("policy", why);
    }
    for (const { bus } of wanted) this.#checkBus(bus);
    return wanted.map(({ policyPgn: _, ...message }) => ({ ...message, src: this.#source(message) }));
  }

  /** Checks a queued message again: settings and addresses may have changed. */
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
      : `${count} messages at once exceed the burst size of ${rateBurst}: see -send-rate-burst`;
    throw new SendError("rate", why, { retryAfterMs });
  }

  /** Why the rules deny a message; undefined: allowed. */
  #refusalOf(message: WantedMessage): string | undefined {
    const { settings, nameOf, address } = this.#options;
    const { bus, policyPgn: pgn = message.pgn } = message;
    const isClaim = message.pgn === PGN.addressClaim;
    if (isClaim && address(bus).kind !== "none") return "the virtual device claims its address by itself";
    // A claim affects all devices, whatever its destination: the rules treat it as a broadcast.
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
    { bus, prio, pgn, src, dst, data, policyPgn }: WantedMessage,
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
      ...(policyPgn !== undefined && { asked: policyPgn }),
      ...(src !== undefined && { src }),
      dst,
      prio,
      data: formatHex(data),
      ...(why !== undefined && { why }),
    });
  }
}

/** Explains why a deny rule with a NAME matches a message not addressed to that device. */
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

/** Maps an immediate error of the transmitter to a refusal. */
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

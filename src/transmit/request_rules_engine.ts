import { addressKey, sourceOfId } from "../frame/mod.ts";
import { backoffMs } from "../base/mod.ts";
import { PGN } from "../pgn/mod.ts";
import {
  answers,
  matchesDevice,
  refusedPgn,
  replyPgn,
  requestDestination,
  requestMessage,
  type RequestReply,
  type RequestRule,
  type RequestTarget,
} from "./request_rules.ts";

/** Default minimum interval of requests over all rules, milliseconds: requests must not load a bus. */
export const DEFAULT_REQUESTS_MIN_INTERVAL_MS = 100;
/** Maximum wait for a device that does not answer, unless the rule's minimum interval is longer. */
const MAX_BACKOFF_MS = 3_600_000;
/** Wait after a refusal. */
const REFUSED_WAIT_MS = 6 * 3_600_000;
/** A device absent for this long counts as restarted: waits after unanswered requests are reset. */
const FORGET_MS = 5 * 60_000;
/** After an address claim a device must not send for 250 ms (ISO 11783-5 §4.4.2), so it could not answer. */
const SETTLE_MS = 300;
/** Wait after a request that could not be sent. */
const RESEND_MS = 1000;

/** A request that is due. {@linkcode RequestEngine.sent} and `notSent` expect this very object. */
export interface DeviceRequest {
  /** Name of its rule. */
  readonly rule: string;
  /** PGN or sub-key. */
  readonly want: number;
  /** Index of the bus. */
  readonly bus: number;
  readonly prio: number;
  readonly pgn: number;
  readonly src: number;
  readonly dst: number;
  readonly data: Uint8Array;
}

/** State of a datum. */
type Datum =
  /** Not requested before an invalidation. */
  | { readonly kind: "unwanted" }
  | { readonly kind: "missing" }
  | { readonly kind: "known"; readonly atMs: number };

/** State of the requests for a datum. */
type RequestState =
  | { readonly kind: "idle" }
  /** Requested `attempts` times without an answer. */
  | { readonly kind: "requested"; readonly attempts: number; readonly atMs: number }
  | { readonly kind: "refused"; readonly atMs: number };

/** Whether the device is present and matches the rule. */
type Presence =
  | { readonly kind: "here"; readonly sinceMs: number }
  | { readonly kind: "gone"; readonly sinceMs: number };

/** One datum of one device. Kept after the device has gone, so that a reappearance resets no waits. */
interface Subject {
  readonly question: Question;
  readonly src: number;
  name: bigint | undefined;
  datum: Datum;
  asking: RequestState;
  presence: Presence;
}

/** One possible request and the devices that answer it: one, or all that a rule requests at one address. */
interface Question {
  readonly rule: RequestRule;
  readonly want: number;
  readonly bus: number;
  readonly dst: number;
  readonly subjects: Subject[];
  /** Infinity while it is being sent. */
  notBeforeMs: number;
}

/** A request being sent, with the state of each subject before and since. */
interface Flight {
  question: Question;
  asked: { subject: Subject; before: RequestState; since: RequestState }[];
}

const IDLE: RequestState = { kind: "idle" };
const MISSING: Datum = { kind: "missing" };
const UNWANTED: Datum = { kind: "unwanted" };

/** Options of {@linkcode RequestEngine}. */
export interface RequestEngineOptions {
  rules: readonly RequestRule[];
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** Minimum interval of requests over all rules, milliseconds; 0: none. */
  globalMinIntervalMs?: number;
}

/**
 * Decides which data to request from which device. A wanted datum that is missing or too old is requested, at most once
 * per minimum interval of its rule. Waits double up to an hour for a device that does not answer, and are six hours after
 * a refusal. Pure: the caller passes the time, reports devices and messages, and sends the requests. Memory is bounded by
 * the numbers of rules and addresses.
 */
export class RequestEngine {
  /** Totals since the start: requested data received, and refusals. */
  readonly counters: { answered: number; refused: number } = { answered: 0, refused: 0 };
  /** PGNs that must be passed to {@linkcode RequestEngine.received}; others have no effect. */
  readonly watched: ReadonlySet<number>;
  readonly #rules: readonly RequestRule[];
  readonly #buses: readonly string[];
  readonly #globalMinIntervalMs: number;
  /** In the order of requests, the most recent last. */
  readonly #questions = new Map<string, Question>();
  /** By bus and address, then by question. */
  readonly #devices = new Map<number, Map<Question, Subject>>();
  readonly #flights = new Map<DeviceRequest, Flight>();
  #lastMs = -Infinity;

  constructor({ rules, buses, globalMinIntervalMs = DEFAULT_REQUESTS_MIN_INTERVAL_MS }: RequestEngineOptions) {
    this.#rules = rules;
    this.#buses = buses;
    this.#globalMinIntervalMs = globalMinIntervalMs;
    const pgns = rules.flatMap((rule) => [...rule.want.map((want) => replyPgn(rule, want)), ...rule.invalidateOn]);
    this.watched = new Set(rules.length > 0 ? [...pgns, PGN.isoAcknowledgement] : []);
  }

  /** Missing data of present devices. */
  get pending(): number {
    let count = 0;
    for (const { subjects } of this.#questions.values()) {
      for (const { presence, datum } of subjects) if (presence.kind === "here" && datum.kind === "missing") count++;
    }
    return count;
  }

  /** Tracked data, including those of devices that have gone. */
  get tracked(): number {
    let count = 0;
    for (const { subjects } of this.#questions.values()) count += subjects.length;
    return count;
  }

  /** Updates what is known about a device. */
  known(device: RequestTarget, nowMs: number): void {
    const key = addressKey(device.bus, device.src);
    const subjects = this.#devices.get(key) ?? new Map<Question, Subject>();
    const bus = this.#buses[device.bus] ?? "";
    for (const rule of this.#rules) {
      if (!matchesDevice(rule.match, { device, bus })) continue;
      for (const want of rule.want) {
        const question = this.#question(rule, { want, bus: device.bus, dst: requestDestination(rule, device.src) });
        if (!subjects.has(question)) subjects.set(question, addSubject(question, device.src));
      }
    }
    for (const subject of subjects.values()) {
      if (matchesDevice(subject.question.rule.match, { device, bus })) appear(subject, { name: device.name, nowMs });
      else disappear(subject, nowMs);
    }
    if (subjects.size > 0) this.#devices.set(key, subjects);
  }

  /** A device has disappeared. */
  gone({ bus, src }: { bus: number; src: number }, nowMs: number): void {
    for (const subject of this.#devices.get(addressKey(bus, src))?.values() ?? []) disappear(subject, nowMs);
  }

  /** Processes a received message. */
  received(message: RequestReply, nowMs: number): void {
    const subjects = this.#devices.get(addressKey(message.bus, sourceOfId(message.id)));
    if (!subjects) return;
    for (const subject of subjects.values()) {
      if (subject.presence.kind === "gone") continue;
      if (answers(message, subject.question)) this.#answered(subject, nowMs);
      else if (subject.question.rule.invalidateOn.includes(message.pgn)) subject.datum = MISSING;
    }
    const pgn = refusedPgn(message);
    if (pgn !== undefined) this.#refused(subjects.values(), { pgn, nowMs });
  }

  /**
   * The requests due now. Each must be reported by `sent` or `notSent`; until then it is not repeated.
   *
   * @param sourceOn source address on a bus, which is never requested itself; undefined: cannot send now
   */
  due(nowMs: number, sourceOn: (bus: number) => number | undefined): DeviceRequest[] {
    const requests: DeviceRequest[] = [];
    for (const [key, question] of this.#questions) {
      if (nowMs - this.#lastMs < this.#globalMinIntervalMs) break;
      if (nowMs < question.notBeforeMs) continue;
      const src = sourceOn(question.bus);
      const needs = (subject: Subject) => subject.src !== src && needsAnswer(subject, nowMs);
      if (src === undefined || question.dst === src || !question.subjects.some(needs)) continue;
      this.#lastMs = nowMs;
      this.#questions.delete(key);
      this.#questions.set(key, question);
      requests.push(this.#ask(question, { src, nowMs, subjects: question.subjects.filter(needs) }));
    }
    return requests;
  }

  /** A request was sent. */
  sent(request: DeviceRequest, nowMs: number): void {
    const flight = this.#flights.get(request);
    if (flight) flight.question.notBeforeMs = nowMs + flight.question.rule.minIntervalMs;
    this.#flights.delete(request);
  }

  /** A request could not be sent: it does not count as an attempt. */
  notSent(request: DeviceRequest, nowMs: number): void {
    const flight = this.#flights.get(request);
    if (!flight) return;
    flight.question.notBeforeMs = nowMs + RESEND_MS;
    for (const { subject, before, since } of flight.asked) if (subject.asking === since) subject.asking = before;
    this.#flights.delete(request);
  }

  #question(rule: RequestRule, { want, bus, dst }: { want: number; bus: number; dst: number }): Question {
    const key = `${this.#rules.indexOf(rule)} ${want} ${bus} ${dst}`;
    const known = this.#questions.get(key);
    if (known) return known;
    const question: Question = { rule, want, bus, dst, subjects: [], notBeforeMs: -Infinity };
    this.#questions.set(key, question);
    return question;
  }

  #ask(
    question: Question,
    { src, nowMs, subjects }: { src: number; nowMs: number; subjects: readonly Subject[] },
  ): DeviceRequest {
    const { rule, want, bus, dst } = question;
    const request = { rule: rule.name, want, bus, src, dst, ...requestMessage(rule, want) };
    const asked = subjects.map((subject) => {
      const before = subject.asking;
      const attempts = before.kind === "requested" ? before.attempts + 1 : 1;
      const since: RequestState = { kind: "requested", attempts, atMs: nowMs };
      subject.asking = since;
      return { subject, before, since };
    });
    question.notBeforeMs = Infinity;
    this.#flights.set(request, { question, asked });
    return request;
  }

  #answered(subject: Subject, nowMs: number): void {
    if (subject.asking.kind === "requested") this.counters.answered++;
    subject.datum = { kind: "known", atMs: nowMs };
    subject.asking = IDLE;
  }

  /** A refusal does not name a sub-key: it is attributed to the most recent matching request. */
  #refused(subjects: Iterable<Subject>, { pgn, nowMs }: { pgn: number; nowMs: number }): void {
    const asked = [...subjects].filter(({ question: { rule, want }, asking }) =>
      asking.kind === "requested" && replyPgn(rule, want) === pgn
    );
    if (asked.length === 0) return;
    this.counters.refused++;
    const lastMs = Math.max(...asked.map(({ asking }) => asking.kind === "requested" ? asking.atMs : -Infinity));
    for (const subject of asked) {
      const { question: { rule }, asking } = subject;
      if (rule.via === "frame" && asking.kind === "requested" && asking.atMs !== lastMs) continue;
      subject.asking = { kind: "refused", atMs: nowMs };
    }
  }
}

function addSubject(question: Question, src: number): Subject {
  const presence: Presence = { kind: "gone", sinceMs: -Infinity };
  const subject: Subject = { question, src, name: undefined, datum: UNWANTED, asking: IDLE, presence };
  question.subjects.push(subject);
  return subject;
}

/** The device is present and matches. */
function appear(subject: Subject, { name, nowMs }: { name: bigint | undefined; nowMs: number }): void {
  const { question: { rule }, presence } = subject;
  const isGone = presence.kind === "gone";
  const hasClaimed = name !== undefined && name !== subject.name;
  const isAnother = hasClaimed && subject.name !== undefined;
  if (hasClaimed) subject.name = name;
  if (isAnother || (isGone && nowMs - presence.sinceMs >= FORGET_MS)) subject.asking = IDLE;
  if (isGone) subject.datum = rule.onOnline || rule.maxAgeMs !== undefined ? MISSING : UNWANTED;
  if (isGone || hasClaimed) subject.presence = { kind: "here", sinceMs: nowMs };
}

/** The device has gone or no longer matches. */
function disappear(subject: Subject, nowMs: number): void {
  if (subject.presence.kind === "here") subject.presence = { kind: "gone", sinceMs: nowMs };
}

function needsAnswer({ question: { rule }, presence, datum, asking }: Subject, nowMs: number): boolean {
  if (presence.kind === "gone" || nowMs - presence.sinceMs < SETTLE_MS || datum.kind === "unwanted") return false;
  if (datum.kind === "known" && nowMs - datum.atMs < (rule.maxAgeMs ?? Infinity)) return false;
  switch (asking.kind) {
    case "idle":
      return true;
    case "requested": {
      const { minIntervalMs } = rule;
      const capMs = Math.max(MAX_BACKOFF_MS, minIntervalMs);
      return nowMs - asking.atMs >= backoffMs(asking.attempts, { firstMs: minIntervalMs, capMs });
    }
    case "refused":
      return nowMs - asking.atMs >= Math.max(REFUSED_WAIT_MS, rule.minIntervalMs);
  }
}

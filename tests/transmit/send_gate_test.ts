import assert from "node:assert/strict";
import { type LogFields, Logger } from "../../src/base/mod.ts";
import {
  type OutgoingMessage,
  type OwnAddress,
  parseSendRules,
  SendError,
  SendGate,
  type SendSettings,
  TransmitError,
  type WantedMessage,
} from "../../src/transmit/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";

const OPEN: SendSettings = { enabled: true, readOnly: false, rules: [], rateLimit: 0, rateBurst: 10 };
const SENDER = { address: "192.0.2.7", name: "plotter", via: "/send" };

function wanted(more: Partial<WantedMessage> = {}): WantedMessage {
  return { bus: 0, prio: 6, pgn: 126208, src: 7, dst: 5, data: Uint8Array.of(1, 2), ...more };
}

/** A gate before a transmitter that only keeps what it gets. */
class TestGate {
  readonly sent: OutgoingMessage[] = [];
  readonly audit: (LogFields & { outcome?: string })[] = [];
  readonly clock = new FakeClock();
  settings: SendSettings = OPEN;
  own: OwnAddress = { kind: "none" };
  /** Why the bus carries nothing. */
  fault: string | undefined;
  /** Who holds every address. */
  holder: bigint | undefined;
  /** Asks whether a message of the last list may still be sent. */
  mayLeave: ((index: number) => boolean) | undefined;
  /** What the transmitter answers. */
  answer: () => Promise<void> = () => Promise.resolve();
  readonly gate = new SendGate({
    transmit: {
      send: (messages, { mayLeave } = {}) => {
        const done = this.answer();
        this.mayLeave = mayLeave;
        this.sent.push(...messages);
        return done;
      },
    },
    address: () => this.own,
    nameOf: () => this.holder,
    buses: ["can0"],
    faultOf: () => this.fault,
    settings: () => this.settings,
    clock: this.clock,
    log: new Logger({ level: "info", format: "json", write: (line) => this.audit.push(JSON.parse(line)) }),
  });

  /** Tries to send; gives the reason against it. */
  refusal(...messages: WantedMessage[]): string | undefined {
    try {
      this.gate.send(messages.length > 0 ? messages : [wanted()], SENDER).catch(() => {});
      return undefined;
    } catch (error) {
      if (error instanceof SendError) return error.reason;
      throw error;
    }
  }
}

Deno.test("send gate: nothing passes unless sending is enabled, nor in read-only mode", () => {
  const test = new TestGate();
  test.settings = { ...OPEN, enabled: false };
  assert.equal(test.refusal(), "disabled");
  test.settings = { ...OPEN, readOnly: true };
  assert.equal(test.refusal(), "read-only");
  assert.deepEqual(test.sent, []);
  test.settings = OPEN;
  assert.equal(test.refusal(), undefined);
  assert.deepEqual(test.sent, [wanted()]);
});

Deno.test("send gate: of several messages all are sent, or none", () => {
  const test = new TestGate();
  test.settings = { ...OPEN, rules: parseSendRules("pgn:126208") };
  assert.equal(test.refusal(wanted(), wanted({ pgn: 59904 })), "policy");
  assert.deepEqual(test.sent, []);
  assert.equal(test.refusal(wanted(), wanted({ prio: 2 })), undefined);
  assert.equal(test.sent.length, 2);
});

Deno.test("send gate: an address claim is for everybody to the rules, whoever it is addressed to; asking for one is not", () => {
  const test = new TestGate();
  test.holder = 1n;
  const claim = wanted({ pgn: 60928, src: 7, dst: 4, data: new Uint8Array(8) });
  test.settings = { ...OPEN, rules: parseSendRules("!name:2; pgn:0-262143") };
  assert.equal(test.refusal(claim), "policy", "it could give the address of the denied device another NAME");
  test.settings = { ...OPEN, rules: parseSendRules("name:1") };
  assert.equal(test.refusal(claim), "policy");
  assert.equal(test.refusal(wanted({ pgn: 59904, dst: 4, policyPgn: 60928 })), undefined);
  test.settings = { ...OPEN, rules: parseSendRules("pgn:60928") };
  assert.equal(test.refusal(claim), undefined);
});

Deno.test("send gate: what waits is judged again when its turn comes: addresses change hands, and owners their minds", () => {
  const test = new TestGate();
  const rules = parseSendRules("name:1");
  test.settings = { ...OPEN, rules };
  test.holder = 1n;
  assert.equal(test.refusal(wanted({ pgn: 61184 }), wanted({ pgn: 59904, policyPgn: 126996, dst: 255 })), "policy");
  assert.equal(test.refusal(wanted({ pgn: 61184 }), wanted({ pgn: 61184, dst: 6 })), undefined);
  assert.deepEqual([0, 1, 2].map((index) => test.mayLeave?.(index)), [true, true, false]);
  test.holder = 2n;
  assert.equal(test.mayLeave?.(0), false, "another device has the address by now");
  test.holder = 1n;
  test.settings = { ...OPEN, rules, readOnly: true };
  assert.equal(test.mayLeave?.(0), false);
});

Deno.test("send gate: a query is for the device that is asked, whatever PGN it asks for", () => {
  const test = new TestGate();
  const query = (dst: number) => wanted({ pgn: 59904, policyPgn: 126996, dst });
  test.holder = 1n;
  test.settings = { ...OPEN, rules: parseSendRules("name:1") };
  assert.equal(test.refusal(query(5)), undefined);
  assert.equal(test.refusal(query(255)), "policy");
  test.settings = { ...OPEN, rules: parseSendRules("!name:1; pgn:126996") };
  assert.equal(test.refusal(query(5)), "policy");
  assert.equal(test.refusal(query(255)), "policy", "the device of the rule hears the request, too");
  test.holder = 2n;
  assert.equal(test.refusal(query(5)), undefined);
});

Deno.test("send gate: a refusal names the rule as it is written, and says why the rule matches", () => {
  const test = new TestGate();
  test.settings = { ...OPEN, rules: parseSendRules("pgn:127250; !name:2 pgn:0-126720; !name:1") };
  const why = (message: WantedMessage) => {
    test.refusal(message);
    return test.audit.at(-1)?.["why"];
  };
  const second = '"! pgn:0-126720 name:0000000000000002"';
  test.holder = 1n;
  assert.equal(why(wanted()), 'send denied by rule 3 "! name:0000000000000001" (pgn=126208, dst=5)');
  assert.equal(
    why(wanted({ dst: 255 })),
    `send denied by rule 2 ${second} (pgn=126208, dst=255): a broadcast reaches the device of the rule as well`,
  );
  test.holder = undefined;
  assert.equal(
    why(wanted()),
    `send denied by rule 2 ${second} (pgn=126208, dst=5): no NAME is known for address 5, which may be the device of ` +
      "the rule",
  );
  test.holder = 3n;
  assert.equal(why(wanted()), "no send rule matched (pgn=126208, dst=5)");
});

Deno.test("send gate: no client claims the address of the virtual device", () => {
  const test = new TestGate();
  test.own = { kind: "claimed", src: 251, name: 1n };
  assert.equal(test.refusal(wanted({ pgn: 60928, data: new Uint8Array(8) })), "policy");
  assert.equal(test.refusal(wanted({ pgn: 59904, policyPgn: 60928 })), undefined);
  assert.equal(test.audit[0]?.outcome, "policy");
});

Deno.test("send gate: the rate limit counts messages, and says when there is room", () => {
  const test = new TestGate();
  test.settings = { ...OPEN, rateLimit: 2, rateBurst: 4 };
  assert.equal(test.refusal(wanted(), wanted(), wanted()), undefined);
  assert.equal(test.refusal(wanted(), wanted()), "rate");
  assert.throws(
    () => test.gate.send([wanted(), wanted()], SENDER),
    (error) => error instanceof SendError && error.retryAfterMs === 500,
  );
  test.clock.advance(500);
  assert.equal(test.refusal(wanted(), wanted()), undefined);
  assert.throws(
    () => test.gate.send(Array.from({ length: 5 }, () => wanted()), SENDER),
    (error) => error instanceof SendError && error.retryAfterMs === Infinity && /burst/.test(error.message),
  );
  test.settings = OPEN;
  assert.equal(test.refusal(), undefined, "a limit that is taken away holds nobody up");
});

Deno.test("send gate: a claimed address replaces any source, and without one nothing is sent", () => {
  const test = new TestGate();
  test.own = { kind: "claiming" };
  assert.equal(test.refusal(), "address");
  test.own = { kind: "cannot-claim" };
  assert.equal(test.refusal(), "address");
  test.own = { kind: "claimed", src: 251, name: 1n };
  assert.equal(test.refusal(wanted({ src: 9 })), undefined);
  test.own = { kind: "none" };
  assert.equal(test.refusal(wanted({ src: 9 }), wanted({ src: undefined })), undefined);
  assert.deepEqual(test.sent.map(({ src }) => src), [251, 9, 254]);
});

Deno.test("send gate: a full queue is a refusal, a bus that fails later is counted and told", async () => {
  const test = new TestGate();
  test.answer = () => {
    throw new TransmitError("full", "64 messages wait already");
  };
  assert.equal(test.refusal(), "full");
  test.answer = () => {
    throw new TransmitError("closed", "the server stops");
  };
  assert.equal(test.refusal(), "bus");
  test.answer = () => Promise.reject(new TransmitError("bus", "it is down"));
  await assert.rejects(test.gate.send([wanted()], SENDER), TransmitError);
  assert.equal(test.gate.counters.failed, 1);
  assert.deepEqual(test.audit.map(({ outcome }) => outcome), ["full", "bus", "accepted", "failed"]);
});

Deno.test("send gate: while the bus carries nothing, nothing is taken", () => {
  const test = new TestGate();
  test.fault = "it is down: no cable";
  assert.throws(() => test.gate.send([wanted()], SENDER), {
    message: 'Cannot send on bus "can0": it is down: no cable',
  });
  assert.equal(test.refusal(), "bus");
  assert.equal(test.gate.counters.refused.bus, 2);
  test.fault = undefined;
  assert.equal(test.refusal(), undefined);
  assert.equal(test.sent.length, 1);
});

Deno.test("send gate: who is not let in has a line in the audit log too", () => {
  const test = new TestGate();
  test.gate.admit(SENDER);
  test.settings = { ...OPEN, readOnly: true };
  assert.throws(() => test.gate.admit(SENDER), { reason: "read-only" });
  test.settings = { ...OPEN, enabled: false };
  assert.throws(() => test.gate.admit(SENDER), { reason: "disabled" });
  const told = test.audit.map(({ outcome, client, token, via }) => ({ outcome, client, token, via }));
  const who = { client: "192.0.2.7", token: "plotter", via: "/send" };
  assert.deepEqual(told, [{ outcome: "read-only", ...who }, { outcome: "disabled", ...who }]);
  assert.deepEqual([test.gate.counters.refused.disabled, test.gate.counters.refused["read-only"]], [1, 1]);
});

Deno.test("send gate: every message asked for is a line of the audit log with who, what and why", () => {
  const test = new TestGate();
  test.refusal();
  test.settings = { ...OPEN, rules: parseSendRules("!pgn:126208") };
  test.refusal(wanted({ policyPgn: 126208, pgn: 59904 }));
  const lines = test.audit.map(({ time: _, level: _level, message, ...rest }) => ({ message, ...rest }));
  const common = { message: "audit", component: "audit", via: "/send", client: "192.0.2.7", token: "plotter" };
  assert.deepEqual(lines, [
    { ...common, outcome: "accepted", bus: "can0", pgn: 126208, src: 7, dst: 5, prio: 6, data: "0102" },
    {
      ...common,
      outcome: "policy",
      bus: "can0",
      pgn: 59904,
      asked: 126208,
      src: 7,
      dst: 5,
      prio: 6,
      data: "0102",
      why: 'send denied by rule 1 "! pgn:126208" (pgn=126208, dst=5)',
    },
  ]);
  assert.deepEqual(test.gate.counters, {
    accepted: 1,
    failed: 0,
    refused: { disabled: 0, "read-only": 0, rate: 0, policy: 1, address: 0, bus: 0, full: 0, "too-long": 0 },
  });
});

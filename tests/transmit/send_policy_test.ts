import assert from "node:assert/strict";
import {
  decide,
  type DeviceMatch,
  formatSendRule,
  matchesDevice,
  type NameOf,
  parseSendRules,
  type RequestTarget,
  type SendSubject,
} from "../../src/transmit/mod.ts";
import { Random } from "../support/random.ts";

const PILOT = 0x001c6e4000200000n;
const OTHER = 0x1n;
/** Address 5 is the pilot on bus 0, another device on bus 1; address 9 has not claimed. */
const nameOf: NameOf = (bus, src) => src === 5 ? (bus === 0 ? PILOT : OTHER) : undefined;

function verdict(rules: string, subject: Partial<SendSubject>): string {
  const found = decide(parseSendRules(rules), { subject: { bus: 0, pgn: 126208, dst: 5, ...subject }, nameOf });
  return found.kind === "denied" ? `denied by ${found.rule}` : found.kind;
}

const verdicts: [claim: string, rules: string, subject: Partial<SendSubject>, verdict: string][] = [
  ["without rules everything is allowed", "", {}, "allowed"],
  ["a PGN that no rule names is denied", "pgn:59904", {}, "unmatched"],
  ["a PGN of a list is allowed", "pgn:59904,126208", {}, "allowed"],
  ["the first PGN of a range is allowed", "pgn:126208-126300", {}, "allowed"],
  ["the last PGN of a range is allowed", "pgn:126000-126208", {}, "allowed"],
  ["the PGN behind a range is not", "pgn:126000-126207", {}, "unmatched"],
  ["the first rule that matches decides: a denial", "!pgn:126208; pgn:126208", {}, "denied by 1"],
  ["the first rule that matches decides: a permission", "pgn:126208; !pgn:126208", {}, "allowed"],
  ["a denial alone denies all else, too", "!pgn:59904", {}, "unmatched"],
  ["a bare ! denies everything", "pgn:59904; !", {}, "denied by 2"],
  ["a NAME allows what is for that device", "name:001c6e4000200000", {}, "allowed"],
  ["a NAME is looked for on the bus in question", "name:001c6e4000200000", { bus: 1 }, "unmatched"],
  ["a NAME allows nothing that is for everybody", "name:001c6e4000200000", { dst: 255 }, "unmatched"],
  ["a NAME allows nothing whose PGN has no destination", "name:001c6e4000200000", { pgn: 127250 }, "unmatched"],
  ["a NAME allows nothing that is for an unknown device", "name:001c6e4000200000", { dst: 9 }, "unmatched"],
  ["a denied NAME denies what is for that device", "!name:001c6e4000200000; pgn:0-262143", {}, "denied by 1"],
  ["a denied NAME lets others through", "!name:001c6e4000200000; pgn:0-262143", { bus: 1 }, "allowed"],
  ["a denied NAME denies what is for everybody", "!name:1c6e4000200000; pgn:0-262143", { dst: 255 }, "denied by 1"],
  ["a denied NAME denies a broadcast command", "!name:1; pgn:0-262143", { pgn: 126208, dst: 255 }, "denied by 1"],
  ["a denied NAME denies a broadcast request", "!name:1; pgn:0-262143", { pgn: 59904, dst: 255 }, "denied by 1"],
  ["a denied NAME denies a commanded address", "!name:1; pgn:0-262143", { pgn: 65240, dst: 255 }, "denied by 1"],
  ["a denied NAME lets pass what is broadcast by nature", "!name:1; pgn:0-262143", { pgn: 127250 }, "allowed"],
  ["a denied NAME lets pass the last PDU2 PGN", "!name:1; pgn:0-262143", { pgn: 131071, dst: 255 }, "allowed"],
  ["a denied NAME covers the last PDU1 PGN", "!name:1; pgn:0-262143", { pgn: 126720, dst: 255 }, "denied by 1"],
  ["a denied NAME with a PGN denies it without destination, too", "!name:1 pgn:127250; pgn:0-262143", {
    pgn: 127250,
  }, "denied by 1"],
  ["a denied NAME alone allows nothing", "!name:1", { pgn: 127250 }, "unmatched"],
  ["a denied NAME denies what is for an unknown device", "!name:1; pgn:0-262143", { dst: 9 }, "denied by 1"],
  ["both conditions of a rule must hold", "pgn:59904 name:001c6e4000200000", {}, "unmatched"],
  ["a NAME may be one of several", "name:2,0x001C6E4000200000", {}, "allowed"],
];
for (const [claim, rules, subject, expected] of verdicts) {
  Deno.test(`send policy: ${claim}`, () => assert.equal(verdict(rules, subject), expected));
}

const mistakes: [rules: string, message: RegExp][] = [
  ["pgn:1;;pgn:2", /^rule 2: Cannot read an empty rule/],
  ["pgn", /^rule 1: Cannot read "pgn"/],
  ["png:1", /^rule 1: Unknown key "png"/],
  ["pgn:", /^rule 1: Cannot read the PGNs ""/],
  ["pgn:1,", /^rule 1: Cannot read the PGNs "1,"/],
  ["pgn:x", /^rule 1: Cannot read the PGNs "x"/],
  ["pgn:262144", /^rule 1: Cannot read the PGNs "262144"/],
  ["pgn:9-3", /^rule 1: Cannot read the PGN range "9-3": it ends before it begins/],
  ["name:", /^rule 1: Cannot read the NAME ""/],
  ["name:xyz", /^rule 1: Cannot read the NAME "xyz"/],
  ["pgn:1 pgn:2", /it has pgn twice/],
  ["pgn:1; ! !", /^rule 2: Cannot read "!"/],
];
for (const [rules, message] of mistakes) {
  Deno.test(`send policy: the rules "${rules}" are refused by place and reason`, () => {
    assert.throws(() => parseSendRules(rules), (error) => error instanceof RangeError && message.test(error.message));
  });
}

Deno.test("send policy: rules that are written are read back the same", () => {
  const random = new Random(3);
  for (let i = 0; i < 500; i++) {
    const pgns = Array.from({ length: random.int(3) }, () => {
      const from = random.int(0x40000);
      return { from, to: random.chance(0.5) ? from : random.between(from, 0x3ffff) };
    });
    const names = Array.from(
      { length: random.int(3) },
      () => BigInt(random.int(2 ** 32)) * BigInt(random.int(2 ** 32)),
    );
    const rule = {
      deny: random.chance(0.5),
      ...(pgns.length > 0 && { pgns }),
      ...(names.length > 0 && { names }),
    };
    if (!rule.deny && !rule.pgns && !rule.names) continue;
    assert.deepEqual(parseSendRules(formatSendRule(rule)), [rule]);
  }
});

const GARMIN = 229;
const PLOTTER: RequestTarget = {
  bus: 1,
  src: 9,
  name: 0xc0a1n,
  fields: { manufacturerCode: GARMIN, deviceClass: 60, deviceFunction: 145 },
  product: { modelId: "GPSMAP 8612" },
};

/** [what, match, whether it is for the plotter] */
const MATCHES: [what: string, match: DeviceMatch, expected: boolean][] = [
  ["nothing asked", {}, true],
  ["its manufacturer", { manufacturers: [1, GARMIN] }, true],
  ["another manufacturer", { manufacturers: [1] }, false],
  ["its model in another case", { models: ["x", "gpsMap 8612"] }, true],
  ["the beginning of its model", { models: ["GPSmap*"] }, true],
  ["any model", { models: ["*"] }, true],
  ["the beginning of its model without a star", { models: ["gpsmap"] }, false],
  ["more than its model", { models: ["GPSMAP 8612 xsv*"] }, false],
  ["its class", { classes: [60] }, true],
  ["another class", { classes: [61] }, false],
  ["its function", { functions: [145] }, true],
  ["another function", { functions: [0] }, false],
  ["its NAME", { names: [0xc0a1n] }, true],
  ["another NAME", { names: [0xc0a2n] }, false],
  ["its address", { sources: [9] }, true],
  ["another address", { sources: [0] }, false],
  ["its bus", { buses: ["can0", "can1"] }, true],
  ["another bus", { buses: ["can0"] }, false],
  ["all but one", { manufacturers: [GARMIN], classes: [60], functions: [145], sources: [10] }, false],
];

for (const [what, match, expected] of MATCHES) {
  Deno.test(`a rule with ${what} is ${expected ? "" : "not "}for a device`, () => {
    assert.equal(matchesDevice(match, { device: PLOTTER, bus: "can1" }), expected);
  });

  Deno.test(`a rule with ${what} is not for a device that has told nothing, unless it needs nothing told`, () => {
    const stranger = { bus: 1, src: 9, name: undefined, fields: undefined, product: undefined };
    const needsNothing = Object.keys(match).every((key) => key === "sources" || key === "buses");
    assert.equal(matchesDevice(match, { device: stranger, bus: "can1" }), needsNothing && expected);
  });
}

import assert from "node:assert/strict";
import { flattenConfig, parseHocon } from "../../cli/settings/hocon.ts";
import { describeProblem, resolveSettings } from "../../cli/settings/options.ts";
import { readRequestRules, requestChecks, requestOptions } from "../../cli/settings/request_rules.ts";
import { needs } from "../support/needs.ts";

/** The file's parser asks for the home directory. */
const HOCON = needs({ permissions: ["env", "read", "sys"] });

const RULES = `
requests-global-min-interval = 250ms
requests = [
  {
    name = routes
    match { model-id = "GPSMAP*", manufacturer = garmin }
    want = [130065, "0x1FC13"]
    to-device = true
    on-online = true
    max-age = 30s
    min-interval = PT5S
    invalidate-on = 129284
  }
  {
    name = "battery alarms"
    match { manufacturer-code = "0x166", source = [35, 0x24], bus = can0, name = "0xC0A1", device-class = 35, device-function = [170] }
    via = frame
    frame-pgn = 61184
    frame-template = "6699000000000000"
    frame-priority = 7
    subkey-write-offset = 2
    subkey-write-len = 2
    subkey-read-offset = 2
    subkey-read-len = 2
    want = [0x031E, 796, 796]
    dst = 0
    min-interval = 30s
  }
]
`;

async function read(text: string) {
  const { values, unknown } = flattenConfig(await parseHocon(text), requestOptions);
  assert.deepEqual(unknown, []);
  return resolveSettings(requestOptions, { config: values });
}

Deno.test(
  "requests of the configuration file become rules, numbers in both forms, one value as good as a list",
  HOCON,
  async () => {
    const { settings } = await read(RULES);
    assert.deepEqual(settings, {
      requestsGlobalMinIntervalMs: 250,
      requests: [
        {
          via: "iso",
          name: "routes",
          match: { manufacturers: [229], models: ["GPSMAP*"] },
          to: "device",
          want: [130065, 130067],
          minIntervalMs: 5000,
          maxAgeMs: 30_000,
          onOnline: true,
          invalidateOn: [129284],
        },
        {
          via: "frame",
          name: "battery alarms",
          match: {
            manufacturers: [358],
            classes: [35],
            functions: [170],
            names: [0xc0a1n],
            sources: [35, 36],
            buses: ["can0"],
          },
          to: 0,
          want: [798, 796],
          pgn: 61184,
          prio: 7,
          template: Uint8Array.fromHex("6699000000000000"),
          write: { offset: 2, length: 2 },
          read: { offset: 2, length: 2 },
          minIntervalMs: 30_000,
          maxAgeMs: undefined,
          onOnline: true,
          invalidateOn: [],
        },
      ],
    });
    assert.equal(requestOptions.requests.format(settings.requests), "routes,battery alarms");
    assert.equal(
      (await read("requests { name = one, want = 126998, min-interval = 5m }")).settings?.requests.length,
      1,
    );
  },
);

Deno.test("a mistake in the configuration file is told with its place", HOCON, async () => {
  const { problems } = await read("requests = [{ name = one, want = 126998, min-interval = 5m }, { name = two }]");
  assert.deepEqual(problems.map(describeProblem), [`config key "requests": requests[1].want: missing`]);
});

const RULE = { name: "a", want: [126998], "min-interval": "5m" };
const FRAME = { ...RULE, want: [1], via: "frame", "frame-pgn": 61184, "frame-template": "00000000" };
const PLACES = { "subkey-write-len": 2, "subkey-read-len": 2 };

Deno.test("who is asked: everybody when nothing is said, else the device or the address; address 0 is an address", () => {
  const to = (words: object) => readRequestRules({ ...RULE, ...words }).map((rule) => rule.to);
  assert.deepEqual(to({}), [255]);
  assert.deepEqual(to({ "to-device": true }), ["device"]);
  assert.deepEqual(to({ "to-device": "false", dst: "0x23" }), [35]);
  assert.deepEqual(to({ dst: 0 }), [0]);
});

Deno.test("data are wanted from the first when nothing else would ever ask for them", () => {
  const onOnline = (words: object) => readRequestRules({ ...RULE, ...words }).map((rule) => rule.onOnline);
  assert.deepEqual(onOnline({}), [true]);
  assert.deepEqual(onOnline({ "max-age": "5m" }), [false]);
  assert.deepEqual(onOnline({ "invalidate-on": [129284] }), [false]);
  assert.deepEqual(onOnline({ "invalidate-on": [129284], "on-online": "true" }), [true]);
});

Deno.test("of a manufacturer's name and its code, both must fit", () => {
  const match = { manufacturer: ["Victron", "garmin"], "manufacturer-code": [1, 358] };
  assert.deepEqual(readRequestRules({ ...RULE, match })[0]?.match, { manufacturers: [358] });
});

Deno.test("an own message without places for sub-keys asks for one thing, with priority 6", () => {
  const [rule] = readRequestRules(FRAME);
  assert.ok(rule?.via === "frame");
  assert.deepEqual([rule.prio, rule.write, rule.read], [6, undefined, undefined]);
});

/** [what is wrong, rules, words of the message] */
const BAD: [what: string, value: unknown, message: RegExp][] = [
  ["no section", ["a"], /^requests\[0\]: expected a section with name, match, via/],
  ["no name", [RULE, { want: 126998, "min-interval": "5m" }], /^requests\[1\]\.name: missing$/],
  ["a name twice", [RULE, RULE], /^requests: the name "a" is given twice$/],
  ["no want", { ...RULE, want: undefined }, /^requests\[0\]\.want: missing$/],
  ["an empty want", { ...RULE, want: [] }, /\.want: must not be empty$/],
  ["a want that is no number", { ...RULE, want: ["x"] }, /\.want: cannot read "x": expected a whole number/],
  ["a want beyond all PGNs", { ...RULE, want: 262144 }, /\.want: cannot read "262144": .* from 0 to 262143$/],
  ["a want with a destination", { ...RULE, want: 59905 }, /\.want: 59905 is no PGN/],
  ["no interval", { ...RULE, "min-interval": undefined }, /\.min-interval: missing$/],
  ["an interval of zero", { ...RULE, "min-interval": "0s" }, /\.min-interval: must be longer than nothing$/],
  ["a bad interval", { ...RULE, "min-interval": "soon" }, /\.min-interval: Cannot read the duration "soon"/],
  ["an unknown key", { ...RULE, "min-intervall": 1 }, /^requests\[0\]: unknown key .* did you mean "min-interval"\?$/],
  ["a bad way", { ...RULE, via: "mail" }, /\.via: cannot use "mail": expected iso or frame$/],
  ["a bad yes or no", { ...RULE, "to-device": "maybe" }, /\.to-device: cannot read "maybe": expected true or false$/],
  ["two receivers", { ...RULE, "to-device": true, dst: 3 }, /\.dst: expected either to-device or dst$/],
  ["the null address", { ...RULE, dst: 254 }, /\.dst: cannot use 254/],
  ["two addresses", { ...RULE, dst: [3, 4] }, /\.dst: expected one value$/],
  ["no reason to ask", { ...RULE, "on-online": false }, /\.on-online: without max-age and invalidate-on nothing/],
  ["an endless circle", { ...RULE, "invalidate-on": 126998 }, /\.invalidate-on: each reply with PGN 126998/],
  ["frame words without a frame", { ...RULE, "frame-pgn": 61184 }, /\.frame-pgn: only for a rule with via = frame$/],
  ["no frame PGN", { ...FRAME, "frame-pgn": undefined }, /\.frame-pgn: missing$/],
  ["no template", { ...FRAME, "frame-template": undefined }, /\.frame-template: missing$/],
  ["half a byte", { ...FRAME, "frame-template": "123" }, /\.frame-template: cannot read "123": expected pairs of hex/],
  [
    "a template that is a number",
    { ...FRAME, "frame-template": 66 },
    /\.frame-template: 66 must be written in quotes$/,
  ],
  ["a long template", { ...FRAME, "frame-template": "00".repeat(1786) }, /expected at most 1785 bytes$/],
  ["a bad priority", { ...FRAME, "frame-priority": 8 }, /\.frame-priority: cannot read "8".* from 0 to 7$/],
  ["a receiver for a broadcast", { ...FRAME, "frame-pgn": 130817, dst: 3 }, /\.dst: PGN 130817 is always broadcast/],
  ["sub-keys without places", { ...FRAME, want: [1, 2] }, /\.want: several values cannot be distinguished/],
  ["a large sub-key", { ...FRAME, ...PLACES, want: [1, 65536] }, /\.want: 65536 needs more than 2 bytes$/],
  ["a wide sub-key", { ...FRAME, "subkey-write-len": 5 }, /\.subkey-write-len: cannot read "5".* from 0 to 4$/],
  [
    "a sub-key beyond the template",
    { ...FRAME, ...PLACES, "subkey-write-offset": 3 },
    /\.subkey-write-offset: 2 bytes at 3 are beyond the end, which is 4$/,
  ],
  ["a sub-key nowhere", { ...FRAME, "subkey-read-offset": 1 }, /\.subkey-read-len: missing$/],
  ["an answer that invalidates", { ...FRAME, "invalidate-on": 61184 }, /\.invalidate-on: each reply with PGN 61184/],
  ["a match that is no section", { ...RULE, match: "Garmin" }, /^requests\[0\]\.match: expected a section with/],
  ["an unknown match", { ...RULE, match: { model: "x" } }, /\.match: unknown key "model": did you mean "model-id"\?$/],
  [
    "an unknown maker",
    { ...RULE, match: { manufacturer: "Nobody" } },
    /\.match\.manufacturer: unknown manufacturer "N/,
  ],
  [
    "a maker that has another code",
    { ...RULE, match: { manufacturer: "Garmin", "manufacturer-code": 1 } },
    /\.match\.manufacturer-code: 1 is none of the manufacturer given$/,
  ],
  ["a star in the middle", { ...RULE, match: { "model-id": "GPS*8" } }, /\.model-id: cannot use "GPS\*8": a \* can/],
  ["a bad NAME", { ...RULE, match: { name: "xyz" } }, /\.match\.name: cannot read the NAME "xyz"/],
  ["a NAME that is a large number", { ...RULE, match: { name: 1e16 } }, /\.match\.name: 1.* written in quotes$/],
  ["a large address", { ...RULE, match: { source: 254 } }, /\.match\.source: cannot read "254".* from 0 to 253$/],
  ["a bus that is a section", { ...RULE, match: { bus: {} } }, /\.match\.bus: expected a text$/],
];

for (const [what, value, message] of BAD) {
  Deno.test(`a request rule with ${what} is refused by its place`, () => {
    assert.throws(
      () => readRequestRules(value),
      (error) => error instanceof RangeError && message.test(error.message),
    );
  });
}

Deno.test("requests are a matter of the configuration file alone; their global minimum interval has a flag", () => {
  const { requests, requestsGlobalMinIntervalMs } = requestOptions;
  assert.deepEqual([requests.onCommandLine, requests.inEnvironment], [false, false]);
  assert.equal(requestsGlobalMinIntervalMs.fromFlags(["PT0.5S"]), 500);
  assert.equal(requestsGlobalMinIntervalMs.default({}), 100);
});

Deno.test("a rule for a bus that is no interface is warned of", () => {
  const check = (bus: string, interfaces: string[]) => {
    const requests = readRequestRules([RULE, { ...RULE, name: "b", match: { bus: ["can0", bus] } }]);
    return requestChecks.map(({ test }) => test({ requests, requestsGlobalMinIntervalMs: 0, interfaces }, () => true));
  };
  assert.deepEqual(check("can7", ["can0", "can1"]), [
    'The request rule "b" is for the bus "can7", which is no interface',
  ]);
  assert.deepEqual(check("can1", ["can0", "can1"]), [undefined]);
  assert.deepEqual(check("can7", []), [undefined], "buses in memory");
});

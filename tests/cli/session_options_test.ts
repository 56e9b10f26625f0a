import assert from "node:assert/strict";
import { boatOptions } from "../../cli/settings/boat_options.ts";
import { flattenConfig, parseHocon } from "../../cli/settings/hocon.ts";
import { resolveSettings } from "../../cli/settings/options.ts";
import { readSlots } from "../../cli/settings/slots.ts";
import { needs } from "../support/needs.ts";

/** The file's parser asks for the home directory. */
const HOCON = needs({ permissions: ["env", "read", "sys"] });

const SLOTS = `
clients.slots = [
  {
    id = pilot
    buffer-timeout = PT10M
    filter { pgn = [127250, "127245"], exclude-name = "0x00A1B2C3D4E5F607", manufacturer = Garmin, instance = 0 }
  }
  { id = logger_1, buffer-timeout = 1h, filter { name = [a1, 22], bus = [can0, can1], exclude-pgn = 60928 } }
  { id = "7", buffer-timeout = 250ms }
]
`;

async function read(text: string) {
  const { values, unknown } = flattenConfig(await parseHocon(text), boatOptions);
  assert.deepEqual(unknown, []);
  return resolveSettings(boatOptions, { config: values });
}

Deno.test("slots of the configuration file become sessions, one value as good as a list of one", HOCON, async () => {
  const { settings } = await read(SLOTS);
  assert.deepEqual(settings?.slots, [
    {
      id: "pilot",
      timeoutMs: 600_000,
      filter: {
        pgn: [127250, 127245],
        manufacturer: ["Garmin"],
        instance: [0],
        exclude_name: ["0x00A1B2C3D4E5F607"],
      },
    },
    {
      id: "logger_1",
      timeoutMs: 3_600_000,
      filter: { exclude_pgn: [60928], name: ["a1", "22"], bus: ["can0", "can1"] },
    },
    { id: "7", timeoutMs: 250, filter: {} },
  ]);
  assert.equal(boatOptions.slots.format(settings.slots), "pilot,logger_1,7");
  assert.equal((await read("clients.slots { id = one, buffer-timeout = 5m }")).settings?.slots.length, 1);
});

Deno.test("null in a slot's filter means left out, as when a session is created", () => {
  const read = (filter: unknown) =>
    readSlots([{ id: "a", buffer_timeout: "5m", filter }], { path: "slots", joint: "_" })[0]?.filter;
  assert.deepEqual(read(null), {});
  assert.deepEqual(read({ pgn: null, exclude_name: null, bus: ["can0"] }), { bus: ["can0"] });
});

const SLOT = { id: "a", "buffer-timeout": "5m" };

/** [what is wrong, slots, words of the message] */
const BAD: [what: string, value: unknown, message: RegExp][] = [
  ["no section", ["a"], /^clients\.slots\[0\]: expected a section with id, buffer-timeout, filter$/],
  ["no id", [SLOT, { "buffer-timeout": "5m" }], /^clients\.slots\[1\]\.id: missing$/],
  ["a bad id", [{ ...SLOT, id: "a b" }], /^clients\.slots\[0\]\.id: cannot use "a b": expected 1 to 64/],
  ["an id twice", [SLOT, SLOT], /^clients\.slots: the id "a" is given twice$/],
  ["no timeout", [{ id: "a" }], /^clients\.slots\[0\]\.buffer-timeout: missing$/],
  ["a timeout of zero", [{ ...SLOT, "buffer-timeout": 0 }], /buffer-timeout: must be longer than nothing$/],
  ["a bad timeout", [{ ...SLOT, "buffer-timeout": "soon" }], /buffer-timeout: Cannot read the duration "soon"/],
  ["an unknown key", [{ ...SLOT, filtre: {} }], /^clients\.slots\[0\]: unknown key "filtre": did you mean "filter"\?$/],
  [
    "a snake",
    [{ ...SLOT, filter: { exclude_pgn: 1 } }],
    /filter: unknown key "exclude_pgn": did you mean "exclude-pgn"/,
  ],
  ["a bad PGN", [{ ...SLOT, filter: { pgn: ["x"] } }], /\[0\]\.filter\.pgn: cannot read "x": expected a whole number/],
  ["a large instance", [{ ...SLOT, filter: { instance: 253 } }], /filter\.instance: cannot read "253".* 0 to 252$/],
  ["a bad NAME", [{ ...SLOT, filter: { name: "xyz" } }], /filter\.name: cannot read the NAME "xyz"/],
  ["an empty bus", [{ ...SLOT, filter: { bus: "" } }], /filter\.bus: expected a text$/],
];

for (const [what, value, message] of BAD) {
  Deno.test(`a slot with ${what} is refused by its place`, () => {
    assert.throws(
      () => readSlots(value, { path: "clients.slots", joint: "-" }),
      (error) => error instanceof RangeError && message.test(error.message),
    );
  });
}

Deno.test("slots are a matter of the configuration file alone", () => {
  assert.deepEqual([boatOptions.slots.onCommandLine, boatOptions.slots.inEnvironment], [false, false]);
  assert.throws(() => boatOptions.slots.fromFlags(["[]"]), /only the configuration file/);
});

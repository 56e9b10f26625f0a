import assert from "node:assert/strict";
import {
  boundFilter,
  compileFilter,
  type Filter,
  type FilterDevice,
  FilterError,
  MAX_FILTER_ENTRIES,
} from "../../src/filter/mod.ts";
import { formatName } from "../../src/frame/mod.ts";
import { manufacturerCode } from "../../src/pgn/mod.ts";
import { naiveAccept } from "../support/naive_filter.ts";
import { Random } from "../support/random.ts";

const BUSES = ["can0", "can1"];
const PGNS = [127250, 129029, 126208];
const SOURCES = [0, 1, 5, 252, 253, 254];
const NAMES = [1n, 0x1fn, 0xc0788200_10e3b99fn, 2n ** 64n - 1n];
/** Texts that a client may write, and the code that each means. */
const MANUFACTURERS = new Map([["Garmin", 229], ["gArMiN", 229], ["229", 229], ["victron", 358], ["Airmar", 135]]);

function randomFilter(random: Random): Filter {
  const nameTexts = NAMES.flatMap((name) => [formatName(name), name.toString(16), name.toString(16).toUpperCase()]);
  const all: Required<Filter> = {
    pgn: random.some(PGNS),
    exclude_pgn: random.some(PGNS, 0.3),
    manufacturer: random.some([...MANUFACTURERS.keys(), "Nobody"], 0.4),
    instance: random.some([0, 1, 252]),
    name: random.some(nameTexts, 0.3),
    exclude_name: random.some(nameTexts, 0.1),
    bus: random.some([...BUSES, "can9"]),
  };
  return Object.fromEntries(Object.entries(all).filter(() => random.chance(0.35)));
}

function randomDevice(random: Random): FilterDevice {
  return {
    bus: random.int(2),
    src: random.pick(SOURCES),
    name: random.pick(NAMES),
    manufacturerCode: random.pick([229, 358, 135, 2000]),
    deviceInstance: random.pick([0, 1, 7, 252]),
  };
}

Deno.test("a compiled filter decides every frame as the specification's rules do, whoever claims what and when", () => {
  const isManufacturer = (text: string, code: number) => MANUFACTURERS.get(text) === code;
  let yes = 0;
  let no = 0;
  for (let seed = 0; seed < 600; seed++) {
    const random = new Random(seed);
    const filter = randomFilter(random);
    const compiled = compileFilter(filter, { buses: BUSES, manufacturerCode });
    const claimed = new Map<string, FilterDevice>();
    for (let step = 0; step < 8; step++) {
      for (const [bus] of BUSES.entries()) {
        for (const src of SOURCES) {
          const device = claimed.get(`${bus}/${src}`);
          for (const pgn of PGNS) {
            const expected = naiveAccept(filter, { bus, src, pgn }, { buses: BUSES, device, isManufacturer });
            expected ? yes++ : no++;
            if (compiled.accept(bus, src, pgn) === expected) continue;
            assert.fail(`seed ${seed}: ${JSON.stringify(filter)} on ${bus}/${src} ${pgn}: expected ${expected}`);
          }
        }
      }
      const device = randomDevice(random);
      claimed.set(`${device.bus}/${device.src}`, device);
      compiled.learn(device);
    }
  }
  assert.ok(yes > 10_000 && no > 10_000, `one-sided: ${yes} accepted, ${no} refused`);
});

const FULL = Array.from({ length: MAX_FILTER_ENTRIES }, (_, index) => index);

function refusedField(filter: Filter): string | undefined {
  try {
    boundFilter(filter);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof FilterError);
    return error.field;
  }
}

Deno.test("a filter has at most 256 entries in all its lists, and the list that passes them is named", () => {
  assert.deepEqual(boundFilter({ pgn: FULL }), { pgn: FULL });
  assert.equal(refusedField({ pgn: [...FULL, 256] }), "pgn");
  assert.equal(refusedField({ pgn: FULL, bus: ["can0"] }), "bus");
  assert.equal(refusedField({ pgn: FULL.slice(56), instance: FULL.slice(0, 57) }), "instance");
  assert.equal(refusedField({ exclude_name: FULL.map((id) => id.toString(16)), name: ["1"] }), "exclude_name");
});

Deno.test("an entry that says the same again is left out and does not count", () => {
  const twice = { pgn: [...FULL, ...FULL, 7] };
  assert.deepEqual(boundFilter(twice), { pgn: FULL });
  assert.deepEqual(
    boundFilter({
      pgn: [],
      manufacturer: ["Garmin", "GARMIN", "229", "garmin"],
      name: ["0x0A", "a", "A", "000000000000000a", "b"],
      bus: ["can0", "CAN0", "can0"],
    }),
    { pgn: [], manufacturer: ["Garmin", "229"], name: ["0x0A", "b"], bus: ["can0", "CAN0"] },
  );
});

Deno.test("a text in a filter has at most 128 characters", () => {
  assert.equal(refusedField({ manufacturer: ["m".repeat(128)] }), undefined);
  assert.equal(refusedField({ manufacturer: ["m".repeat(129)] }), "manufacturer");
  assert.equal(refusedField({ bus: ["can0", "b".repeat(129)] }), "bus");
});

import { MAX_SENTENCE_CHARS, numberField, textField } from "./line.ts";
import type { SentenceRow } from "./sentence.ts";
import { BAR, CELSIUS, DEGREES } from "./units.ts";
import type { SentenceValues } from "./values.ts";

/** Transducers of XDR: quantity → type, unit and name. `#` of a name is the instance. */
const TRANSDUCERS: readonly {
  key: RegExp;
  type: string;
  unit: string;
  name: (groups: readonly string[]) => string;
  number?: { factor?: number; offset?: number; digits?: number };
}[] = [
  { key: /^pitch$/, type: "A", unit: "D", name: () => "PTCH", number: { factor: DEGREES } },
  { key: /^roll$/, type: "A", unit: "D", name: () => "ROLL", number: { factor: DEGREES } },
  {
    key: /^pressure\.atmospheric\.0$/,
    type: "P",
    unit: "B",
    name: () => "Barometer",
    number: { factor: BAR, digits: 5 },
  },
  { key: /^temperature\.outside\.0$/, type: "C", unit: "C", name: () => "TempAir", number: CELSIUS },
  { key: /^temperature\.sea\.0$/, type: "C", unit: "C", name: () => "TempWater", number: CELSIUS },
  {
    key: /^temperature\.((?!outside\.0|sea\.0)\w+)\.(\w+)$/,
    type: "C",
    unit: "C",
    name: ([source = "", instance]) => `${source.toUpperCase()}#${instance}`,
    number: CELSIUS,
  },
  {
    key: /^humidity\.(\w+)\.(\w+)$/,
    type: "H",
    unit: "P",
    name: ([source = "", instance]) => `${source.toUpperCase()}#${instance}`,
  },
  {
    key: /^battery\.(\w+)\.voltage$/,
    type: "U",
    unit: "V",
    name: ([instance]) => `BATTERY#${instance}`,
    number: { digits: 2 },
  },
  { key: /^battery\.(\w+)\.current$/, type: "I", unit: "A", name: ([instance]) => `BATTERY#${instance}` },
  {
    key: /^battery\.(\w+)\.charge$/,
    type: "V",
    unit: "P",
    name: ([instance]) => `BATTERY#${instance}`,
    number: { digits: 0 },
  },
  {
    key: /^tank\.(\w+)\.(\w+)\.level$/,
    type: "V",
    unit: "P",
    name: ([fluid = "", instance]) => `${FLUIDS[fluid] ?? fluid.toUpperCase()}#${instance}`,
  },
  {
    key: /^engine\.(\w+)\.temperature$/,
    type: "C",
    unit: "C",
    name: ([engine]) => `ENGINE#${engine}`,
    number: CELSIUS,
  },
  {
    key: /^engine\.(\w+)\.oil_pressure$/,
    type: "P",
    unit: "P",
    name: ([engine]) => `ENGINEOIL#${engine}`,
    number: { digits: 0 },
  },
  {
    key: /^engine\.(\w+)\.alternator$/,
    type: "U",
    unit: "V",
    name: ([engine]) => `ALTERNATOR#${engine}`,
    number: { digits: 2 },
  },
];

/** Names of tanks in NMEA 0183 4.11 by those of ours. */
const FLUIDS: Readonly<Record<string, string>> = {
  fuel: "FUEL",
  water: "FRESHWATER",
  gray_water: "WASTEWATER",
  live_well: "LIVEWELLWATER",
  oil: "OIL",
  black_water: "BLACKWATER",
};
const MAX_NAME_CHARS = 20;
/** `$`, talker, `XDR`, checksum and line end. */
const XDR_FRAME_CHARS = 11;

/** Transducers in as few lines as fit. */
function xdr(values: SentenceValues): string[][] {
  const lines: string[][] = [];
  let used = MAX_SENTENCE_CHARS;
  for (const { key, type, unit, name, number } of TRANSDUCERS) {
    for (const { groups, value } of values.matching(key)) {
      const four = [type, numberField(value, number), unit, textField(name(groups), MAX_NAME_CHARS)];
      const chars = four.join(",").length + 1;
      used += chars;
      if (used > MAX_SENTENCE_CHARS) {
        lines.push([]);
        used = XDR_FRAME_CHARS + chars;
      }
      lines.at(-1)?.push(...four);
    }
  }
  return lines;
}

const ENGINE_SPEED = /^engine\.(\d+)\.speed$/;

/** Engines are numbered from the centre: 0 a single one, odd numbers starboard, even ones port. */
function rpm(values: SentenceValues): string[][] {
  // An engine that falls silent does not change the number of the other one.
  const count = values.countKnown(ENGINE_SPEED);
  return values.matching(ENGINE_SPEED).map(({ groups: [instance], value }) => {
    const index = Number(instance);
    const number = count === 1 && index === 0 ? 0 : index % 2 === 1 ? index : index + 2;
    return ["E", String(number), numberField(value), "", "A"];
  });
}

/** Angle of a rudder, and whether there is one. */
function rudderFields(angle: number | undefined): string[] {
  return [numberField(angle, { factor: DEGREES }), angle === undefined ? "V" : "A"];
}

/** Sentences of engines, rudders, batteries, tanks and other sensors. */
export const MACHINERY_SENTENCES: readonly SentenceRow[] = [
  { id: "XDR", talker: "II", lines: xdr },
  { id: "RPM", talker: "II", lines: rpm },
  {
    id: "RSA",
    talker: "II",
    lines: (values) => {
      const [first, second] = [values.number("rudder.0"), values.number("rudder.1")];
      return first === undefined && second === undefined ? [] : [[...rudderFields(first), ...rudderFields(second)]];
    },
  },
];

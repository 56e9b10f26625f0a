import { decode, type Decoded } from "@vessel/gateway/pgn";

/** A recorded payload that the page shows. */
interface Example {
  pgn: number;
  title: string;
  hex: string;
}

/** Out of canboat's sample recordings (Apache-2.0), but for the one that says so. */
const EXAMPLES: readonly Example[] = [
  {
    pgn: 129029,
    title: "position of a GNSS receiver",
    hex: "ff845090edfb03c0f228385224f4020066c075304b18ead78a43010000000024fc1a320046004a01000000",
  },
  {
    pgn: 129540,
    title: "satellites in view",
    hex: "ffff0c017b3469349411ffffff7ff50272253a5d9411ffffff7ff503431edb009411ffffff7ff504062efebac012ffffff7f" +
      "f5070f00c96d3c0fffffff7ff40807084b78d80effffff7ff509a7023c243c0fffffff7ff413af04b6d6e40cffffff7ff51c" +
      "a106911da00fffffff7ff51f7d14912b3011ffffff7ff52e0b20dc533011ffffff7ff530ff1d21513011ffffff7ff5",
  },
  {
    pgn: 129038,
    title: "AIS position report of a ship",
    hex: "0190633b1205322afff4e97a1bd8f943e8011e8801d04200002000ff",
  },
  {
    pgn: 126208,
    title: "request: a chart plotter asks a Raymarine pilot for one of its settings",
    hex: "0000ef01ffffffffffff04013b070304046c051a50",
  },
  {
    pgn: 126208,
    title: "command: set the installation description",
    hex: "0116f001ff01020e0159443a564f4c554d45203630",
  },
  {
    pgn: 126208,
    title: "command to a proprietary PGN: the first parameter says whose layout it is",
    hex: "0107ff00f804018798040105010778563412",
  },
  { pgn: 126208, title: "acknowledge: an error code of four bits for each parameter", hex: "0207ff0000040000" },
  { pgn: 126720, title: "proprietary: a Raymarine pilot tells its state", hex: "3b9ff081845655554000fb0205" },
  {
    pgn: 130820,
    title: "proprietary: the tuner of a Fusion radio",
    hex: "a3990b80010200c63e05c7084156524f54524f53",
  },
  {
    pgn: 61184,
    title: "proprietary: a register of a Victron device, without a known name",
    hex: "66990220f8040000",
  },
  { pgn: 61184, title: "the same with a name (this one is made up)", hex: "66998fed21000000" },
];

/** The JSON text in lines of a readable length: one for each field and each element of a list. */
function lines(value: Decoded | undefined): string {
  const fields = Object.entries(value ?? {}).map(([name, field]) => {
    const list = Array.isArray(field) && field.map((each) => `\n    ${JSON.stringify(each)}`);
    return `  ${JSON.stringify(name)}: ${list ? `[${list.join(",")}\n  ]` : JSON.stringify(field)}`;
  });
  return `{\n${fields.join(",\n")}\n}`;
}

function show({ pgn, title, hex }: Example): string {
  return `### ${pgn}: ${title}

\`${hex}\`

\`\`\`json
${lines(decode(pgn, Uint8Array.fromHex(hex)))}
\`\`\`
`;
}

/** The page `docs/decoding.md`. */
export function decodingPage(): string {
  return `<!-- Printed by scripts/docs.ts; the examples are decoded when it is printed. Do not edit. -->

# Decoded payloads

\`decode=true\` on \`/events\` and \`/ws\` adds \`decoded\` to each frame, \`/values/decoded\` to each value. \`/pgns\` lists every
PGN that is known, \`/pgns/130306\` the fields of one: names, units, ranges, labels.

- Names are snake_case. Values are exact, in SI units or in the unit that \`/pgns/{pgn}\` names: radians, kelvin, pascal,
  metres per second, seconds, but rpm, litres per hour, ampere hours; positions in degrees, percentages in %.
- \`null\`: the sender says "not available", or the payload ended before the field (it is read as if ones followed, so
  that single bits are 1 then, and the states of switches 3).
- A field whose values have names gives the name, or the number where it has none. Registers are \`{"id", "name"}\`,
  sets of bits a list of names.
- Some codes stay numbers, as clients know them (\`fluid_type\`, \`time_source\`, \`device_class\`). \`labels=true\` on
  \`/events\`, \`/ws\`, \`/values/decoded\`, \`/history\`, \`/devices\` and the events of a session adds a \`labels\` object with
  what they mean, under the same names: \`"labels":{"fluid_type":"Water"}\`. \`vbg\` shows people the labels.
- A list without entries is left out. Reserved bits are never shown.
- Bytes are hex digits; numbers of 64 bits, and NAMEs, are \`0x\` and 16 of them.
- Days since 1970 and seconds since midnight are numbers in the PGNs that clients know by their own names
  (\`days_since_1970\`, \`seconds_today\`), ISO 8601 texts in all others.
- No \`decoded\`: nobody has described the PGN, or not this maker's layout of it.

What canboat knows is generated from its database; \`src/pgn/overlay\` holds what clients know by other names, what canboat
lacks, and corrections, each with its reason.

## Examples

Out of real recordings (canboat's samples, Apache-2.0).

${EXAMPLES.map(show).join("\n")}`;
}

import { decode, type Decoded } from "@vessel/gateway/pgn";

/** A recorded payload shown on the page. */
interface Example {
  pgn: number;
  title: string;
  hex: string;
}

/** From canboat's sample recordings (Apache-2.0), except one that is marked. */
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
    title: "request: a chart plotter requests a setting of a Raymarine pilot",
    hex: "0000ef01ffffffffffff04013b070304046c051a50",
  },
  {
    pgn: 126208,
    title: "command: set the installation description",
    hex: "0116f001ff01020e0159443a564f4c554d45203630",
  },
  {
    pgn: 126208,
    title: "command to a proprietary PGN: the first parameter is the manufacturer",
    hex: "0107ff00f804018798040105010778563412",
  },
  { pgn: 126208, title: "acknowledge: an error code of four bits for each parameter", hex: "0207ff0000040000" },
  { pgn: 126720, title: "proprietary: state of a Raymarine pilot", hex: "3b9ff081845655554000fb0205" },
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
  { pgn: 61184, title: "proprietary: a register with a known name (not recorded)", hex: "66998fed21000000" },
];

/** Formats JSON with one line for each field and each element of a list. */
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
known PGN, \`/pgns/130306\` the fields of one: names, units, ranges, labels.

- Names are snake_case. Values are exact, in SI units or in the unit that \`/pgns/{pgn}\` names: radians, kelvin, pascal,
  metres per second, seconds, but rpm, litres per hour, ampere hours; positions in degrees, percentages in %.
- \`null\`: the value is "not available", or the payload ends before the field; a text is empty then. Missing bytes are
  read as ones: missing single bits are 1, missing states of switches 3.
- A code is decoded as its label, or as its number if it has none. Registers are \`{"id", "name"}\`, sets of bits a list
  of labels.
- Some codes remain numbers, which existing clients expect (\`fluid_type\`, \`time_source\`, \`device_class\`). \`labels=true\` on
  \`/events\`, \`/ws\`, \`/values/decoded\`, \`/history\`, \`/devices\` and the events of a session adds a \`labels\` object with
  their labels, under the same names: \`"labels":{"fluid_type":"Water"}\`. \`vbg\` shows the labels.
- An empty list is omitted. Reserved bits are never shown.
- Bytes are hex digits; numbers of 64 bits, and NAMEs, are \`0x\` and 16 hex digits.
- Days since 1970 and seconds since midnight are numbers in PGNs with the field names of existing clients
  (\`days_since_1970\`, \`seconds_today\`), ISO 8601 texts in all others.
- Without \`decoded\`: the PGN is unknown, or this manufacturer's layout of it.

Definitions are generated from canboat's database; \`src/pgn/overlay\` has the field names that existing clients use, layouts
that canboat lacks, and corrections, each with its reason.

## Examples

From recordings (canboat's samples, Apache-2.0).

${EXAMPLES.map(show).join("\n")}`;
}

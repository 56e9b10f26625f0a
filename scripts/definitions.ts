// Converts the database of the pinned npm package @canboat/ts-pgns to src/pgn/definitions.gen.json: layouts, framing,
// intervals and labels. `--check` only compares the committed file with the package.

import { type Canboat, type CanboatPgn, readCanboat } from "./definitions/canboat.ts";
import { keySpec } from "./definitions/fields.ts";
import { layoutOf } from "./definitions/layouts.ts";

const TARGET = new URL("../src/pgn/definitions.gen.json", import.meta.url);

/** The generated file. Layouts and tables are JSON texts within it, so that only those in use are parsed. */
export async function generateDefinitions(): Promise<string> {
  const canboat = await readCanboat();
  const byPgn = Map.groupBy(canboat.PGNs.filter(({ Fallback }) => !Fallback), ({ PGN }) => PGN);
  const pgns = [...byPgn].sort(([a], [b]) => a - b).map(([, layouts]) => pgnRow(layouts));
  const rows = (values: unknown[]) => "[\n" + values.map((value) => "  " + JSON.stringify(value)).join(",\n") + "\n ]";
  return `{
 "source": ${JSON.stringify(`canboat ${canboat.Version} by npm @canboat/ts-pgns, Apache-2.0`)},
 "pgns": ${rows(pgns)},
 "tables": ${rows(tables(canboat))},
 "indirect": ${rows(indirectTables(canboat))},
 "keys": ${rows(keyTables(canboat))}
}
`;
}

type Row = [name: string, text: string];

function pgnRow(layouts: CanboatPgn[]): [number, string, string, number | null, string] {
  const [first, ...others] = layouts;
  if (first === undefined) throw new Error("a PGN without a layout");
  const { PGN, Type, Description: description, TransmissionInterval = null } = first;
  if (others.some((each) => each.Type !== Type)) throw new Error(`PGN ${PGN} travels in two ways`);
  const agreed = others.every((each) => (each.TransmissionInterval ?? null) === TransmissionInterval);
  const interval = agreed ? TransmissionInterval : null;
  const text = JSON.stringify(layouts.map((each) => layoutOf(each, { description, interval })));
  return [PGN, Type.toLowerCase(), description, interval, text];
}

function tables({ LookupEnumerations, LookupBitEnumerations }: Canboat): Row[] {
  const rows = [
    ...LookupEnumerations.map(({ Name, EnumValues }) =>
      tableRow(Name, EnumValues.map((each) => [each.Value, each.Name]))
    ),
    ...LookupBitEnumerations.map(({ Name, EnumBitValues }) =>
      tableRow(Name, EnumBitValues.map((each) => [each.Bit, each.Name]))
    ),
  ];
  if (new Set(rows.map(([name]) => name)).size !== rows.length) throw new Error("two tables have one name");
  return rows;
}

function indirectTables({ LookupIndirectEnumerations }: Canboat): Row[] {
  return LookupIndirectEnumerations.map(({ Name, EnumValues }) => {
    const byCode = Map.groupBy(EnumValues, ({ Value1 }) => Value1);
    const labels = ([code, values]: [number, typeof EnumValues]): [number, unknown] => [
      code,
      Object.fromEntries(values.map((each) => [each.Value2, each.Name])),
    ];
    return tableRow(Name, [...byCode].map(labels));
  });
}

function keyTables({ LookupFieldTypeEnumerations }: Canboat): Row[] {
  return LookupFieldTypeEnumerations.map(({ Name, EnumFieldTypeValues }) =>
    tableRow(Name, EnumFieldTypeValues.map((each) => [each.value, keySpec(each)]))
  );
}

function tableRow(name: string, entries: [number, unknown][]): Row {
  return [name, JSON.stringify(Object.fromEntries(entries))];
}

if (import.meta.main) {
  const text = await generateDefinitions();
  if (Deno.args.includes("--check")) {
    const same = text === await Deno.readTextFile(TARGET);
    if (!same) console.error("src/pgn/definitions.gen.json is stale: run deno task definitions");
    Deno.exit(same ? 0 : 1);
  }
  await Deno.writeTextFile(TARGET, text);
  console.log("wrote src/pgn/definitions.gen.json");
}

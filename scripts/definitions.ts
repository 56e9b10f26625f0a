// Turns the pinned npm package @canboat/ts-pgns into the compact src/pgn/definitions.gen.json: names, framing, rates
// and labels, no prose. `--check` only says whether the committed file is what the package gives.

const TARGET = new URL("../src/pgn/definitions.gen.json", import.meta.url);

interface CanboatLookup {
  Name: string;
  EnumValues?: { Name: string; Value: number }[];
}
interface CanboatPgn {
  PGN: number;
  Type: string;
  Description: string;
  Fallback?: boolean;
  TransmissionInterval?: number;
}
interface Canboat {
  SchemaVersion: string;
  Version: string;
  PGNs: CanboatPgn[];
  LookupEnumerations: CanboatLookup[];
}

/** Reads the canboat database out of the installed package. */
async function readCanboat(): Promise<Canboat> {
  const url = new URL("../canboat.json", import.meta.resolve("@canboat/ts-pgns"));
  return JSON.parse(await Deno.readTextFile(url));
}

/** The text of the generated file. */
export async function generateDefinitions(): Promise<string> {
  const canboat = await readCanboat();
  const pgns = new Map<number, [number, string, string, number | null]>();
  for (const { PGN, Type, Description, Fallback, TransmissionInterval } of canboat.PGNs) {
    if (Fallback || pgns.has(PGN)) continue;
    pgns.set(PGN, [PGN, Type.toLowerCase(), Description, TransmissionInterval ?? null]);
  }
  const codes = canboat.LookupEnumerations.find((each) => each.Name === "MANUFACTURER_CODE")?.EnumValues ?? [];
  const rows = (values: unknown[]) => "[\n" + values.map((value) => "  " + JSON.stringify(value)).join(",\n") + "\n ]";
  return `{
 "source": ${JSON.stringify(`canboat ${canboat.Version} by npm @canboat/ts-pgns, Apache-2.0`)},
 "pgns": ${rows([...pgns.values()].sort((a, b) => a[0] - b[0]))},
 "manufacturers": ${rows(codes.map(({ Value, Name }) => [Value, Name]))}
}
`;
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

import assert from "node:assert/strict";
import { decodeAsCanboat } from "../../src/pgn/mod.ts";
import { canboatId } from "../../src/pgn/canboat.ts";
import type { Decoded } from "../../src/pgn/spec.ts";
import { snakeCase } from "../../scripts/definitions/fields.ts";
import { agrees, type AnalyzedFields, readAnalyzed } from "../support/analyzer.ts";
import { needs } from "../support/needs.ts";

const READ = needs({ permissions: ["read"] });

/** How many fields differ, by PGN, and why. */
const DIFFERENCES: Readonly<Record<number, readonly [count: number, why: string]>> = {
  60928: [1, "the database of the package is older: another name of the manufacturer"],
  61184: [2, "a layout of the overlay is not canboat's"],
  65294: [3, "the database of the package is older: another name of the manufacturer"],
  65301: [2, "the database of the package is older: another name of the manufacturer"],
  65304: [3, "the database of the package is older: another name of the manufacturer"],
  126208: [3, "parameters beyond the fields of the commanded PGN"],
  126993: [20, "the database of the package is older: another resolution"],
  126998: [2, "texts end at 0xFF"],
  127493: [1, "no bit is null for the analyzer"],
  127503: [37, "payloads that end within a set"],
  127507: [5, "the analyzer does not print the reserved value"],
  129038: [1, "a payload that ends within the field"],
  129039: [4, "payloads that end within the field"],
  129285: [1, "all ones are a valid count"],
  129540: [1, "a payload that ends within a set"],
  129793: [4, "payloads that end within the field"],
  129805: [1, "a payload that ends within a set"],
  130323: [15, "payloads of another message, not put together"],
  130330: [3, "a payload of another message, not put together"],
  130817: [19, "the database of the package is older: another name of the manufacturer"],
  130823: [4, "the length of an entry counts three bytes in front of its value"],
  130828: [6, "the database of the package is older: another name of the manufacturer"],
  130829: [1, "the upper four bits of a byte are one hex digit after a zero for us"],
  130845: [1, "all ones is null after a key, too"],
};

/** Each field of the analyzer beside ours, the sets of lists included. */
function* pairsOf(theirs: AnalyzedFields, ours: Decoded): Generator<[theirs: AnalyzedFields[string], ours: unknown]> {
  for (const [id, value] of Object.entries(theirs)) {
    const own = ours[id];
    if (/^(reserved|spare)\d*$/.test(id)) continue;
    if (!/^list2?$/.test(id) || !Array.isArray(value)) yield [value, own];
    else {
      for (const [index, set] of value.entries()) {
        yield* pairsOf(set as AnalyzedFields, (Array.isArray(own) ? own[index] ?? {} : {}) as Decoded);
      }
    }
  }
}

Deno.test("fields in canboat's words are those that its analyzer prints, by id and value", READ, async () => {
  const differences: Record<number, number> = {};
  let same = 0;
  // The analyzer gives a payload without a definition to a catch-all.
  for (const { pgn, hex, fields } of (await readAnalyzed()).filter(({ id }) => !id.startsWith("0x"))) {
    const ours = decodeAsCanboat(pgn, Uint8Array.fromHex(hex)).fields;
    for (const [theirs, own] of pairsOf(fields, ours)) {
      if (agrees(theirs, own, () => undefined)) same++;
      else differences[pgn] = (differences[pgn] ?? 0) + 1;
    }
  }
  assert.ok(same > 11_000, `${same}`);
  const known = Object.entries(DIFFERENCES).map(([pgn, [count]]) => [pgn, count]);
  assert.deepEqual(differences, Object.fromEntries(known));
});

Deno.test("ids, dates and bytes are written as canboat does; what is not available is left out", () => {
  assert.deepEqual(decodeAsCanboat(130306, Uint8Array.fromHex("e6d1000878faffff")), {
    description: "Wind Data",
    fields: { sid: 230, windSpeed: 2.09, windAngle: 3.0728, reference: "Apparent" },
  });
  assert.deepEqual(decodeAsCanboat(130306, Uint8Array.fromHex("ffffffffffffffff")).fields, {});
  const position = "ff845090edfb03c0f228385224f4020066c075304b18ead78a43010000000024fc1a320046004a01000000";
  const { date, time } = decodeAsCanboat(129029, Uint8Array.fromHex(position)).fields;
  assert.deepEqual([date, time], ["2026.06.08", "01:51:24.2"]);
  assert.deepEqual(decodeAsCanboat(131000, Uint8Array.of(1, 0xab)), {
    description: "Unknown PGN",
    fields: { data: "01 AB" },
  });
});

Deno.test("every id of canboat that begins in lower case is made of our name again", READ, async () => {
  const url = new URL("../canboat.json", import.meta.resolve("@canboat/ts-pgns"));
  const { PGNs }: { PGNs: { Fields: { Id: string }[] }[] } = JSON.parse(await Deno.readTextFile(url));
  const ids = new Set(PGNs.flatMap(({ Fields }) => Fields.map(({ Id }) => Id)).filter((id) => /^[a-z]/.test(id)));
  assert.ok(ids.size > 1000);
  assert.deepEqual([...ids].filter((id) => canboatId(snakeCase(id)) !== id && !/^(reserved|spare)/.test(id)), []);
});

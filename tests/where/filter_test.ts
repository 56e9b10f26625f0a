import assert from "node:assert/strict";
import type { Filter } from "../../src/filter/mod.ts";
import { parseWhere } from "../support/where.ts";

const NAME = "0xc07891001cb260c1";

Deno.test("where: the filter of a server has the PGNs and senders that every matching frame has", () => {
  const filters: Record<string, Filter> = {
    "pgn == 127250": { pgn: [127250] },
    "pgn == 0x1F112 and heading > 90 deg": { pgn: [127250] },
    "(pgn == 127250 or pgn == 127251) and (src == 3 or dst == 3)": { pgn: [127250, 127251] },
    "pgn in [127488, 127489, 127489] and pgn in [127489, 127490]": { pgn: [127489] },
    "pgn == 127250 and not src == 3": { pgn: [127250] },
    [`pgn in [127488, 127489] and src.name == "${NAME}" && src == 3`]: { pgn: [127488, 127489], name: [NAME] },
    [`src.name in ["C07891001CB260C1", "1"]`]: { name: [NAME, "0x0000000000000001"] },
    [`src.name == "${NAME}" or pgn == 127250`]: {},
    [`pgn in [${Array.from({ length: 256 }, (_, pgn) => pgn)}]`]: { pgn: Array.from({ length: 256 }, (_, pgn) => pgn) },
  };
  for (const [expression, filter] of Object.entries(filters)) {
    assert.deepEqual(parseWhere(expression).filter, filter, expression);
  }
});

Deno.test("where: a server does not filter where it would exclude frames that match, or cannot", () => {
  const unfiltered = [
    "pgn == 127250 or src == 3",
    "not pgn == 127250",
    "not (pgn == 127250 and src == 3)",
    "pgn not in [127250]",
    "pgn != 127250",
    "pgn > 127250",
    "pgn == 1.5",
    "pgn == -1",
    "pgn == 127250 and pgn == 127251",
    'src.model_id == "a and pgn == 127250 and b"',
    `dst.name == "${NAME}"`,
    `src.name contains "${NAME}"`,
    'src.name == "no name"',
    `src.name in ["${NAME}", "no name"]`,
    "decoded.pgn == 127250",
    `pgn in [${Array.from({ length: 257 }, (_, pgn) => pgn)}]`,
  ];
  for (const expression of unfiltered) assert.deepEqual(parseWhere(expression).filter, {}, expression);
});

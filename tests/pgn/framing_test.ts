import assert from "node:assert/strict";
import { type Framing, framingOf, isFastPacket } from "../../src/pgn/mod.ts";
import { FRAMING_CORRECTIONS } from "../../src/pgn/overlay.ts";
import definitions from "../../src/pgn/definitions.gen.json" with { type: "json" };

function expectAll(pgns: number[], framing: Framing): void {
  for (const pgn of pgns) assert.equal(framingOf(pgn), framing, `PGN ${pgn}`);
}

Deno.test("the PGNs that NMEA 2000 sends in one frame are single", () => {
  expectAll(
    [59392, 59904, 60160, 60416, 60928, 61184, 126992, 126993, 127245, 127250, 127251, 127257, 127488],
    "single",
  );
  expectAll([127505, 127508, 128259, 128267, 129025, 129026, 129539, 130306, 130310, 130311, 130312, 130314], "single");
});

Deno.test("the PGNs that NMEA 2000 sends as fast packets are fast", () => {
  expectAll([126208, 126464, 126720, 126996, 126998, 127489, 127506, 127513, 128275, 129029, 129038, 129039], "fast");
  expectAll([129284, 129540, 129793, 129794, 129809, 129810, 130060, 130074, 130323, 130577], "fast");
});

Deno.test("the PGNs that the peer shreds or takes for single frames are fast", () => {
  expectAll([127233, 127237, 127497, 127498, 127507, 130569, 130570, 130571, 130572, 130573], "fast");
  expectAll([127490, 127491, 127494, 127495, 127496, 127503, 127504, 127511, 127512, 127514, 128520, 128538], "fast");
  expectAll([129556, 130320, 130321, 130322, 130324, 130329, 130330, 130561, 130566, 130574], "fast");
});

Deno.test("PGNs that only newer canboat definitions describe are fast", () => {
  expectAll([129811, 129812, 129813, 129814, 129815, 129816, 130568, 130575], "fast");
});

Deno.test("127510, which real devices send both ways, is either and not simply a fast packet", () => {
  assert.equal(framingOf(127510), "either");
  assert.equal(isFastPacket(127510), false);
});

Deno.test("RV-C PGNs of WS500 regulators are single, also inside the proprietary fast range", () => {
  expectAll([130723, 130762, 130969, 131015], "single");
});

Deno.test("a PGN that goes by ISO transport is no fast packet", () => {
  assert.equal(framingOf(65240), "single");
});

Deno.test("PGNs that nobody has described go by their range", () => {
  const known = new Set(definitions.pgns.map(([pgn]) => Number(pgn)));
  const byRange: [number, number, Framing][] = [
    [0x00000, 0x1ecff, "single"],
    [0x1ed00, 0x1efff, "fast"],
    [0x1f000, 0x1feff, "single"],
    [0x1ff00, 0x1ffff, "fast"],
    [0x20000, 0x3ffff, "single"],
  ];
  const corrected = new Set(FRAMING_CORRECTIONS.flatMap(({ pgns }) => pgns));
  for (const [from, to, framing] of byRange) {
    for (let pgn = from; pgn <= to; pgn++) {
      if (!known.has(pgn) && !corrected.has(pgn)) assert.equal(framingOf(pgn), framing, `PGN ${pgn}`);
    }
  }
  const boundaries = [0x1ecff, 0x1ed01, 0x1efff, 0x1f001, 0x1feff, 0x1ffff, 0x20000, 130916];
  assert.ok(boundaries.every((pgn) => !known.has(pgn)), "a boundary is described: take another");
  assert.deepEqual(boundaries.map(framingOf), [
    "single",
    "fast",
    "fast",
    "single",
    "single",
    "fast",
    "single",
    "fast",
  ]);
});

Deno.test("every definition but the corrected ones decides its PGN's framing", () => {
  const corrected = new Set(FRAMING_CORRECTIONS.flatMap(({ pgns }) => pgns));
  for (const [pgn, type] of definitions.pgns) {
    if (corrected.has(Number(pgn))) continue;
    assert.equal(framingOf(Number(pgn)), type === "fast" ? "fast" : "single", `PGN ${pgn}`);
  }
});

import assert from "node:assert/strict";
import newest from "../data/canboat_8_ids.json" with { type: "json" };
import definitions from "../../src/pgn/definitions.gen.json" with { type: "json" };
import { matchesPayload } from "../../src/pgn/interpret.ts";
import { decode } from "../../src/pgn/mod.ts";
import { type Definition, definitionsOf, isGroup, type Item } from "../../src/pgn/model.ts";
import {
  KEY_ROWS,
  NEWER_LAYOUTS,
  NEWER_TABLES,
  NEWEST_LAYOUTS,
  NEWEST_TABLES,
  OVERLAY_DEFINITIONS,
} from "../../src/pgn/overlay.ts";
import type { DefinitionSpec, FieldSpec } from "../../src/pgn/spec.ts";
import { agrees, type Analyzed, type AnalyzedFields, readAnalyzed, snakeCase } from "../support/analyzer.ts";
import { allowed, needs } from "../support/needs.ts";

const reading = needs({ permissions: ["read"] });
const ANALYZED = allowed("read") ? await readAnalyzed() : [];
/** Commands that were not recorded: they differ from recorded ones in what tells them apart. */
const SIBLINGS = new Set([
  "simnetCommandApNodrift",
  "simnetCommandApWind",
  "simnetCommandApNav",
  "simnetCommandApTack",
  "simnetCommandApFollowUp",
]);
const SNAKE_CASE = /^[a-z0-9]+(?:_[a-z0-9]+)*$/;

function recordedOf({ pgn, id }: DefinitionSpec): Analyzed[] {
  return ANALYZED.filter((each) => each.pgn === pgn && each.id === id);
}

function titleOf({ pgn, id }: DefinitionSpec): string {
  return `${pgn} ${id}`;
}

function fieldsOf({ fields }: DefinitionSpec): FieldSpec[] {
  return fields.flatMap((item) => "group" in item ? item.fields : [item]);
}

type Same = (theirs: unknown, ours: unknown) => boolean;

/** The analyzer rounds to five decimals. */
const rounded: Same = (theirs, ours) => Math.abs(Number(theirs) - Number(ours)) <= 0.000_005_001;
/** What we do not say as the analyzer does, and what holds nevertheless. */
const OTHERWISE: Readonly<Record<string, Same>> = {
  "furunoSixDegreesOfFreedomMovement.roll_rate": rounded,
  "furunoSixDegreesOfFreedomMovement.pitch_rate": rounded,
  "furunoSixDegreesOfFreedomMovement.yaw_rate": rounded,
  // It shows the upper four bits of a byte where they stand.
  "mercuryEngineStatus.helm": (theirs, ours) => theirs === "F0" && ours === "0f",
  // It knows that some of these are numbers.
  "navicoDiagnosticData.value": (theirs, ours) =>
    theirs === Uint8Array.fromHex(String(ours)).reduceRight((sum, byte) => sum * 256 + byte, 0),
  // It subtracts three from the length of an entry; here an entry takes what there is.
  "navicoDataTypeSourceDirectory.list[1]": (_, ours) => ours === undefined,
  "navicoDataTypeSourceDirectory.value": (theirs, ours) =>
    String(ours).startsWith(String(theirs).replaceAll(" ", "").toLowerCase()),
  // It takes a value that is not there for a number.
  "simnetKeyValue.value": (theirs, ours) => theirs === -0.0001 && ours === null,
};

/** Fields of a payload that say something else than the analyzer. */
function* differences(id: string, theirs: AnalyzedFields, ours: unknown, items: readonly Item[]): Generator<string> {
  const record = typeof ours === "object" && ours !== null ? new Map(Object.entries(ours)) : new Map<string, unknown>();
  for (const [key, value] of Object.entries(theirs)) {
    if (/^(?:reserved|spare)\d*$/.test(key)) continue;
    const name = snakeCase(key);
    const [mine, item] = [record.get(name), items.find((each) => (isGroup(each) ? each.group : each.name) === name)];
    if (item === undefined) {
      yield `no field ${name}`;
    } else if (isGroup(item)) {
      for (const [index, each] of (Array.isArray(value) ? value : []).entries()) {
        const [entry, is] = [Array.isArray(mine) ? mine[index] : undefined, OTHERWISE[`${id}.${name}[${index}]`]];
        if (is?.(each, entry)) continue;
        assert.ok(typeof each === "object" && each !== null && !Array.isArray(each));
        yield* differences(id, each, entry, item.fields);
      }
    } else if (!agrees(value, mine, (label) => item.labels?.byLabel.get(label))) {
      if (!OTHERWISE[`${id}.${name}`]?.(value, mine)) {
        yield `${name}: ${JSON.stringify(value)}, ours ${JSON.stringify(mine)}`;
      }
    }
  }
}

Deno.test("every newer layout says why, and from how many recorded payloads it was worked out", reading, () => {
  for (const layout of NEWER_LAYOUTS) {
    const title = titleOf(layout);
    const [, told] = / derived from (\d+) recorded payload/.exec(layout.reason ?? "") ??
      [];
    assert.equal(recordedOf(layout).length, Number(told ?? 0), title);
    assert.equal(told === undefined, SIBLINGS.has(layout.id), title);
    assert.ok((layout.reason ?? "").length > 20, title);
  }
});

Deno.test("the recorded payloads of newer layouts are taken for them and say what the analyzer says", reading, () => {
  for (const layout of NEWER_LAYOUTS) {
    for (const { pgn, hex, id, fields } of recordedOf(layout)) {
      const payload = Uint8Array.fromHex(hex);
      const definition = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
      assert.equal(definition?.id, id, `${titleOf(layout)}: ${hex}`);
      const found = Array.from(differences(id, fields, decode(pgn, payload), definition?.items ?? []));
      assert.deepEqual(found, [], `${titleOf(layout)}: ${hex}`);
    }
  }
});

Deno.test("the widths of a newer layout add up to the lengths that were recorded", reading, () => {
  for (const layout of NEWER_LAYOUTS) {
    if (layout.fields.some((item) => "group" in item || item.bits === undefined)) continue;
    const bits = fieldsOf(layout).reduce((sum, field) => sum + (field.bits ?? 0), 0);
    for (const { hex } of recordedOf(layout)) assert.equal(hex.length * 4, bits, `${titleOf(layout)}: ${hex}`);
  }
});

/** True when every payload of the later layout is one of the earlier layout too. */
function hides(earlier: Definition, later: Definition): boolean {
  return earlier.matches.every(({ bit, field }) =>
    later.matches.some((each) => each.bit === bit && each.field.bits === field.bits && each.field.match === field.match)
  );
}

Deno.test("no newer layout keeps a later one from being taken", () => {
  for (const { pgn, id } of [...NEWER_LAYOUTS, ...NEWEST_LAYOUTS]) {
    const layouts = definitionsOf(pgn);
    const at = layouts.findIndex((each) => each.id === id);
    assert.ok(at >= 0, `${pgn} ${id}`);
    for (const later of layouts.slice(at + 1)) {
      assert.ok(!hides(layouts[at]!, later), `${pgn}: ${id} hides ${later.id}`);
    }
  }
});

Deno.test("a newer layout that stands for an older one names one that canboat's package has", () => {
  for (const { pgn, id, replaces } of [...NEWER_LAYOUTS, ...NEWEST_LAYOUTS]) {
    if (replaces === undefined) continue;
    const row = definitions.pgns.find(([each]) => each === pgn);
    const ids = JSON.parse(String(row?.[4] ?? "[]")).map((each: DefinitionSpec) => each.id);
    assert.ok(ids.includes(replaces) && !ids.includes(id), `${pgn} ${id}: ${replaces}`);
  }
});

Deno.test("the fields of newer layouts are told in snake_case, their tables are there and all in use", () => {
  const fields = [...NEWER_LAYOUTS, ...NEWEST_LAYOUTS].flatMap(fieldsOf);
  for (const { name } of fields) assert.match(name ?? "reserved", SNAKE_CASE);
  const ours = Object.keys({ ...NEWER_TABLES, ...NEWEST_TABLES });
  const theirs = new Set([...definitions.tables, ...definitions.keys].map(([name]) => name));
  const keys = new Set(KEY_ROWS.map(({ table }) => table));
  for (const name of ours) assert.ok(!theirs.has(name), `${name} is a table of canboat's`);
  const used = new Set(fields.flatMap(({ table }) => table ?? []));
  for (const name of used) assert.ok(theirs.has(name) || ours.includes(name) || keys.has(name), name);
  for (const name of ours) assert.ok(used.has(name), `${name} is not in use`);
});

/** Layouts of the newest list that are left out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "61184 victronVeCanRegister": "the overlay has the register and its value in another form",
  "126720 garminAutopilotTurnAngleMeasured": "its scale, a turn in 65536 parts, is no fraction of integers in radians",
  "126720 garminAutopilotTurnAngleOrder": "likewise",
  "129812 aisMultiSlotBinaryMessageDeprecated":
    "lengths and contents in turn, in a list that could not be encoded again",
  "130820 bepMarineCzoneAlarmStringResponse": "nothing tells it from bepMarineCzoneEnumerationReply",
  "130822 navicoConfigurationSet": "keys and values, without a length that a key tells",
  "130823 navicoDataTypeSourceDirectoryFullReport": "navicoDataTypeSourceDirectory of the overlay reads it",
  "130824 mercuryEngineKeyValueData": "keys and values, without a length that a key tells",
};

Deno.test("every layout of the newest canboat is known by its id, but for those that are left out for a reason", () => {
  const named = new Set(
    [
      ...definitions.pgns.flatMap(([pgn, , , , text]) =>
        JSON.parse(String(text)).map(({ id }: DefinitionSpec) => `${pgn} ${id}`)
      ),
      ...[...NEWER_LAYOUTS, ...NEWEST_LAYOUTS, ...OVERLAY_DEFINITIONS].map(titleOf),
    ],
  );
  const titles = Object.entries(newest).flatMap(([pgn, ids]) => ids.map((id) => `${pgn} ${id}`));
  assert.equal(titles.length, 603);
  assert.deepEqual(titles.filter((title) => !named.has(title)).sort(), Object.keys(LEFT_OUT).sort());
  for (const { pgn, id } of NEWEST_LAYOUTS) {
    assert.ok(definitionsOf(pgn).some((each) => each.id === id), `${pgn} ${id}`);
  }
});

Deno.test("Fusion's RDS data and processing bypass are decoded", () => {
  const text = new TextEncoder().encode("RADIO 4").toHex();
  assert.deepEqual(decode(130820, Uint8Array.fromHex(`a3995280010203${"07"}${text}00`)), {
    ...{ manufacturer_code: "Fusion Electronics", industry_code: "Marine Industry", message_id: "RDS Data" },
    ...{ source_id: 1, rds_type: 2, programme_type: 3, rds: "RADIO 4" },
  });
  assert.deepEqual(decode(130820, Uint8Array.fromHex("a399408001")), {
    ...{ manufacturer_code: "Fusion Electronics", industry_code: "Marine Industry", message_id: "Processing Bypass" },
    bypass: "Yes",
  });
});

import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import { type Definition, definitionsOf, type Field, isGroup, type Item } from "../../src/pgn/model.ts";
import { matchesPayload } from "../../src/pgn/interpret.ts";
import {
  agrees,
  type Analyzed,
  type AnalyzedFields,
  type AnalyzedValue,
  readAnalyzed,
  snakeCase,
} from "../support/analyzer.ts";
import { RENAMED } from "../support/analyzer_names.ts";
import { needs } from "../support/needs.ts";

/** Share of the fields that must agree, those apart that the interface wants told in another way. */
const AGREEMENT = 0.995;

/** One field that the analyzer tells, beside ours. */
interface Compared {
  pgn: number;
  hex: string;
  /** snake_case of the analyzer's name. */
  theirName: string;
  theirs: AnalyzedValue;
  field: Field | undefined;
  ours: unknown;
  definition: Definition | undefined;
}

/** Why fields differ, the first reason that fits counts. */
interface Difference {
  why: string;
  /** How many fields. */
  count: number;
  /** Decided by the interface: how short payloads, cut sets and codes are told. */
  decided?: true;
  fits: (compared: Compared) => boolean;
}

const CLASSES: readonly Difference[] = [
  {
    why: "too short to be told: the interface gives no decoded result without the fixed part",
    count: 27,
    decided: true,
    fits: ({ hex, definition }) => definition !== undefined && hex.length / 2 < definition.least,
  },
  {
    why: "cut by the end of the payload, which we fill up with ones; the analyzer reads the bits that are there",
    count: 66,
    decided: true,
    fits: ({ hex, definition, field }) =>
      field !== undefined && definition !== undefined &&
      (hex.length * 4 < definition.fixedBits || definition.items.some((item) => isGroup(item) && item.partial)),
  },
  {
    why: "the last set of a list is cut, and left out",
    count: 9,
    decided: true,
    fits: ({ ours, definition }) => ours === undefined && (definition?.items.some((item) => isGroup(item)) ?? false),
  },
  {
    why: "all ones is null in fields that clients know, in signed ones, too",
    count: 50,
    decided: true,
    fits: ({ ours, definition }) => ours === null && definition?.origin === "overlay",
  },
  {
    why: "codes below all ones are numbers in fields that clients know",
    count: 6,
    decided: true,
    fits: ({ theirs, ours, definition }) =>
      (theirs === null || nullKey(theirs)) && typeof ours === "number" && definition?.origin === "overlay",
  },
  {
    why: "clients know no name for these bits, or know them as bytes",
    count: 19,
    fits: ({ field, definition }) => field === undefined && definition?.origin === "overlay",
  },
  {
    why: "a message of other frames than its own, not put together: read in another way",
    count: 3,
    fits: ({ pgn, hex }) => pgn === 130330 && hex === "236f6c6c65722806",
  },
  {
    why: "texts end at 0xFF",
    count: 2,
    fits: ({ field, theirs }) => field?.type === "lau" && typeof theirs === "string" && theirs.startsWith("\u00ff"),
  },
  {
    why: "the length of an entry counts three bytes in front of its value",
    count: 1,
    fits: ({ pgn, theirName }) => pgn === 130823 && theirName === "value",
  },
  {
    why: "the upper four bits of a byte are one hex digit after a zero for us, before it for the analyzer",
    count: 1,
    fits: ({ pgn, theirName }) => pgn === 130829 && theirName === "helm",
  },
  {
    why: "all ones is null after a key, too",
    count: 1,
    fits: ({ pgn, ours }) => pgn === 130845 && ours === null,
  },
];

function nullKey(theirs: AnalyzedValue): boolean {
  return typeof theirs === "object" && theirs !== null && !Array.isArray(theirs) && theirs.value === null;
}

/** Fields of a set, or of the payload, by our names. */
function* compare(at: Omit<Compared, "theirName" | "theirs" | "field" | "ours">, sides: {
  theirs: AnalyzedFields;
  ours: Record<string, unknown>;
  items: readonly Item[];
}): Generator<Compared> {
  for (const [id, theirs] of Object.entries(sides.theirs)) {
    if (/^(reserved|spare)\d*$/.test(id)) continue;
    if ((id === "list" || id === "list2") && Array.isArray(theirs)) {
      yield* compareSets(at, { ...sides, id, sets: theirs });
      continue;
    }
    const theirName = snakeCase(id);
    const name = RENAMED[at.pgn]?.[theirName] ?? theirName;
    const field = sides.items.find((item): item is Field => !isGroup(item) && item.name === name);
    yield { ...at, theirName, theirs, field, ours: ourValue(sides.ours, { name, theirName, field }) };
  }
}

/** Our value of a field, in the analyzer's way: bits that we have together, apart; the NMEA version as a decimal. */
function ourValue(ours: Record<string, unknown>, { name, theirName, field }: {
  name: string;
  theirName: string;
  field: Field | undefined;
}): unknown {
  const numbered = /^(indicator|switch)(\d+)$/.exec(theirName);
  if (numbered && Array.isArray(ours.indicators)) return ours.indicators[Number(numbered[2]) - 1];
  if (theirName === "pgn" && "function_code" in ours) return ours.commanded_pgn ?? ours.acknowledged_pgn ?? ours.pgn;
  const value = ours[name];
  if (field?.name === "nmea_version" && typeof value === "number") return value / 1000;
  const instance = ours.device_instance;
  if (theirName === "device_instance_lower" && typeof instance === "number") return instance & 7;
  if (theirName === "device_instance_upper" && typeof instance === "number") return instance >> 3;
  return value;
}

function* compareSets(at: Omit<Compared, "theirName" | "theirs" | "field" | "ours">, sides: {
  id: string;
  sets: AnalyzedValue[];
  ours: Record<string, unknown>;
  items: readonly Item[];
}): Generator<Compared> {
  const group = sides.items.filter((item) => isGroup(item))[sides.id === "list" ? 0 : 1];
  const list = group && isGroup(group) ? sides.ours[group.group] : sides.ours.params;
  for (const [index, set] of sides.sets.entries()) {
    const ours = Array.isArray(list) ? list[index] ?? {} : {};
    const items = group && isGroup(group) ? group.fields : [];
    yield* compare(at, { theirs: set as AnalyzedFields, ours, items });
  }
}

/** Bits and states that say nothing are null for the analyzer; ours are 0 (no bit) and 3 (of an indicator). */
function isNothingHere({ theirName, theirs, ours }: Compared): boolean {
  if (theirs !== null) return false;
  return (ours === 0 && theirName.startsWith("discrete_status")) ||
    (ours === 3 && /^(indicator|switch)\d/.test(theirName));
}

function isSame(compared: Compared): boolean {
  const { theirs, ours, field } = compared;
  const tables = [field?.labels, ...field?.indirect?.values() ?? []];
  const codeOf = (label: string) => tables.map((each) => each?.byLabel.get(label)).find((each) => each !== undefined);
  const text = typeof ours === "string" ? ours.replace(/\0+$/, "") : ours;
  if (agrees(theirs, text, codeOf) || isNothingHere(compared)) return true;
  const bytes = typeof theirs === "string" && /^([0-9A-F]{2} ?)+$/.test(theirs) && typeof ours === "number";
  return bytes && parseInt(theirs.split(" ").reverse().join(""), 16) === ours;
}

/** True when the analyzer had no definition but a catch-all; we then give no decoded result. */
function isCatchAll({ id }: Analyzed): boolean {
  return id.startsWith("0x");
}

Deno.test(
  "recorded payloads decode into what canboat's analyzer says, but for classes that are known",
  needs({
    permissions: ["read"],
  }),
  async () => {
    const counts = CLASSES.map(() => 0);
    const unexplained: string[] = [];
    let same = 0;
    let all = 0;
    for (const analyzed of (await readAnalyzed()).filter((each) => !isCatchAll(each))) {
      const { pgn, hex, fields } = analyzed;
      const payload = Uint8Array.fromHex(hex);
      const definition = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
      const ours = decode(pgn, payload) ?? {};
      for (const each of compare({ pgn, hex, definition }, { theirs: fields, ours, items: definition?.items ?? [] })) {
        all++;
        if (isSame(each)) {
          same++;
          continue;
        }
        const index = CLASSES.findIndex(({ fits }) => fits(each));
        if (index >= 0) counts[index]!++;
        else {
          unexplained.push(
            `${pgn} ${each.theirName} ${hex}: ${JSON.stringify(each.theirs)} ≠ ${JSON.stringify(each.ours)}`,
          );
        }
      }
    }
    assert.deepEqual(unexplained, []);
    assert.deepEqual(counts, CLASSES.map(({ count }) => count));
    const decided = CLASSES.reduce((sum, { count, decided }) => sum + (decided ? count : 0), 0);
    assert.ok(same / (all - decided) >= AGREEMENT, `${same} of ${all - decided} agree`);
  },
);

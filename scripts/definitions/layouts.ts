import type { DefinitionSpec, FieldSpec, GroupSpec, ItemSpec } from "../../src/pgn/spec.ts";
import type { CanboatPgn } from "./canboat.ts";
import { fieldSpec, isReserved, snakeCase } from "./fields.ts";

/** A layout in the generated file; properties shared by all layouts of the PGN are omitted. */
export type Layout = Omit<DefinitionSpec, "pgn" | "description"> & { description?: string };

/** Properties of a PGN shared by all its layouts. */
export interface Shared {
  description: string;
  /** Null unless all layouts have the same. */
  interval: number | null;
}

interface RepeatingSet {
  /** Key of the list. */
  group: string;
  /** Number of its first field. */
  start: number;
  size: number;
  countField: number | undefined;
}

/** The layout of one canboat definition. */
export function layoutOf(pgn: CanboatPgn, shared: Shared): Layout {
  const { Id, Description, TransmissionInterval: interval, Complete, Fields } = pgn;
  const nameOf = (order: number) => {
    const field = Fields.find(({ Order }) => Order === order);
    if (field === undefined || isReserved(field)) throw new Error(`${Id}: no field ${order} to refer to`);
    return snakeCase(field.Id);
  };
  const sets = repeatingSets(pgn);
  const counts = new Set(sets.map(({ countField }) => countField));
  const fields = Fields.map((field, index): FieldSpec => ({
    ...fieldSpec(field, nameOf),
    ...(counts.has(field.Order) && { always: true }),
    ...(field.Order !== index + 1 && { number: field.Order }),
  }));
  const items = grouped(fields, sets, nameOf);
  proveUnique(Id, items);
  return {
    id: Id,
    ...(Description !== shared.description && { description: Description }),
    ...(interval !== undefined && interval !== shared.interval && { interval }),
    ...(Complete && { complete: true }),
    fields: items,
  };
}

function repeatingSets(pgn: CanboatPgn): RepeatingSet[] {
  const { RepeatingFieldSet1Size: size1, RepeatingFieldSet1StartField: start1 } = pgn;
  const { RepeatingFieldSet2Size: size2, RepeatingFieldSet2StartField: start2 } = pgn;
  const sets: RepeatingSet[] = [];
  if (size1 !== undefined && start1 !== undefined) {
    sets.push({ group: "list", start: start1, size: size1, countField: pgn.RepeatingFieldSet1CountField });
  }
  if (size2 !== undefined && start2 !== undefined) {
    sets.push({ group: "list2", start: start2, size: size2, countField: pgn.RepeatingFieldSet2CountField });
  }
  return sets;
}

/** The fields with repeating sets as groups, in the same order. */
function grouped(fields: FieldSpec[], sets: RepeatingSet[], nameOf: (order: number) => string): ItemSpec[] {
  const items: ItemSpec[] = [];
  let next = 0;
  for (const { group, start, size, countField } of sets) {
    const first = start - 1;
    if (first < next || first + size > fields.length) throw new Error(`${group}: not within the fields`);
    const set: GroupSpec = {
      group,
      ...(countField !== undefined && { count: nameOf(countField) }),
      fields: fields.slice(first, first + size),
    };
    items.push(...fields.slice(next, first), set);
    next = first + size;
  }
  return [...items, ...fields.slice(next)];
}

function proveUnique(id: string, items: ItemSpec[]): void {
  const names = items.flatMap((item) =>
    "group" in item ? [item.group, ...item.fields.map(({ name }) => name)] : item.name
  )
    .filter((name) => name !== undefined);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${id}: two fields are named ${twice}`);
}

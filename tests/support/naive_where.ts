import type { Expression, Literal, Subject } from "../../src/where/parse.ts";
import type { DeviceAt, WhereFrame } from "../../src/where/compile.ts";

/** The rules of `--where`, read from the expression for each frame, without any shortcut. */
export function naiveWhere(expression: Expression, frame: WhereFrame, deviceAt: DeviceAt): boolean {
  switch (expression.kind) {
    case "or":
      return expression.terms.map((term) => naiveWhere(term, frame, deviceAt)).includes(true);
    case "and":
      return !expression.terms.map((term) => naiveWhere(term, frame, deviceAt)).includes(false);
    case "not":
      return !naiveWhere(expression.term, frame, deviceAt);
    case "compare": {
      const { subject, operator, value } = expression;
      return valuesOf(subject, frame, deviceAt).some((each) => holds(each, operator, value.literal));
    }
    case "in": {
      const values = valuesOf(expression.subject, frame, deviceAt);
      return expression.values.some(({ literal }) => values.some((each) => holds(each, "==", literal)));
    }
  }
}

/** Everything that a name stands for: one value, or the elements of lists. */
function valuesOf(subject: Subject, frame: WhereFrame, deviceAt: DeviceAt): unknown[] {
  if (subject.kind === "header") return [frame[subject.name] ?? null];
  if (subject.kind === "device") {
    const device: Record<string, unknown> = { ...deviceAt(frame.bus, frame[subject.side]) };
    return [device[subject.name] ?? device[`device_${subject.name}`] ?? null];
  }
  let values: unknown[] = [frame.decoded ?? null];
  for (const name of subject.path) {
    values = values.flat(9).map((value) => {
      const entry = value !== null && typeof value === "object"
        ? Object.entries(value).find(([key]) => key === name)
        : undefined;
      return entry?.[1] ?? null;
    });
  }
  return values.flat(9);
}

function holds(value: unknown, operator: string, literal: Literal): boolean {
  if (literal === null || value === null) {
    return literal === null && (operator === "==" ? value === null : value !== null);
  }
  if (operator === "contains" && typeof value === "string") {
    return value.toLowerCase().includes(String(literal).toLowerCase());
  }
  const [left, right] = alike(value, literal);
  if (left === undefined || right === undefined) return false;
  switch (operator) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
    default:
      return typeof left === "string" ? left.includes(String(right)) : left === right;
  }
}

/** Both as numbers, as texts in lower case, or as truth values; nothing when they are of different kinds. */
function alike(value: unknown, literal: Exclude<Literal, null>): (string | number | boolean | undefined)[] {
  if (typeof literal === "boolean") return [typeof value === "boolean" ? value : undefined, literal];
  const part = typeof value === "object" ? new Map(Object.entries(value ?? {})) : undefined;
  if (typeof literal === "number") {
    const number = part ? part.get("id") : typeof value === "string" && value !== "" ? Number(value) : value;
    return [typeof number === "number" && !Number.isNaN(number) ? number : undefined, literal];
  }
  const text = part ? part.get("name") : value;
  return [typeof text === "string" ? text.toLowerCase() : undefined, literal.toLowerCase()];
}

/** Labels of numbers that are codes, for comparisons with a text. */
import { labelOf } from "@vessel/gateway/units";
import { fieldsAt } from "./fields.ts";
import type { Matcher } from "./match.ts";

/** Compares a number by its label, or by those of its bits, where it has some in this PGN. */
export function labelMatcher(match: Matcher, { pgn, path }: { pgn: number; path: readonly string[] }): Matcher {
  const fields = fieldsAt(pgn, path).filter((field) => field.type !== "group");
  const coded = fields.find(({ type, labels, bit_labels }) => type === "number" && (labels ?? bit_labels));
  if (coded === undefined) return match;
  return (value) => {
    if (typeof value !== "number") return match(value);
    const label = labelOf(value, coded, {});
    return Array.isArray(label) ? label.some(match) : match(label ?? value);
  };
}

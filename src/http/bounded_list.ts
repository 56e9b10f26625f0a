import { z } from "zod";

/** Maximum entries of a list in a request. */
export const MAX_LIST_ENTRIES = 256;

/**
 * A list of at most `max` entries. Checking is cheap for hostile input: a longer list is refused before its entries are
 * checked, and only the first invalid entry is reported.
 */
export function boundedList<T extends z.ZodType>(
  item: T,
  { min = 0, max = MAX_LIST_ENTRIES }: { min?: number; max?: number } = {},
) {
  return z.preprocess((value: z.input<T>[], context) => {
    // The value is still unchecked, whatever its type says.
    if (!Array.isArray(value)) return value;
    if (value.length > max) {
      context.addIssue({ code: "custom", message: `expected at most ${max} entries, got ${value.length}` });
      return z.NEVER;
    }
    const invalidAt = value.findIndex((each) => !item.safeParse(each).success);
    return invalidAt < 0 ? value : value.slice(0, invalidAt + 1);
  }, z.array(item).min(min).max(max));
}

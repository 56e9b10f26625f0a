import { z } from "zod";

/** Most entries of a list that a request may have. */
export const MAX_LIST_ENTRIES = 256;

/**
 * A list of at most so many entries. Checking costs no more than that: a longer list is refused before its entries are
 * looked at, and of those the first that is wrong is reported alone.
 */
export function boundedList<T extends z.ZodType>(
  item: T,
  { min = 0, max = MAX_LIST_ENTRIES }: { min?: number; max?: number } = {},
) {
  return z.preprocess((value: z.input<T>[], context) => {
    // Whatever the type says: nobody has looked at it yet.
    if (!Array.isArray(value)) return value;
    if (value.length > max) {
      context.addIssue({ code: "custom", message: `expected at most ${max} entries, got ${value.length}` });
      return z.NEVER;
    }
    const wrong = value.findIndex((each) => !item.safeParse(each).success);
    return wrong < 0 ? value : value.slice(0, wrong + 1);
  }, z.array(item).min(min).max(max));
}

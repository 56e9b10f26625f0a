import parser from "@pushcorn/hocon-parser";

/** The part of the package that we use; it ships no types. */
export type HoconParser = (
  options: { text?: string; url?: string; builder: "config"; strict: boolean },
) => Promise<unknown>;

/** The package that reads HOCON; loaded with `importLate`, because it reads the environment. */
export const hoconParser: HoconParser = parser;

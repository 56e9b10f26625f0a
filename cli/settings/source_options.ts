import { BOAT_DEFAULTS } from "@vessel/gateway/boat";
import { formatName, readName } from "@vessel/gateway/frame";
import { type PreferredSources, QUANTITIES } from "@vessel/gateway/quantities";
import { hint } from "@vessel/gateway/units";
import { OptionGroup, reloadable } from "./option_types.ts";

const sources = new OptionGroup("Sources");
const PLACEHOLDER = /\{\w+\}/;

/** Options of the sources of quantities. */
export const sourceOptions = {
  sourceHistoryBytes: sources.size({
    name: "source-history-max-size",
    beyond: "The older half of the log is dropped.",
    default: BOAT_DEFAULTS.sourceHistoryBytes,
    maxBytes: 64 * 1024 * 1024,
    help:
      "Most bytes of the log of which device gave which quantity when (/sources/history), in the state directory. A change " +
      "takes some 40 bytes. 0: none is kept.",
  }),
  preferredSources: reloadable(sources.list({
    name: "preferred-source",
    placeholder: "QUANTITY=NAME",
    help:
      "Device whose values are used where several have a quantity, as long as they are fresh: depth=0xc0509635e772ee1f, or " +
      "engine.0=… for all of one engine. Repeat the flag for several. Quantities and NAMEs are in /sources. Without it: " +
      "the first device that was heard.",
    validate: checkPreferred,
  })),
};

/** The NAMEs by quantity; of two for one quantity the last one counts. */
export function preferredSourcesOf(texts: readonly string[]): PreferredSources {
  return new Map(texts.map((text): [string, string] => {
    const [quantity = "", name = ""] = text.split("=").map((part) => part.trim());
    return [quantity, formatName(readName(name) ?? 0n)];
  }));
}

function checkPreferred(text: string): string | undefined {
  const [quantity = "", name, ...rest] = text.split("=").map((part) => part.trim());
  if (name === undefined || rest.length > 0) return "Expected QUANTITY=NAME, such as depth=0xc0509635e772ee1f";
  if (readName(name) === undefined) {
    return `Cannot read the NAME "${name}": expected 16 hex digits, such as 0xc0509635e772ee1f`;
  }
  if (QUANTITIES.some(({ key }) => begins(key, quantity))) return undefined;
  const known = new Set(QUANTITIES.map(({ key }) => key.split(".")[0] ?? ""));
  return `There is no quantity "${quantity}"${hint(quantity, { known })}; /sources lists those of the boat`;
}

/** Whether a quantity, or the beginning of one, fits a key of the table, whose placeholders fit everything. */
function begins(key: string, quantity: string): boolean {
  const parts = key.split(".");
  return quantity.split(".").every((part, index) => {
    const expected = parts[index];
    return expected !== undefined && part !== "" && (part === expected || PLACEHOLDER.test(expected));
  });
}

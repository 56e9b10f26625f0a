import definitions from "./definitions.gen.json" with { type: "json" };
import { MANUFACTURER_ALIASES } from "./overlay.ts";

const nameByCode = new Map<number, string>();
const codeByName = new Map<string, number>(Object.entries(MANUFACTURER_ALIASES));
const [, table = "{}"] = definitions.tables.find(([name]) => name === "MANUFACTURER_CODE") ?? [];
for (const [code, name] of Object.entries<string>(JSON.parse(table))) {
  nameByCode.set(Number(code), name);
  codeByName.set(name.toLowerCase(), Number(code));
}

/** Name of a manufacturer code; `Unknown (123)` when it is not registered. */
export function manufacturerName(code: number): string {
  return nameByCode.get(code) ?? `Unknown (${code})`;
}

/** Names of all registered manufacturers. */
export function manufacturerNames(): string[] {
  return [...nameByCode.values()];
}

/**
 * Code of a manufacturer by name, by a well-known alias, or by decimal code; case-insensitive.
 * Also reads the `Unknown (123)` of {@linkcode manufacturerName}.
 */
export function manufacturerCode(text: string): number | undefined {
  const key = text.trim().toLowerCase().replace(/^unknown \((\d+)\)$/, "$1");
  return /^\d{1,4}$/.test(key) ? Number(key) : codeByName.get(key);
}

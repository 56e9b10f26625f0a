/** Warnings about names in a filter that this version does not know; a newer server may know them. */
import type { Client, Filter } from "@vessel/gateway/client";
import { manufacturerCode, manufacturerNames } from "@vessel/gateway/pgn";
import { hint } from "@vessel/gateway/units";

/** A warning about the first unknown manufacturer, or undefined. */
export function doubtManufacturers(given: readonly string[]): string | undefined {
  const strange = given.find((text) => manufacturerCode(text) === undefined);
  if (strange === undefined) return undefined;
  return `No known manufacturer is called "${strange}"${manufacturerHint(strange)}`;
}

/** `: did you mean Garmin?`, if a known manufacturer has a similar name. */
export function manufacturerHint(strange: string): string {
  const names = new Map(manufacturerNames().map((name) => [name.toLowerCase(), name]));
  const words = hint(strange.toLowerCase(), { known: names.keys() });
  const [, meant = ""] = /^: did you mean (.*)\?$/s.exec(words) ?? [];
  return meant === "" ? "" : `: did you mean ${names.get(meant)}?`;
}

/** A warning about a bus that the server does not know, or undefined; always undefined with a single bus. */
export async function doubtBuses(
  { bus: wanted = [] }: Filter,
  { client, signal }: { client: Client; signal: AbortSignal },
): Promise<string | undefined> {
  if (wanted.length === 0) return undefined;
  const known = new Set((await client.devices({ signal })).flatMap(({ bus }) => bus ?? []));
  const isStrange = (bus: string) => known.size > 0 && !known.has(bus);
  if (!wanted.some(isStrange)) return undefined;
  // A bus without devices is listed in the health of a boat server. A cloud does not list the buses of a boat.
  const { components = {} } = await client.health({ signal }).catch(() => ({ components: {} }));
  const strange = wanted.find((bus) => isStrange(bus) && !Object.hasOwn(components, bus));
  return strange === undefined ? undefined : `no device is known on a bus "${strange}"${hint(strange, { known })}`;
}

/** What may be wrong with a filter, though a newer server may know better: names that nobody here has heard of. */
import type { Client, Filter } from "@vessel/gateway/client";
import { manufacturerCode, manufacturerNames } from "@vessel/gateway/pgn";
import { hint } from "./nearest.ts";

/** Says which of several manufacturers nobody is called; nothing when all are known. */
export function doubtManufacturers(given: readonly string[]): string | undefined {
  const strange = given.find((text) => manufacturerCode(text) === undefined);
  if (strange === undefined) return undefined;
  return `No known manufacturer is called "${strange}"${manufacturerHint(strange)}`;
}

/** `: did you mean Garmin?`, where a known manufacturer is called so. */
export function manufacturerHint(strange: string): string {
  const names = new Map(manufacturerNames().map((name) => [name.toLowerCase(), name]));
  const words = hint(strange.toLowerCase(), { known: names.keys() });
  const [, meant = ""] = /^: did you mean (.*)\?$/s.exec(words) ?? [];
  return meant === "" ? "" : `: did you mean ${names.get(meant)}?`;
}

/** Says which bus of a filter the server does not know; nothing where its devices do not name their bus: there is one. */
export async function doubtBuses(
  { bus: wanted = [] }: Filter,
  { client, signal }: { client: Client; signal: AbortSignal },
): Promise<string | undefined> {
  if (wanted.length === 0) return undefined;
  const known = new Set((await client.devices({ signal })).flatMap(({ bus }) => bus ?? []));
  const isStrange = (bus: string) => known.size > 0 && !known.has(bus);
  if (!wanted.some(isStrange)) return undefined;
  // A bus without devices is a part of the server's health; of a boat in a cloud nobody tells that.
  const { components = {} } = await client.health({ signal }).catch(() => ({ components: {} }));
  const strange = wanted.find((bus) => isStrange(bus) && !Object.hasOwn(components, bus));
  return strange === undefined ? undefined : `no device was heard on a bus "${strange}"${hint(strange, { known })}`;
}

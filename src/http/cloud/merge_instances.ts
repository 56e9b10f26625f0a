import { jsonList } from "../reply.ts";
import { instancesSchema } from "./schemas.ts";

/**
 * The answers of several nodes to `GET /instances` as one: of a boat that several know, the answer of the node where it
 * streams counts, else that of the one that was the last to have a message from it.
 *
 * @param texts answers; one that cannot be read is left out
 */
export function mergeInstances(texts: readonly string[]): Response {
  const boats = new Map<string, Row>();
  for (const text of texts) {
    for (const row of rowsOf(text)) {
      const known = boats.get(row.id);
      if (!known || isNewer(row, known)) boats.set(row.id, row);
    }
  }
  return jsonList([...boats.values()].sort((a, b) => a.id < b.id ? -1 : 1), { member: "instances" });
}

type Row = ReturnType<typeof instancesSchema.parse>["instances"][number];

function rowsOf(text: string): Row[] {
  try {
    const { success, data } = instancesSchema.safeParse(JSON.parse(text));
    return success ? data.instances : [];
  } catch {
    return [];
  }
}

function isNewer(row: Row, than: Row): boolean {
  if (row.connected !== than.connected) return row.connected;
  return (row.last_seen ?? "") > (than.last_seen ?? "");
}

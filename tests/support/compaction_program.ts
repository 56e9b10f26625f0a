// Compacts the objects of a boat again and again, until it is killed: compaction_program.ts ENDPOINT ID NOW_MS
import { compactBoat, CompactionMemory } from "../../src/cloud/store/compaction/compact_boat.ts";
import { type ObjectStore, openStore } from "../../src/object_store/mod.ts";
import { CEPH_WRITER } from "./ceph.ts";
import { pause } from "./eventually.ts";
import { STORE_BUCKET } from "./store_node.ts";
import { WrappedStore } from "./wrapped_store.ts";

const TWO_HOURS_MS = 7_200_000;

/** A pass over the objects of a boat, which all seem to have been stored two hours ago. @throws {Error} two contradict each other */
export async function compactAged(store: ObjectStore, { id, nowMs }: { id: string; nowMs: number }): Promise<void> {
  const aged = new WrappedStore(store);
  aged.dateOf = ({ key, lastModifiedMs }) => lastModifiedMs - (key.startsWith("instances/") ? TWO_HOURS_MS : 0);
  const report = (fault: unknown) => {
    throw new Error(`compaction found ${JSON.stringify(fault)}`);
  };
  await compactBoat({ id, store: aged, nowMs, memory: new CompactionMemory(), changed: () => {}, report });
}

if (import.meta.main) {
  const [endpoint = "", id = "", nowMs] = Deno.args;
  using store = await openStore({ url: `s3://${STORE_BUCKET}/fleet`, endpoint, credentials: CEPH_WRITER });
  for (;;) {
    await compactAged(store, { id, nowMs: Number(nowMs) });
    await pause(20);
  }
}

import { checkBlock, type Instance } from "../../src/cloud/mod.ts";
import { wireBlock } from "../cloud/block_check_fixture.ts";
import { EPOCH } from "./cloud_server.ts";

/** A boat sends the frames from one number to another, both included, as a block, and the cloud stores it. */
export async function fill(instance: Instance, firstSeq: number, lastSeq: number): Promise<void> {
  const checked = checkBlock(wireBlock({ firstSeq, frames: lastSeq - firstSeq + 1, epoch: EPOCH }), { epoch: EPOCH });
  if (!checked.ok) throw new Error(checked.reason);
  const session = { end: () => {} };
  const files = await instance.enterBackfill(session);
  await files.write([checked], EPOCH);
  instance.received.addBlock(checked.seqs);
  instance.received.markDurable(checked.seqs);
  instance.runningReplica?.source.changed();
  await instance.leaveBackfill(session, files);
}

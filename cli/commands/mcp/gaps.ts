import type { LostSpan, MissingFrames, Proof, SeqSpan } from "@vessel/gateway/client";
import { ifThere } from "../../client/if_there.ts";
import type { Answer } from "./answer.ts";
import { framesLine, isInCloud } from "./health.ts";
import type { Boat } from "./tool.ts";

/** What boat and cloud report of sequence numbers. */
interface Spans {
  holes: readonly SeqSpan[] | null;
  lost: readonly LostSpan[];
  /** Why the cloud accepts no frames. */
  refused?: string;
}

/** The present epoch, and former ones that are not complete. */
interface Replicated extends Spans {
  former_epochs?: readonly (Spans & { epoch: string })[];
  storage?: { missing: readonly SeqSpan[] };
}

/** Answer of `gaps`. */
export async function gapsAnswer(boat: Boat): Promise<Answer> {
  const [proof, replicated] = await Promise.all([boat.client.proof({ signal: boat.signal }), replicatedBy(boat)]);
  const gaps = [...countLines(proof), ...replicated ? spanLines(replicated) : []];
  const epoch = `frames are counted from number ${proof.first} of epoch ${proof.epoch ?? "none"}`;
  return {
    head: `${gaps.length === 0 ? "No frames are missing" : "Missing frames"} as of ${proof.as_of ?? "never"}; ${epoch}`,
    items: [framesLine(proof), ...gaps],
    narrow: "the routes /proof and /replication/status (of a cloud: /instances/ID/status) have all",
  };
}

/** Sequence numbers that the cloud lacks; undefined if the boat is not replicated. */
async function replicatedBy(boat: Boat): Promise<Replicated | undefined> {
  const { client, cloud, signal } = boat;
  if (isInCloud(boat)) {
    const { client, id } = cloud();
    return await client.status(id, { signal });
  }
  return await ifThere(client.replicationStatus({ signal }));
}

/** A line for each reason. */
function countLines({ missing, earlier, unclear, not_numbered }: Proof): string[] {
  const line = ({ count, where, reason }: MissingFrames) => `${count} missing in the ${where}: ${reason}`;
  return [
    ...missing.map(line),
    ...unclear.map(({ count, where, reason }) => `at most ${count} more missing in the ${where}: ${reason}`),
    ...(earlier ?? []).map((each) => `from before, ${line(each)}`),
    ...(not_numbered ?? []).map(({ count, bus, reason }) =>
      `${count} CAN frames of ${bus} never got a number: ${reason}`
    ),
  ];
}

/** A line for each range of sequence numbers. */
function spanLines({ holes, lost, former_epochs = [], storage }: Replicated): string[] {
  return [
    ...spansOf({ holes, lost }),
    ...(storage?.missing ?? []).map((each) => `${rangeText(each)}: disappeared from the cloud's disk`),
    ...former_epochs.flatMap(({ epoch, ...spans }) => spansOf(spans).map((line) => `epoch ${epoch}, ${line}`)),
  ];
}

function spansOf({ holes, lost, refused }: Spans): string[] {
  return [
    ...(holes ?? []).map((each) => `${rangeText(each)}: not in the cloud yet${refused ? `, ${refused}` : ""}`),
    ...lost.map((each) => `${rangeText(each)}: lost, ${each.reason}`),
  ];
}

/** The numbers of a range, which ends before `end`. */
function rangeText({ start, end }: SeqSpan): string {
  return `frames ${start} to ${end - 1}`;
}

import { errorText } from "@vessel/gateway/base";
import { type CloudClient, connectCloud } from "@vessel/gateway/client";
import type { Fleet, FleetMember } from "@vessel/gateway/simulation";

/** Requests at the same time. */
const CONCURRENT = 8;
const MAX_PROBLEMS = 20;

/**
 * Compares what a cloud reports of each boat with what the boat has made.
 *
 * @returns one line for each boat that differs, at most 20
 */
export async function compareWithCloud(
  fleet: Pick<Fleet, "boats">,
  { url, token }: { url: string; token: string | undefined },
): Promise<string[]> {
  const client = connectCloud(url, token === undefined ? {} : { token });
  const problems: string[] = [];
  const waiting = fleet.boats.values();
  const work = async () => {
    for (const boat of waiting) {
      const found = await compareBoat(client, boat);
      if (found.length > 0) problems.push(`${boat.id}: ${found.join(", ")}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  return problems.sort().slice(0, MAX_PROBLEMS);
}

async function compareBoat(client: CloudClient, { id, epoch, head }: FleetMember): Promise<string[]> {
  try {
    const status = await client.status(id);
    const pairs: [name: string, reported: unknown, wanted: unknown][] = [
      ["epoch", status.epoch, epoch.toHex()],
      ["cursor", status.cursor, head],
      ["acknowledged", status.ack_seq, head],
      ["holes", status.holes.length, 0],
      ["lost ranges", status.lost.length, 0],
      ["boat's head", status.boat_head_seq, head],
    ];
    return pairs.filter(([, reported, wanted]) => reported !== wanted)
      .map(([name, reported, wanted]) => `${name} ${reported} instead of ${wanted}`);
  } catch (error) {
    return [errorText(error)];
  }
}

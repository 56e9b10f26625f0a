import type { Clock } from "../base/mod.ts";
import type { BoatFeed } from "../feed/mod.ts";
import { formatTimeUs } from "../frame/mod.ts";
import { type Proof, proofOfBoat } from "../http/mod.ts";
import type { BusCounts } from "../journal/mod.ts";
import type { BoatLink } from "../replication/mod.ts";
import type { BusPipeline } from "./bus_pipelines.ts";

/** The proof of a running boat server, now. */
export function proofOf({ stores, pipelines, counts, link, clock }: {
  stores: BoatFeed;
  pipelines: readonly BusPipeline[];
  counts: () => readonly BusCounts[];
  link: BoatLink | undefined;
  clock: Clock;
}): Proof {
  const { journal, epoch, numbered } = stores;
  return proofOfBoat({
    asOf: formatTimeUs(clock.wallUs()),
    epoch: epoch.toHex(),
    numbered,
    journal: journal && { counts: journal.counts, state: journal.state, uncleanRange: journal.uncleanRange },
    replication: link?.status(),
    buses: counts().map((each, index) => ({ ...each, name: pipelines[index]?.bus.name ?? "" })),
  });
}

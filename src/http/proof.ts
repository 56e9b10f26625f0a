import { z } from "zod";
import { type Range, Ranges } from "../base/mod.ts";
import type { BusCounts, JournalState, RecordedCounts, SeqRange } from "../journal/mod.ts";
import { INCOMPLETE_TEXTS } from "../ledger/mod.ts";
import type { ReplicationStatus } from "../replication/mod.ts";
import { apiText, described, named } from "./api_text.ts";
import { noQuery } from "./params.ts";
import { json } from "./reply.ts";
import { type Route, route } from "./routes.ts";

const count = z.int().nonnegative();
const epoch = described(z.string().nullable(), "Epoch of the numbers, hex; null: none yet");
const missing = z.object({
  count,
  where: described(z.enum(["journal", "cloud"]), "Where they are missing: on the boat's disk, or in the cloud"),
  reason: z.string(),
});

/** Body of `GET /proof`. */
export const proofSchema = named("Proof", {
  epoch,
  first: described(count, "Number of the first frame counted: of this run of the boat server, or of the epoch"),
  as_of: described(z.string().nullable(), "Time that the figures are from: in a cloud, of the boat's last message")
    .clone().register(apiText, { format: "date-time" }),
  seen: described(count, "Frames that have a number"),
  recorded: described(count.nullable(), "Of them, frames on the boat's disk; null: not recorded, or not known here"),
  in_cloud: described(count.nullable(), "Of them, frames on the cloud's disk, confirmed; null: not replicated"),
  on_the_way: z.object({
    journal: described(count, "Frames not yet synced to the boat's disk"),
    cloud: described(count, "Frames that are being sent, or that the cloud has not confirmed yet"),
  }),
  missing: described(z.array(missing), "seen = recorded + on the way + missing in the journal; the same for the cloud"),
  unclear: described(
    z.array(missing),
    "At most this many more frames may be missing: numbers that an earlier run may have used before it lost power",
  ),
  earlier: described(
    z.array(missing).nullable(),
    "Missing frames with numbers below `first`; null: the cloud has not reported them yet",
  ),
  not_numbered: described(
    z.array(z.object({ count, bus: z.string(), reason: z.string() })).nullable(),
    "CAN frames without a number; null: only the boat knows them. They were dropped by an interface, or parts of messages that never became complete",
  ),
});

/** Frames seen, recorded, in the cloud, and missing. */
export type Proof = z.output<typeof proofSchema>;
type Missing = Proof["missing"][number];

/** What the proof of a boat is made from. */
export interface BoatProofSource {
  /** Time of the figures, RFC 3339. */
  asOf: string;
  epoch: string | null;
  /** Frames numbered since the start; `first`: number of the first one. */
  numbered: { first: number; frames: number };
  /** Undefined: nothing is recorded. */
  journal: { counts: RecordedCounts; state: JournalState; uncleanRange: SeqRange | undefined } | undefined;
  /** Undefined: nothing is replicated. */
  replication: ReplicationStatus | undefined;
  /** Counters of each bus. */
  buses: readonly (BusCounts & { name: string })[];
}

/** `GET /proof`. */
export function proofRoute(proof: () => Proof): Route {
  return route({
    path: "/proof",
    summary: "Frames seen, recorded, in the cloud, and missing, with the reasons",
    query: noQuery,
    replies: { 200: ["application/json", proofSchema] },
    answer: () => json(proof()),
  });
}

/** The proof of a boat, from counters of the parts that number, record and send frames. Pure. */
export function proofOfBoat({ asOf, epoch, numbered, journal, replication, buses }: BoatProofSource): Proof {
  const { first, frames: seen } = numbered;
  const recording = journal && recordingOf(journal, seen);
  const nowMs = Date.parse(asOf);
  const link = replication && linkOf(replication, { run: { start: first, end: first + seen }, nowMs });
  const unclean = journal?.uncleanRange;
  return {
    epoch,
    first,
    as_of: asOf,
    seen,
    recorded: recording?.recorded ?? null,
    in_cloud: link?.inCloud ?? null,
    on_the_way: { journal: recording?.waiting ?? 0, cloud: link?.onTheWay ?? 0 },
    missing: [...recording?.missing ?? [], ...link?.missing ?? []].filter((each) => each.count > 0),
    unclear: unclean
      ? [{ count: unclean.to - unclean.from + 1, where: "journal", reason: "the run before ended without a stop" }]
      : [],
    earlier: link ? link.earlier : [],
    not_numbered: buses.flatMap(({ name: bus, dropped, incomplete }) => [
      { count: dropped, bus, reason: "dropped by the interface" },
      ...Object.entries(incomplete).map(([why, each]) => ({ count: each, bus, reason: INCOMPLETE_TEXTS[why] ?? why })),
    ]).filter((each) => each.count > 0),
  };
}

function recordingOf(
  { counts: { appended, waiting, lost }, state }: NonNullable<BoatProofSource["journal"]>,
  seen: number,
) {
  const isFailing = state.kind === "failing";
  const missing: Missing[] = [
    { count: lost, where: "journal", reason: "not recorded: the disk was full, failed or could not keep up" },
    { count: isFailing ? waiting : 0, where: "journal", reason: isFailing ? `the disk fails: ${state.reason}` : "" },
    // Zero, unless a numbered frame was lost before it reached the journal.
    { count: Math.max(0, seen - appended - lost), where: "journal", reason: "not explained" },
  ];
  return { recorded: appended - waiting, waiting: isFailing ? 0 : waiting, missing };
}

const AWAY = "no connection to the cloud";

/** Frames that the cloud has not confirmed for longer are no longer on the way, milliseconds: its status comes every 5 s. */
const PATIENCE_MS = 10_000;
const UNCONFIRMED = "not confirmed by the cloud for more than 10 s";

/** @param options.run numbers since the start */
function linkOf(status: ReplicationStatus, { run, nowMs }: { run: Range; nowMs: number }) {
  const { connected, cloud_cursor, cloud_durable_seq, live_lag, local_head_seq } = status;
  const all = new Ranges([run]);
  const lost = status.lost.map((each) => ({ ...each, count: countIn(new Ranges([each]), all) }));
  const confirmed = new Ranges([{ start: 1, end: (cloud_durable_seq ?? cloud_cursor) + 1 }]).subtract(
    new Ranges(status.lost),
  );
  const inCloud = countIn(confirmed, all);
  const holes = new Ranges(status.holes).subtract(confirmed).subtract(new Ranges(status.lost));
  const holeCount = countIn(holes, all);
  const lostCount = lost.reduce((sum, each) => sum + each.count, 0);
  const rest = all.count - inCloud - holeCount - lostCount;
  const unsent = Math.min(
    rest,
    countIn(new Ranges([{ start: local_head_seq - live_lag + 1, end: local_head_seq + 1 }]), all),
  );
  const isSilent = status.last_ack !== null && nowMs - Date.parse(status.last_ack) > PATIENCE_MS;
  const missing: Missing[] = [
    ...byReason(lost),
    { count: holeCount, where: "cloud", reason: connected ? "being sent again" : AWAY },
    ...(connected ? [{ count: isSilent ? rest : 0, where: "cloud" as const, reason: UNCONFIRMED }] : [
      { count: unsent, where: "cloud" as const, reason: AWAY },
      { count: rest - unsent, where: "cloud" as const, reason: `sent, but not confirmed: ${AWAY}` },
    ]),
  ];
  return {
    inCloud,
    onTheWay: connected && !isSilent ? rest : 0,
    missing: joined(missing),
    earlier: earlierOf(status, { run, holes }),
  };
}

function earlierOf(
  { cloud_durable_seq, cloud_cursor, connected, lost, former_epochs = [] }: ReplicationStatus,
  { run, holes }: { run: Range; holes: Ranges },
): Missing[] | null {
  if (!connected && cloud_durable_seq === null && cloud_cursor === 0) return null;
  const before = new Ranges([{ start: 1, end: Math.max(1, run.start) }]);
  const found: Missing[] = [
    ...byReason(lost.map((each) => ({ ...each, count: countIn(new Ranges([each]), before) }))),
    { count: countIn(holes, before), where: "cloud", reason: NOT_SENT },
  ];
  for (const former of former_epochs) {
    if (former.holes === null) return null;
    found.push({ count: new Ranges(former.holes).count, where: "cloud", reason: former.refused ?? NOT_SENT });
    found.push(...byReason(former.lost.map((each) => ({ ...each, count: each.end - each.start }))));
  }
  return joined(found);
}

/** Reason of frames that the boat still has. */
export const NOT_SENT = "not sent yet";

function byReason(ranges: readonly { count: number; reason: string }[]): Missing[] {
  return ranges.map(({ count, reason }) => ({ count, where: "cloud", reason }));
}

/** Adds up entries with the same place and reason; drops those without frames. */
export function joined(entries: readonly Missing[]): Missing[] {
  const byKey = Map.groupBy(entries, ({ where, reason }) => `${where} ${reason}`);
  return [...byKey.values()].flatMap((same) => {
    const count = same.reduce((sum, each) => sum + each.count, 0);
    return same[0] && count > 0 ? { ...same[0], count } : [];
  });
}

function countIn(ranges: Ranges, within: Ranges): number {
  return ranges.intersect(within).count;
}

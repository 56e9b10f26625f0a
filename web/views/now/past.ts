import { QUANTITY_PGNS } from "@vessel/gateway/quantities";
import type { BoatStore } from "../../shell/boat_store.ts";
import { MAX_RECORDED, readTargets } from "./feed.ts";
import { NOW_PGNS, NowModel } from "./model.ts";

/** One device may send several values in turn with one PGN, such as tanks: messages of this time before are read, too. */
const BEFORE_MS = 10_000;

/** What the view showed at a time. */
export interface PastReadings {
  at: string;
  model: NowModel;
  /** Time of the first message that is known, RFC 3339. */
  since: string | undefined;
}

/** Reads the values and AIS targets of a time; without own track. @throws {ApiError} the time cannot be shown */
export async function readPast(
  boat: BoatStore,
  { at, signal }: { at: string; signal: AbortSignal },
): Promise<PastReadings> {
  const { client } = boat;
  const atMs = Date.parse(at);
  const [model, past] = [new NowModel(), client.at(at)];
  for (const device of await past.devices({ signal })) model.device(device);
  const newest = (await past.decodedValues({ pgn: [...NOW_PGNS] }, { signal })).flatMap(({ values, ...device }) =>
    values.map((value) => ({ ...device, ...value }))
  );
  // First, so that the order of the sources is always the same; last, as they are the newest.
  for (const each of newest) model.received(each);
  // Where more cannot be read, the newest messages are shown.
  await Promise.allSettled([
    client.sources({ signal }).then((all) => model.prefer(all)),
    readBefore(boat, { at, atMs, model, signal }),
    readTargets(boat, { model, nowMs: atMs, to: at, signal }),
  ]);
  for (const each of newest) model.received(each);
  return { at, model, since: past.since };
}

async function readBefore(
  { client }: BoatStore,
  { at, atMs, model, signal }: { at: string; atMs: number; model: NowModel; signal: AbortSignal },
): Promise<void> {
  const query = {
    pgn: [...QUANTITY_PGNS],
    from: new Date(atMs - BEFORE_MS),
    to: at,
    decode: true,
    limit: MAX_RECORDED,
  };
  for await (const frame of client.history(query, { signal })) model.received(frame);
}

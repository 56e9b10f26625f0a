import { SessionError } from "./session_types.ts";

/** An acknowledgement is refused when its frames are not synced after so long: the disk hangs, or fails. */
export const SYNC_PATIENCE_MS = 5000;

/**
 * Waits until the frames up to a number are synced; without a journal they need not be.
 *
 * @throws {SessionError} `not_durable`
 */
export async function syncThrough(
  seq: number,
  journal: { sync(through: number): Promise<void> } | undefined,
): Promise<void> {
  const synced = journal?.sync(seq);
  if (!synced) return;
  const patience = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => patience.resolve(false), SYNC_PATIENCE_MS);
  const isSynced = await Promise.race([synced.then(() => true, () => false), patience.promise]);
  clearTimeout(timer);
  if (isSynced) return;
  throw new SessionError("not_durable", `The frames up to ${seq} are not synced to disk: see journal in /healthz`);
}

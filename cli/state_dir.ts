import { join } from "node:path";

/** The state directory, held by this process until disposed of. */
export interface StateDir extends Disposable {
  readonly path: string;
}

const LOCK_FILE = "lock";
/** What is kept there is nobody else's business. */
const PRIVATE_MODE = 0o700;

/**
 * Makes the state directory when it is missing and takes it for this process. The lock goes with the process, however
 * that ends.
 *
 * @throws {Error} another process holds it, or it cannot be made or written
 */
export async function openStateDir(path: string): Promise<StateDir> {
  const lock = await openLock(path);
  // Not `lock()`: it holds up the whole program until the other one ends.
  if (!await lock.tryLock(true)) {
    lock.close();
    throw new Error(`Cannot use the state directory "${path}": another process uses it; -state-dir names another`);
  }
  return { path, [Symbol.dispose]: () => lock.close() };
}

async function openLock(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: PRIVATE_MODE });
    return await Deno.open(join(path, LOCK_FILE), { read: true, write: true, create: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot use the state directory "${path}": ${why}`, { cause: error });
  }
}

import { statfs } from "node:fs/promises";

/** Space of a file system. */
export interface DiskSpace {
  /** Bytes that this process may still write. */
  freeBytes: number;
  /** Its size, bytes. */
  totalBytes: number;
}

/** Reads the space of the file system of a path. @throws {Error} the path does not exist, or its system has no such figures */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

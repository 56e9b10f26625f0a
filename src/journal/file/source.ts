/** Location and first frame of a block, known without decompressing it. */
export interface BlockLocation {
  /** Offset of its header. */
  offset: number;
  /** Size including the header, bytes; 0: read the header. */
  bytes: number;
  /** Time of its first frame, microseconds since 1970. */
  timeUs: number;
  /** Number of its first frame; NaN in version 1. */
  seq: number;
  /** Upper bound for its frames, from the next block in the file; Infinity or NaN if unknown. */
  mostFrames?: number;
  /** The block itself if it is in no file: frames of a write-ahead log. */
  unsealed?: Uint8Array<ArrayBuffer> | undefined;
}

/** A journal file that is open for reading. */
export interface FileSource extends Disposable {
  /** Size when it was opened, bytes. */
  readonly bytes: number;
  /** Reads `length` bytes at an offset; fewer at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Where its blocks are, if that is known without reading them; left out or undefined: it is not. */
  blocks?(): Promise<readonly BlockLocation[] | undefined>;
}

/** A file that exists cannot be read now; another attempt may succeed. Nothing is known of its content. */
export class SourceUnavailableError extends Error {
  /** `SourceUnavailableError`. */
  override name = "SourceUnavailableError";
}

/**
 * Opens a file, given by its path, for reading: on the local disk, or where else a journal's files are.
 *
 * @throws {Deno.errors.NotFound} the file does not exist; also thrown by its `read`, as the next one
 * @throws {SourceUnavailableError} it cannot be read now
 */
export type OpenSource = (path: string) => Promise<FileSource>;

/** Opens a file of the local disk. */
export const openLocal: OpenSource = async (path) => {
  const file = await Deno.open(path, { read: true });
  try {
    return sourceOf(file, await file.stat());
  } catch (error) {
    file.close();
    throw error;
  }
};

/** An open file as a source, which closes it. */
export function sourceOf(file: Deno.FsFile, { size }: Pick<Deno.FileInfo, "size">): FileSource {
  return {
    bytes: size,
    read: (offset, length) => readFileAt(file, { offset, length }),
    [Symbol.dispose]: () => file.close(),
  };
}

/** Reads `length` bytes at an offset of an open file; fewer at its end. */
export async function readFileAt(
  file: Deno.FsFile,
  { offset, length }: { offset: number; length: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  await file.seek(offset, Deno.SeekMode.Start);
  let done = 0;
  while (done < length) {
    const read = await file.read(bytes.subarray(done));
    if (read === null) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

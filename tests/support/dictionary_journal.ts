import {
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
  FILE_HEADER_BYTES,
  parseFileHeader,
  readBlock,
} from "../../src/journal/mod.ts";

/** Every so many blocks one goes without a dictionary, as others' files do at their beginning. */
const PLAIN_EVERY = 5;
/** Peers write no larger ones. */
const MAX_DICTIONARY_BYTES = 8192;

/**
 * Packs a file that is not compressed as other software does, with the program `zstd`: each block with a dictionary of its
 * own, trained on the frames of the block before it.
 *
 * @param options.folder where files may be made, and stay
 * @returns how many blocks have a dictionary
 */
export async function packWithDictionaries(
  path: string,
  { folder, hasIndex }: { folder: string; hasIndex: boolean },
): Promise<number> {
  const file = await Deno.readFile(path);
  const { blockBytes, ...header } = parseFileHeader(file);
  const kind = { version: 2, compression: "zstd-dict" } as const;
  const parts = [encodeFileHeader({ ...header, ...kind, blockBytes })];
  const offsets: number[] = [];
  let [at, withDictionary] = [FILE_HEADER_BYTES, 0];
  for (let start = FILE_HEADER_BYTES; start + blockBytes <= file.length; start += blockBytes) {
    const bytes = file.slice(start, start + blockBytes);
    const { baseSeq = 0, baseTimeUs } = readBlock(bytes, { version: 2, blockBytes });
    const isPlain = offsets.length % PLAIN_EVERY === 0;
    const dictionary = isPlain
      ? new Uint8Array(0)
      : await train(file.slice(start - blockBytes, start), { folder, bytes: MAX_DICTIONARY_BYTES });
    const data = await zstd(bytes, { folder, dictionary });
    const head = { baseSeq, baseTimeUs, dictionaryBytes: dictionary.length, dataBytes: data.length };
    offsets.push(at);
    for (const part of [encodeBlockHeader(head, kind), dictionary, data]) {
      parts.push(part);
      at += part.length;
    }
    withDictionary += Number(!isPlain);
  }
  if (hasIndex) parts.push(encodeIndex(offsets));
  await Deno.writeFile(path, new Uint8Array(await new Blob(parts).arrayBuffer()));
  return withDictionary;
}

/** A dictionary that zstd has trained on pieces of these bytes. */
async function train(
  samples: Uint8Array<ArrayBuffer>,
  { folder, bytes }: { folder: string; bytes: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const [input, output] = [`${folder}/samples`, `${folder}/dictionary`];
  await Deno.writeFile(input, samples);
  await run("--train", "-q", "-B32", `--maxdict=${bytes}`, input, "-o", output);
  return await Deno.readFile(output);
}

async function zstd(
  bytes: Uint8Array<ArrayBuffer>,
  { folder, dictionary }: { folder: string; dictionary: Uint8Array<ArrayBuffer> },
): Promise<Uint8Array<ArrayBuffer>> {
  const [input, output, words] = [`${folder}/block`, `${folder}/block.zst`, `${folder}/words`];
  await Deno.writeFile(input, bytes);
  await Deno.writeFile(words, dictionary);
  const how = dictionary.length === 0 ? [] : ["-D", words];
  await run("-q", "-f", "--no-check", ...how, input, "-o", output);
  return await Deno.readFile(output);
}

async function run(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("zstd", { args, stdout: "null", stderr: "piped" }).output();
  if (!success) throw new Error(`zstd ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

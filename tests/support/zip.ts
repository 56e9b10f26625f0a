// Reads zip files as APPNOTE.TXT describes them, without code in common with what writes them.
import { crc32, inflateRawSync } from "node:zlib";

const END_BYTES = 22;
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;

/** The content of each entry by its name. @throws {Error} the file is not as described */
export function readZip(bytes: Uint8Array<ArrayBuffer>): Map<string, Uint8Array<ArrayBuffer>> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = bytes.length - END_BYTES;
  check(view.getUint32(end, true) === END, "the end");
  const entries = new Map<string, Uint8Array<ArrayBuffer>>();
  let at = view.getUint32(end + 16, true);
  for (let i = view.getUint16(end + 10, true); i > 0; i--) {
    check(view.getUint32(at, true) === ENTRY, "an entry of the directory");
    const [method, crc] = [view.getUint16(at + 10, true), view.getUint32(at + 16, true)];
    const [packed, plain] = [view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
    const [nameBytes, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const local = view.getUint32(at + 42, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameBytes!));
    check(view.getUint32(local, true) === LOCAL, `the entry ${name}`);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const data = bytes.slice(start, start + packed);
    const content = method === 8 ? Uint8Array.from(inflateRawSync(data)) : data;
    check(content.length === plain && crc32(content) === crc, `the content of ${name}`);
    entries.set(name, content);
    at += 46 + nameBytes! + extra! + comment!;
  }
  return entries;
}

function check(isRight: boolean, what: string): void {
  if (!isRight) throw new Error(`The zip file is damaged: ${what}`);
}

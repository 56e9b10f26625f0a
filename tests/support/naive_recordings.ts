import { formatHex } from "../../src/frame/mod.ts";
import type { RecordingFormat } from "../../src/can/mod.ts";

/** What a line says: `time id data`, with what the format does not tell left out. */
export type NaiveItem = { timeUs?: number; id: string; data: string };

const hex = (value: number) => value.toString(16).padStart(8, "0");

/** An identifier written down from ISO 11783-3, digit by digit. */
function identifier(pgn: number, { prio, src, dst }: { prio: number; src: number; dst: number }): string {
  const digits = pgn.toString(16).padStart(5, "0");
  const isAddressed = parseInt(digits.slice(1, 3), 16) < 0xf0;
  const low = isAddressed ? dst.toString(16).padStart(2, "0") : digits.slice(3);
  return hex(prio * 2 ** 26 + parseInt(digits.slice(0, 3) + low, 16) * 256 + src);
}

/** Of the formats that `tests/data` has recordings of. */
const NAIVE: Partial<Record<RecordingFormat, (text: string) => NaiveItem[]>> = {
  candump: (text) =>
    lines(text).flatMap((line): NaiveItem[] => {
      const words = line.split(/\s+/);
      if (line.startsWith("(")) {
        const [id = "", data = ""] = words[2]!.split("#");
        return [{ timeUs: Number(words[0]!.replace(/\D/g, "")), id: id.toLowerCase(), data: data.toLowerCase() }];
      }
      return line.startsWith("<0x") ? [{ id: line.slice(3, 11), data: words.slice(2).join("") }] : [];
    }),
  ydwg: (text) =>
    lines(text).map((line) => {
      const [time = "", , id = "", ...data] = line.split(" ");
      return {
        timeUs: Date.parse(`1970-01-01T${time}Z`) * 1000,
        id: id.toLowerCase(),
        data: data.join("").toLowerCase(),
      };
    }),
  csv: (text) =>
    lines(text).filter((line) => !line.startsWith("#")).flatMap((line): NaiveItem[] => {
      const [date = "", prio, pgn, src, dst, , ...data] = line.split(",");
      if (Number(pgn) >= 0x40000) return [];
      const timeUs = Date.parse(date.slice(0, 10) + "T" + date.slice(11, 23) + "Z") * 1000;
      return [{
        timeUs,
        id: identifier(Number(pgn), { prio: Number(prio), src: Number(src), dst: Number(dst) }),
        data: data.join(""),
      }];
    }),
  ikonvert: (text) =>
    lines(text).flatMap((line): NaiveItem[] => {
      const [word, pgn, prio, src, dst, timer, data = ""] = line.split(",");
      if (word !== "!PDGY" || !timer || !/^[^$!]{4,}$/.test(data) || data.length % 4 !== 0) return [];
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      return [{
        id: identifier(Number(pgn), { prio: Number(prio), src: Number(src), dst: Number(dst) }),
        data: formatHex(bytes),
      }];
    }),
  // Message by message, by the bytes that begin and end one; of the sample's kind only.
  ebl: (text) =>
    [...text.matchAll(/1002(93(?:..)*?)1003(?=1002|$)/g)].map(([, escaped = ""]) => {
      const bytes = escaped.match(/../g)!.join(" ").replaceAll("1b 1b", "1b").replaceAll("10 10", "10").split(" ");
      const [prio, specific, format, page, src] = bytes.slice(2).map((byte) => parseInt(byte, 16));
      return {
        id: identifier(page! * 65536 + format! * 256 + specific!, { prio: prio!, src: src!, dst: 255 }),
        data: bytes.slice(13, -1).join(""),
      };
    }),
};

/** Items of a recording, found with as little knowledge of the formats as will do for well-behaved ones. */
export function naiveItems(format: RecordingFormat, bytes: Uint8Array): NaiveItem[] {
  const read = NAIVE[format];
  if (!read) throw new Error(`no naive reader of ${format}`);
  return read(format === "ebl" ? formatHex(bytes) : new TextDecoder().decode(bytes));
}

function lines(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

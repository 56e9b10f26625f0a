import assert from "node:assert/strict";
import { formatHex, formatTimeUs, parseCanId } from "../../src/frame/mod.ts";
import { decodeAsCanboat } from "../../src/pgn/mod.ts";
import { type JournalMessage, journalsOf, messagesIn, payloadOf } from "../support/exported.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CommandRun } from "./dump_run.ts";

const OFFLINE = needs({ permissions: ["env", "read", "sys", "write"] });
const TCPDUMP = needs({ permissions: ["env", "read", "run", "sys", "write"], programs: ["tcpdump"] });
/** Times before 1973 count from the first frame for readers of candump's log. */
const MIN_DATE_US = 1e14;

async function exported(journal: string, ...args: string[]): Promise<void> {
  const { code, complaints } = await CommandRun.end(["export", journal, "-quiet", ...args]);
  assert.deepEqual([code, complaints], [0, ""], journal);
}

/** Messages as lines without the name of the bus, sorted: a journal is in the order of time. */
function textsOf(messages: readonly JournalMessage[]): string[] {
  return messages.map(({ frame }) => {
    const { prio, pgn, src, dst } = parseCanId(frame.id);
    return `${frame.timeUs} ${prio} ${pgn} ${src} ${dst} ${formatHex(payloadOf(frame))}`;
  }).sort();
}

Deno.test(
  "every recording as candump's log: converted again it has the same messages",
  OFFLINE,
  () =>
    inFolder(async (folder) => {
      for (const [name, journal] of await journalsOf(folder)) {
        const messages = await messagesIn(journal);
        const [log, again] = [`${folder}/${name}.log`, `${folder}/${name}.again`];
        await exported(journal, "-out", log);
        const [firstUs = 0] = messages.map(({ frame }) => frame.timeUs);
        const start = firstUs < MIN_DATE_US ? ["-start-time", formatTimeUs(firstUs)] : [];
        const { code, complaints } = await CommandRun.end(["convert", log, "-out", again, ...start]);
        assert.equal(code, 0, complaints);
        assert.deepEqual(textsOf(await messagesIn(again)), textsOf(messages), name);
      }
    }),
);

/** Frames of a capture as tcpdump prints them, in the form of candump's log without the bus. */
async function capturedFrames(path: string): Promise<string[]> {
  const { stdout } = await new Deno.Command("tcpdump", { args: ["-r", path, "-tt", "-x", "-n"] }).output();
  return new TextDecoder().decode(stdout).trim().split(/\n(?=\d)/).filter((packet) => packet !== "").map((packet) => {
    // It prints what it cannot interpret, and with -x again without characters.
    const [head = "", ...dump] = packet.split("\n");
    const bytes = (dump.at(-1) ?? "").replace(/^\s*0x0000:/, "").replaceAll(/\s/g, "");
    const [word, length, data] = [parseInt(bytes.slice(0, 8), 16), parseInt(bytes.slice(8, 10), 16), bytes.slice(16)];
    assert.deepEqual([word >>> 31, bytes.slice(10, 16), data.length], [1, "000000", 2 * length]);
    const id = (word & 0x1fffffff).toString(16).padStart(8, "0");
    return `(${(head.split(" ")[0] ?? "").padStart(17, "0")}) ${id}#${data}`.toUpperCase();
  });
}

Deno.test(
  "every recording as a packet capture: tcpdump finds the frames of candump's log",
  TCPDUMP,
  () =>
    inFolder(async (folder) => {
      for (const [name, journal] of await journalsOf(folder)) {
        const [log, capture] = [`${folder}/${name}.log`, `${folder}/${name}.pcap`];
        await exported(journal, "-out", log);
        await exported(journal, "-out", capture);
        const lines = (await Deno.readTextFile(log)).trimEnd().split("\n").map((line) => line.replace(/\) \S+ /, ") "));
        assert.ok(lines.length > 0, name);
        assert.deepEqual(await capturedFrames(capture), lines, name);
      }
    }),
);

Deno.test(
  "every recording in canboat's words: a line for each message, with the fields of its payload",
  OFFLINE,
  () =>
    inFolder(async (folder) => {
      for (const [name, journal] of await journalsOf(folder)) {
        const { lines } = await CommandRun.end(["export", journal, "-format", "canboat"]);
        const expected = (await messagesIn(journal)).map(({ frame }) => {
          const { prio, pgn, src, dst } = parseCanId(frame.id);
          const timestamp = new Date(Math.floor(frame.timeUs / 1000)).toISOString();
          return { timestamp, prio, src, dst, pgn, ...decodeAsCanboat(pgn, payloadOf(frame)) };
        });
        assert.deepEqual(lines.map((line) => JSON.parse(line)), expected, name);
      }
    }),
);

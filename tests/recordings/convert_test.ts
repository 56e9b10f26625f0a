import assert from "node:assert/strict";
import { ConvertError, type ConvertOptions, convertRecordings, OutputExistsError } from "../../src/recordings/mod.ts";
import { formatHex } from "../../src/frame/mod.ts";
import { frameText, journalBlocks, messagesOf, messageText, namesIn, readJournal } from "../support/converted.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { cut, isComplete, sampleBytes, SAMPLES, streamOf } from "../support/recordings.ts";

const DISK = needs({ permissions: ["read", "write"] });
const CANDUMP = "candump_sample3.txt";

type Pieces = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

function chunksOf(pieces: Pieces): AsyncIterable<Uint8Array> {
  if (typeof pieces === "string") return streamOf([new TextEncoder().encode(pieces)]);
  if (pieces instanceof Uint8Array) return streamOf([pieces]);
  return Symbol.asyncIterator in pieces ? pieces : streamOf(pieces);
}

/** Converts recordings into one file. */
async function convert(folder: string, inputs: readonly Pieces[], options: Partial<ConvertOptions> = {}) {
  const to = { kind: "file", path: `${folder}/out.lpj` } as const;
  const named = inputs.map((pieces, i) => ({ name: `input ${i + 1}`, chunks: chunksOf(pieces) }));
  return await convertRecordings(named, { to, ...options });
}

/** A line of candump. */
function line(ms: number, { bus = "can0", id = "09F11223", data = "FF725AFF7FFF7FFD" } = {}): string {
  const seconds = Math.floor(ms / 1000);
  return `(${1_700_000_000 + seconds}.${String(ms % 1000).padStart(3, "0")}000) ${bus} ${id}#${data}\n`;
}

for (const { file, lines } of SAMPLES) {
  Deno.test(
    `every message of ${file} is in the journal once, with its time, header and data`,
    DISK,
    () =>
      inFolder(async (folder) => {
        const bytes = sampleBytes(file);
        const { inputs: [input], files, messages } = await convert(folder, [bytes]);
        const { frames } = await readJournal(files[0]!.path);
        const expected = await messagesOf(bytes);
        assert.deepEqual(frames.map(frameText).sort(), expected.map(messageText).sort());
        assert.deepEqual(frames.map(({ seq }) => Number(seq)), frames.map((_, i) => i + 1));
        assert.equal(messages, expected.length);
        assert.equal(input!.converted, expected.length);
        assert.equal(input!.recording.lines, lines);
        assert.ok(isComplete(input!.recording));
        assert.deepEqual(await namesIn(folder), ["out.lpj"]);
      }),
  );
}

Deno.test("the same recording gives the same bytes, however its bytes come", DISK, () =>
  inFolder(async (folder) => {
    const bytes = sampleBytes(CANDUMP);
    const { epoch } = await convert(folder, [bytes]);
    const first = await Deno.readFile(`${folder}/out.lpj`);
    assert.match(epoch, /^(?!0{32})[0-9a-f]{32}$/);
    for (let seed = 0; seed < 3; seed++) {
      const pieces = cut(bytes, { random: new Random(seed), most: 3000 });
      const again = await convert(folder, [pieces], { overwrite: true });
      assert.equal(again.epoch, epoch);
      assert.deepEqual(await Deno.readFile(`${folder}/out.lpj`), first);
    }
  }));

Deno.test(
  "another compression keeps numbers and epoch; another recording has another epoch",
  DISK,
  () =>
    inFolder(async (folder) => {
      const packed = await convert(folder, [sampleBytes(CANDUMP)]);
      const { frames, indexed } = await readJournal(packed.files[0]!.path);
      assert.ok(indexed);
      const plain = await convert(folder, [sampleBytes(CANDUMP)], { compression: "none", overwrite: true });
      assert.equal(plain.epoch, packed.epoch);
      const read = await readJournal(plain.files[0]!.path);
      assert.equal(read.compression, 0);
      assert.deepEqual(read.frames, frames);
      const other = await convert(folder, [line(1)], { overwrite: true });
      assert.notEqual(other.epoch, packed.epoch);
    }),
);

Deno.test("a recording that has grown keeps epoch and numbers", DISK, () =>
  inFolder(async (folder) => {
    const lines = Array.from({ length: 9000 }, (_, i) => line(i, { data: `${i}`.padStart(16, "0") }));
    const early = await convert(folder, [lines.slice(0, 8500).join("")]);
    const { frames } = await readJournal(early.files[0]!.path);
    const late = await convert(folder, [lines.join("") + line(9001, { bus: "can1" })], { overwrite: true });
    const grown = await readJournal(late.files[0]!.path);
    assert.equal(late.epoch, early.epoch);
    assert.deepEqual(grown.frames.slice(0, 8500), frames);
  }));

Deno.test(
  "a recording cut off anywhere is converted up to there, and what is torn is told",
  DISK,
  () =>
    inFolder(async (folder) => {
      for (const { file } of SAMPLES) {
        const bytes = sampleBytes(file);
        const random = new Random(bytes.length);
        for (let run = 0; run < 5; run++) {
          const part = bytes.subarray(0, random.between(Math.floor(bytes.length / 2), bytes.length));
          const { inputs: [input], files, messages } = await convert(folder, [part], { overwrite: true });
          assert.ok(isComplete(input!.recording), file);
          const frames = files[0] ? (await readJournal(files[0].path)).frames : [];
          assert.equal(frames.length, messages);
          assert.deepEqual(frames.map(frameText).sort(), (await messagesOf(part)).map(messageText).sort());
        }
      }
    }),
);

Deno.test("garbage between lines costs those lines alone, and is told", DISK, () =>
  inFolder(async (folder) => {
    const random = new Random(7);
    const good = Array.from({ length: 50 }, (_, i) => line(i));
    const bad = good.map(() => `${formatHex(random.bytes(20))}\n`);
    const { inputs: [input], messages } = await convert(folder, [good.flatMap((text, i) => [text, bad[i]!]).join("")]);
    assert.equal(messages, 50);
    assert.equal(input!.recording.bad, 50);
    assert.deepEqual(input!.recording.firstBad[0], { line: 2, why: "not a line of candump", text: bad[0]!.trim() });
  }));

Deno.test(
  "what is no recording is refused by its name, and nothing is written",
  DISK,
  () =>
    inFolder(async (folder) => {
      const random = new Random(11);
      const refused = (pieces: Pieces, reason: ConvertError["reason"], options: Partial<ConvertOptions> = {}) =>
        assert.rejects(convert(folder, [line(1), pieces], options), (error: unknown) => {
          assert.ok(error instanceof ConvertError, String(error));
          assert.equal(error.reason, reason);
          assert.match(error.message, /^Cannot convert "input 2": /);
          return true;
        });
      await refused(Uint8Array.from(random.bytes(100_000), (byte) => byte & 0x7f), "format");
      await refused("", "format");
      await refused("no recording\n", "format");
      const broken = async function* () {
        yield new TextEncoder().encode(line(2).repeat(20_000));
        await Promise.reject(new Error("the disk is gone"));
      };
      await refused(broken(), "unreadable");
      const buses = ["a", "b", "c", "d"].map((bus) => line(3, { bus })).join("");
      await refused(buses, "buses");
      assert.deepEqual(await namesIn(folder), []);
      await convert(folder, [line(1)]);
      const journal = await Deno.readFile(`${folder}/out.lpj`);
      await refused(journal, "journal", { overwrite: true });
      assert.deepEqual(await Deno.readFile(`${folder}/out.lpj`), journal);
      assert.deepEqual(await namesIn(folder), ["out.lpj"]);
    }),
);

Deno.test("a file that is there stays as it is unless it may be written over", DISK, () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/out.lpj`, "precious");
    await assert.rejects(convert(folder, [line(1)]), OutputExistsError);
    assert.equal(await Deno.readTextFile(`${folder}/out.lpj`), "precious");
    await convert(folder, [line(1)], { overwrite: true });
    assert.equal((await readJournal(`${folder}/out.lpj`)).frames.length, 1);
    const to = { kind: "directory", path: folder } as const;
    const [file] = (await convert(folder, [line(1)], { to })).files;
    const before = await Deno.readFile(file!.path);
    await assert.rejects(convert(folder, [line(1) + line(2)], { to }), OutputExistsError);
    assert.deepEqual(await Deno.readFile(file!.path), before);
    assert.deepEqual(await namesIn(folder), ["nmea2k-20231114T221320.001Z.lpj", "out.lpj"]);
  }));

Deno.test(
  "of several files none is written when one may not be; what a killed run left is taken away",
  DISK,
  () =>
    inFolder(async (folder) => {
      const hours = Array.from({ length: 5 }, (_, i) => line(i * 3_600_000)).join("");
      const taken = "nmea2k-20231115T001320.000Z.lpj";
      await Deno.writeTextFile(`${folder}/${taken}`, "precious");
      await Deno.writeTextFile(`${folder}/.nmea2k-20231114T221320.000Z.lpj.tmp`, "half a file");
      const options = { to: { kind: "directory", path: folder }, rotateDurationMs: 3_600_000 } as const;
      await assert.rejects(convert(folder, [hours], options), new RegExp(`^OutputExistsError: .*${taken}`));
      assert.deepEqual(await namesIn(folder), [taken]);
      assert.equal(await Deno.readTextFile(`${folder}/${taken}`), "precious");
      const { files } = await convert(folder, [hours], { ...options, overwrite: true });
      assert.deepEqual(await namesIn(folder), files.map(({ path }) => path.slice(folder.length + 1)));
    }),
);

Deno.test("a recording without messages writes nothing", DISK, () =>
  inFolder(async (folder) => {
    const { files, messages, inputs } = await convert(folder, ["# nothing\n"], { format: "candump" });
    assert.deepEqual([files, messages, inputs[0]!.recording.lines], [[], 0, 1]);
    assert.deepEqual(await namesIn(folder), []);
  }));

Deno.test(
  "a directory gets files by time and by size, named by their first message, none twice",
  DISK,
  () =>
    inFolder(async (folder) => {
      const minutes = Array.from({ length: 300 }, (_, i) => line(i * 60_000)).join("");
      const to = { kind: "directory", path: `${folder}/deep/journal` } as const;
      const { files } = await convert(folder, [minutes], { to, prefix: "log", rotateDurationMs: 3_600_000 });
      const hours = ["2213", "2313", "0013", "0113", "0213"];
      const names = hours.map((hour, i) => `log-202311${i < 2 ? 14 : 15}T${hour}20.000Z.lpj`);
      assert.deepEqual(await namesIn(to.path), names);
      assert.deepEqual(
        files.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq]),
        hours.map((_, i) => [60 * i + 1, 60 * i + 60]),
      );
      const read = await Promise.all(files.map(({ path }) => readJournal(path)));
      assert.deepEqual(
        read.flatMap(({ frames }) => frames.map(frameText)),
        (await messagesOf(new TextEncoder().encode(minutes))).map(messageText),
      );
      for (const [i, { bytes, blocks }] of read.entries()) {
        assert.deepEqual([bytes.length, blocks.length], [files[i]!.bytes, files[i]!.blocks]);
      }
      for (const [rotateBytes, expected] of [[4112, [1, 1]], [4113, [2]]] as const) {
        const place = { kind: "directory", path: `${folder}/${rotateBytes}` } as const;
        const sized = await convert(folder, [minutes], {
          to: place,
          blockBytes: 4096,
          compression: "none",
          rotateBytes,
        });
        assert.deepEqual(sized.files.map(({ blocks }) => blocks), expected);
        assert.deepEqual(await namesIn(place.path), sized.files.map(({ path }) => path.slice(place.path.length + 1)));
      }
    }),
);

Deno.test(
  "devices that told of themselves are in the table of every later block",
  DISK,
  () =>
    inFolder(async (folder) => {
      const claim = line(0, { id: "18EEFF23", data: "05A0BE1C00A0A0C0" });
      const later = Array.from({ length: 1000 }, (_, i) => line(i + 1)).join("");
      await convert(folder, [claim + later], { blockBytes: 4096 });
      const { blocks } = await readJournal(`${folder}/out.lpj`);
      assert.ok(blocks.length > 3);
      for (const { devices } of blocks) {
        assert.deepEqual([devices[0]!.src, devices[0]!.name, devices[0]!.activeFrom], [0x23, 0xc0a0a0001cbea005n, 0]);
      }
    }),
);

Deno.test(
  "product information is told with its device, in the block of its claim, too",
  DISK,
  () =>
    inFolder(async (folder) => {
      const csv = (pgn: number, data: Uint8Array) =>
        `2024-01-01T00:00:00Z,6,${pgn},35,255,${data.length},${
          Array.from(data, (byte) => byte.toString(16)).join(",")
        }\n`;
      const texts = ["Fish finder", "1.2", "B", "42"];
      const product = new Uint8Array(134).fill(0xff);
      product.set([0x34, 0x08, 0xd2, 0x04]);
      texts.forEach((text, i) => product.set(new TextEncoder().encode(text), 4 + 32 * i));
      const name = Uint8Array.fromHex("05a0be1c00a0a0c0");
      await convert(folder, ["# format=FAST\n" + csv(60928, name) + csv(126996, product)]);
      const { blocks } = await readJournal(`${folder}/out.lpj`);
      const expected = { src: 35, name: 0xc0a0a0001cbea005n, activeFrom: 0, productCode: 1234, texts };
      assert.deepEqual(blocks[0]!.devices.at(-1), expected);
    }),
);

Deno.test(
  "buses keep their names over all recordings, and blocks tell those that are known",
  DISK,
  () =>
    inFolder(async (folder) => {
      const first = ["can1", "can0"].map((bus, i) => line(i, { bus })).join("");
      const second = ["can0", "vcan9", "can1"].map((bus, i) => line(10 + i, { bus })).join("");
      const { buses } = await convert(folder, [first, second], { compression: "none" });
      assert.deepEqual(buses, ["can1", "can0", "vcan9"]);
      const blocks = await journalBlocks(`${folder}/out.lpj`);
      assert.deepEqual(blocks.map(({ metadata }) => metadata.buses), [buses]);
      assert.deepEqual(blocks.flatMap(({ frames }) => frames.map(({ bus }) => bus)), [0, 1, 1, 2, 0]);
      const late = Array.from({ length: 12_000 }, (_, i) => line(i)).join("") + line(12_000, { bus: "can7" });
      const grown = await convert(folder, [late], { compression: "none", overwrite: true });
      const named = (await journalBlocks(`${folder}/out.lpj`)).map(({ metadata }) => metadata.buses);
      assert.deepEqual([named[0], named.at(-1), grown.buses], [["can0"], ["can0", "can7"], ["can0", "can7"]]);
      await convert(folder, [sampleBytes("ikonvert_head.txt")], { compression: "none", overwrite: true });
      const [unnamed] = await journalBlocks(`${folder}/out.lpj`);
      assert.equal(unnamed!.metadata.buses, undefined);
      assert.equal(unnamed!.metadata.epoch?.length, 16);
    }),
);

Deno.test(
  "recordings follow one another; one without dates begins where the last one ends",
  DISK,
  () =>
    inFolder(async (folder) => {
      const startTime = new Date("2024-05-06T07:08:09Z");
      const bytes = sampleBytes("ikonvert_head.txt");
      const { inputs, messages } = await convert(folder, [bytes, bytes], { startTime });
      assert.deepEqual(inputs.map(({ isContinued }) => isContinued), [false, true]);
      const { frames } = await readJournal(`${folder}/out.lpj`);
      const half = messages / 2;
      assert.equal(Number(frames[0]!.timeUs), startTime.getTime() * 1000);
      assert.equal(frames[half]!.timeUs, frames[half - 1]!.timeUs);
      assert.deepEqual(frames.slice(0, half).map(({ data }) => data), frames.slice(half).map(({ data }) => data));
      const dated = await convert(folder, [bytes, line(1)], { startTime, overwrite: true });
      assert.deepEqual(dated.inputs.map(({ isContinued }) => isContinued), [false, false]);
    }),
);

Deno.test(
  "times a little out of order are put in order, and a clock that was set back begins a block",
  DISK,
  () =>
    inFolder(async (folder) => {
      const timesMs = [0, 10, 5, 500, 20, 999, 1000, 3000, 2500, 100_000, 30_000, 30_010, 30_005];
      await convert(folder, [timesMs.map((ms) => line(ms)).join("")]);
      const { blocks } = await readJournal(`${folder}/out.lpj`);
      const inBlocks = blocks.map(({ frames }) => frames.map(({ timeUs }) => Number(timeUs) / 1000 - 1.7e12));
      assert.deepEqual(inBlocks, [
        [0, 5, 10, 20, 500, 999, 1000, 2500, 3000, 100_000],
        [30_000, 30_005, 30_010],
      ]);
    }),
);

Deno.test(
  "a time that no journal can hold costs one message, which is counted",
  DISK,
  () =>
    inFolder(async (folder) => {
      const csv = ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "9999-01-01T00:00:00Z"];
      const { inputs: [input], messages } = await convert(folder, [
        csv.map((day) => `${day},7,127250,1,255,1,12\n`).join(""),
      ]);
      assert.deepEqual([messages, input!.converted, input!.unstorable], [2, 2, 2]);
      const { frames } = await readJournal(`${folder}/out.lpj`);
      assert.deepEqual(frames.map(({ timeUs }) => Number(timeUs)), [-1e6, Date.UTC(2024, 0) * 1000]);
    }),
);

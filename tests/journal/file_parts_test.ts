import assert from "node:assert/strict";
import { Random } from "../support/random.ts";
import { formatFileName, nextFileName, parseFileName } from "../../src/journal/file/name.ts";
import { convertRecordings } from "../../src/recordings/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { crc32c } from "../../src/journal/mod.ts";
import { readingAhead } from "../../src/journal/index/file_index.ts";

Deno.test("a file is named after its prefix and the time of its first frame, in UTC with milliseconds", () => {
  assert.equal(formatFileName("nmea2k", 1_749_988_800_123_456), "nmea2k-20250615T120000.123Z.lpj");
  assert.deepEqual(parseFileName("nmea2k-20250615T120000.123Z.lpj"), { prefix: "nmea2k", timeMs: 1_749_988_800_123 });
  assert.deepEqual(parseFileName("my-boat-20250615T120000Z.lpj"), { prefix: "my-boat", timeMs: 1_749_988_800_000 });
});

Deno.test("names that are not ours, or no date, say nothing", () => {
  for (
    const name of [
      "x.lpj",
      "nmea2k-20251315T120000.000Z.lpj",
      "nmea2k-20250231T120000.000Z.lpj",
      "a-20250615T120000.000Z.txt",
    ]
  ) {
    assert.equal(parseFileName(name), undefined, name);
  }
});

Deno.test("a name that is taken gets a millisecond more, and none sorts before the newest", () => {
  const taken = new Set(["nmea2k-20250615T120000.000Z.lpj", "nmea2k-20250615T120000.001Z.lpj"]);
  const isTaken = (name: string) => taken.has(name);
  const timeUs = 1_749_988_800_000_000;
  assert.equal(nextFileName("nmea2k", { timeUs, isTaken }), "nmea2k-20250615T120000.002Z.lpj");
  const after = "nmea2k-20270101T000000.000Z.lpj";
  assert.equal(nextFileName("nmea2k", { timeUs, after, isTaken }), "nmea2k-20270101T000000.001Z.lpj");
});

Deno.test("a date that cannot be true is in no name: the file is named right after the newest one", () => {
  const isTaken = () => false;
  const wrongUs = Date.UTC(2252, 0, 1) * 1000;
  const after = "nmea2k-20260101T000000.000Z.lpj";
  assert.equal(nextFileName("nmea2k", { timeUs: wrongUs, after, isTaken }), "nmea2k-20260101T000000.001Z.lpj");
  const longAgo = "nmea2k-20400101T000000.000Z.lpj";
  const tenYearsLater = Date.UTC(2050, 6, 1) * 1000;
  assert.equal(
    nextFileName("nmea2k", { timeUs: tenYearsLater, after: longAgo, isTaken }),
    "nmea2k-20400101T000000.001Z.lpj",
  );
  assert.equal(nextFileName("nmea2k", { timeUs: wrongUs, isTaken }), "nmea2k-19700101T000000.000Z.lpj");
});

Deno.test("a frame of tomorrow is named after now where the time of day is known, and one of this hour after itself", () => {
  const isTaken = () => false;
  const nowMs = Date.UTC(2026, 0, 1);
  const later = (ms: number) => nextFileName("nmea2k", { timeUs: (nowMs + ms) * 1000, isTaken, nowMs });
  assert.equal(later(3_600_000), "nmea2k-20260101T010000.000Z.lpj");
  assert.equal(later(3 * 86_400_000), "nmea2k-20260101T000000.000Z.lpj");
});

Deno.test("whatever clocks say, names sort as files follow each other and are never of a date that is far ahead", () => {
  const random = new Random(7);
  const taken = new Set<string>();
  let after: string | undefined;
  for (let i = 0; i < 2000; i++) {
    const year = random.pick([1970, 2019, 2025, 2026, 2027, 2036, 2070, 2252, 9999]);
    const timeUs = (Date.UTC(year, 0, 1) + random.int(86_400_000)) * 1000;
    const nowMs = random.chance(0.5) ? Date.UTC(2026, 0, 2) : undefined;
    const name: string = nextFileName("nmea2k", { timeUs, after, isTaken: (each) => taken.has(each), nowMs });
    assert.ok(after === undefined || name > after, `${name} after ${after}`);
    assert.ok(name < "nmea2k-2100", name);
    taken.add(name);
    after = name;
  }
});

const DISK = needs({ permissions: ["read", "write"] });

function modeOf(path: string): string {
  return (Deno.statSync(path).mode! & 0o777).toString(8);
}

/** Every file of frames below a directory, with its mode. */
function framesIn(directory: string): [name: string, mode: string][] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).toSorted()
    .filter((name) => name.endsWith(".lpj") || name.startsWith("tail"))
    .map((name) => [name.replace(/-20.*Z/, ""), modeOf(`${directory}/${name}`)]);
}

Deno.test("a recording is for its owner and group, and a directory that was there keeps its mode", {
  ...DISK,
  ignore: DISK.ignore || Deno.build.os === "windows",
}, () =>
  inFolder(async (folder) => {
    const before = Deno.umask(0o022);
    try {
      Deno.mkdirSync(`${folder}/there`, { mode: 0o755 });
      for (const [name, mode] of [["made", "750"], ["there", "755"]]) {
        const directory = `${folder}/${name}`;
        await using boat = await TestBoat.start({
          journal: { directory, stateDirectory: directory, syncIntervalMs: 50 },
        });
        boat.say();
        await eventually("a tail", () => framesIn(directory).some(([each]) => each.startsWith("tail")));
        assert.ok(framesIn(directory).every(([, each]) => each === "640"), JSON.stringify(framesIn(directory)));
        await boat.boat.stop();
        assert.ok(framesIn(directory).some(([each, found]) => each === "nmea2k.lpj" && found === "640"));
        assert.equal(modeOf(directory), mode);
      }
      const line = new TextEncoder().encode("(1767323045.000000) can0 09F11201#0102030405060708\n");
      const to = { kind: "directory" as const, path: `${folder}/converted` };
      await convertRecordings([{ name: "x.log", chunks: ReadableStream.from([line]) }], { to });
      assert.deepEqual([modeOf(to.path), framesIn(to.path).map(([, mode]) => mode)], ["750", ["640"]]);
    } finally {
      Deno.umask(before);
    }
  }));

/** Bit by bit, as the polynomial says it. */
function slowCrc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

Deno.test("crc32c: the check value of the polynomial, and of nothing", () => {
  assert.equal(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
  assert.equal(crc32c(new Uint8Array(0)), 0);
});

Deno.test("crc32c: the test patterns of RFC 3720 appendix B.4", () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => 31 - i)), 0x113fdb5c);
});

Deno.test("crc32c: any length at any place is as bit by bit, in one piece or two", () => {
  const random = new Random(1);
  for (let round = 0; round < 500; round++) {
    const data = random.bytes(random.int(100)).subarray(random.int(9));
    const cut = random.int(data.length + 1);
    assert.equal(crc32c(data), slowCrc32c(data));
    assert.equal(crc32c(data.subarray(cut), crc32c(data.subarray(0, cut))), crc32c(data));
  }
});

Deno.test("reading ahead gives the same bytes, and asks far less often for pieces one behind the other", async () => {
  const random = new Random(4);
  const file = random.bytes(20_000);
  let reads = 0;
  const read = (offset: number, length: number) => {
    reads++;
    return Promise.resolve(file.slice(offset, offset + length));
  };
  const ahead = readingAhead(read, 1000);
  for (let i = 0; i < 500; i++) {
    const [offset, length] = [random.int(21_000), random.int(1500)];
    assert.deepEqual(await ahead(offset, length), file.slice(offset, offset + length));
  }
  reads = 0;
  for (let offset = 0; offset < 20_000; offset += 100) await ahead(offset, 24);
  assert.ok(reads <= 21, `${reads} reads`);
});

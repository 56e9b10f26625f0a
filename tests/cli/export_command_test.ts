import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { namesIn } from "../support/converted.ts";
import { mayMount, onSmallDisk } from "../support/mounts.ts";
import { needs } from "../support/needs.ts";
import { OWN_WORDS } from "../support/own_words.ts";
import { sampleBytes } from "../support/recordings.ts";
import { taskArgs } from "../support/task.ts";
import { CommandRun } from "./dump_run.ts";

const OFFLINE = needs({ permissions: ["env", "read", "sys", "write"] });
const PTY = needs({ permissions: ["env", "read", "run", "sys", "write"], programs: ["bash", "head"] });
const MOUNTS = needs({
  permissions: ["env", "read", "run", "sys", "write"],
  others: { "the right to mount": mayMount() },
});
const MESSAGES = 1874;

/** A recording, and small blocks of the journal that is made of it. */
function withJournal(test: (paths: { folder: string; log: string; journal: string }) => Promise<void>) {
  return () =>
    inFolder(async (folder) => {
      const [log, journal] = [`${folder}/bus.log`, `${folder}/bus.lpj`];
      await Deno.writeFile(log, sampleBytes("candump_sample3.txt"));
      const args = ["-block-size", "4096", "-compression", "none", "-out", journal];
      assert.equal((await CommandRun.end(["convert", log, ...args])).code, 0);
      await test({ folder, log, journal });
    });
}

const seqsOf = (csv: string): number[] => csv.trimEnd().split("\n").slice(1).map((row) => Number(row.split(",")[7]));

Deno.test(
  "a file, a directory of files and a recording of another program give the same rows, without NAMEs",
  OFFLINE,
  withJournal(async ({ folder, log, journal }) => {
    await Deno.mkdir(`${folder}/kept`);
    await Deno.copyFile(journal, `${folder}/kept/bus.lpj`);
    const texts = await Promise.all([journal, `${folder}/kept`, log].map(async (path) => {
      const { code, text, complaints } = await CommandRun.end(["export", path]);
      assert.deepEqual([code, complaints], [0, ""], path);
      return text.replaceAll(/0x[0-9a-f]{16}/g, "");
    }));
    assert.equal(seqsOf(texts[0] ?? "").length, MESSAGES);
    assert.deepEqual(texts.slice(1), [texts[0], texts[0]]);
  }),
);

Deno.test(
  "filters and expressions select the messages that vbg dump shows",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const { frames } = await CommandRun.end(["dump", journal]).then(({ lines }) => ({
      frames: lines.map((line) => JSON.parse(line)),
    }));
    const name = frames.find((frame) => frame.name !== undefined)?.name;
    const choices = [
      ["-pgn", "127250,130306"],
      ["-exclude-pgn", "127250"],
      ["-manufacturer", "Raymarine"],
      ["-name", name],
      ["-exclude-name", name],
      ["-instance", "0"],
      ["-bus", "slcan0"],
      ["-bus", "other"],
      ["-where", "heading > 2.316 and src.manufacturer != 'Furuno'"],
      ["-where", "heading > 132.7 deg", "-exclude-pgn", "130306"],
    ];
    const counts = new Set<number>();
    for (const choice of choices) {
      const { lines } = await CommandRun.end(["dump", journal, ...choice]);
      const { text } = await CommandRun.end(["export", journal, ...choice]);
      const seqs = lines.map((line) => JSON.parse(line).seq);
      assert.deepEqual(seqsOf(text), seqs, choice.join(" "));
      counts.add(seqs.length);
    }
    assert.ok(counts.size >= 6 && counts.has(0), [...counts].join());
    const { code, complaints } = await CommandRun.end(["export", journal, "-where", "pgn = 1"]);
    assert.equal(code, 2);
    assert.match(complaints, /^vbg export: flag -where: Cannot read the expression at column 5/);
  }),
);

Deno.test(
  "-from and -to include their times; -interval keeps the first message of each source and PGN, of those that match",
  OFFLINE,
  withJournal(async ({ folder, journal }) => {
    const { text } = await CommandRun.end(["export", journal]);
    const rows = text.trimEnd().split("\n").slice(1).map((row) => row.split(","));
    const [from, to] = [rows[500]?.[0] ?? "", rows[900]?.[0] ?? ""];
    const between = rows.filter(([time = ""]) => time >= from && time <= to).map((row) => Number(row[7]));
    await Deno.mkdir(`${folder}/kept`);
    await Deno.copyFile(journal, `${folder}/kept/bus.lpj`);
    for (const path of [journal, `${folder}/kept`]) {
      const cut = await CommandRun.end(["export", path, "-from", from, "-to", to]);
      assert.deepEqual(seqsOf(cut.text), between);
    }
    const firsts = (wanted: typeof rows) => {
      const seen = new Set<string>();
      return wanted.filter((row) => {
        const key = [row[0]?.slice(0, "2017-08-17T15:47:46".length), row[2], row[6]].join();
        return seen.has(key) ? false : seen.add(key);
      }).map((row) => Number(row[7]));
    };
    const sparse = await CommandRun.end(["export", journal, "-interval", "1s"]);
    assert.deepEqual(seqsOf(sparse.text), firsts(rows));
    const odd = "seq == 3 or seq == 11 or seq >= 700";
    const some = await CommandRun.end(["export", journal, "-interval", "1s", "-where", odd]);
    assert.deepEqual(
      seqsOf(some.text),
      firsts(rows.filter((row) => [3, 11].includes(Number(row[7])) || Number(row[7]) >= 700)),
    );
    const { code, complaints } = await CommandRun.end(["export", journal, "-from", to, "-to", from]);
    assert.deepEqual([code, complaints.split("\n")[0]], [
      2,
      "vbg export: Cannot export: -to is before -from",
    ]);
  }),
);

Deno.test(
  "damaged blocks are skipped and counted, and the rest is exported",
  OFFLINE,
  withJournal(async ({ folder, journal }) => {
    const bytes = await Deno.readFile(journal);
    for (const block of [2, 4]) bytes[16 + block * 4096 + 1000]! ^= 0xff;
    await Deno.mkdir(`${folder}/kept`);
    for (const path of [`${folder}/damaged.lpj`, `${folder}/kept/bus.lpj`]) await Deno.writeFile(path, bytes);
    for (const path of [`${folder}/damaged.lpj`, `${folder}/kept`]) {
      const { code, text, complaints } = await CommandRun.end(["export", path]);
      assert.equal(code, 0);
      assert.match(complaints, /damaged block skipped[^]*\nvbg export: 2 damaged blocks skipped$/);
      const count = seqsOf(text).length;
      assert.ok(count > 1000 && count < MESSAGES, `${count}`);
    }
  }),
);

Deno.test(
  "the format is that of -format, else of the ending of the file, else csv",
  OFFLINE,
  withJournal(async ({ folder, journal }) => {
    const firstBytes = async (name: string, ...args: string[]) => {
      const path = `${folder}/${name}`;
      assert.equal((await CommandRun.end(["export", journal, "-out", path, ...args])).code, 0);
      return new TextDecoder("latin1").decode((await Deno.readFile(path)).subarray(0, 9));
    };
    assert.equal(await firstBytes("a.csv"), "time,bus,");
    assert.equal(await firstBytes("a.txt"), "time,bus,");
    assert.equal((await firstBytes("a.parquet")).slice(0, 4), "PAR1");
    assert.equal((await firstBytes("a.pcap")).slice(0, 4), "\xd4\xc3\xb2\xa1");
    assert.equal(await firstBytes("a.log"), "(15029848");
    assert.equal(await firstBytes("a.json"), '{"timesta');
    assert.equal(await firstBytes("b.csv", "-format", "canboat"), '{"timesta');
  }),
);

Deno.test(
  "an existing file is not overwritten without -force; what is no file never is; a directory has tables only",
  OFFLINE,
  withJournal(async ({ folder, journal }) => {
    const run = async (...args: string[]) => {
      const { code, complaints } = await CommandRun.end(["export", journal, ...args]);
      return `${code} ${complaints.split("\n")[0]}`.replaceAll(folder, "DIR");
    };
    await Deno.writeTextFile(`${folder}/kept.csv`, "kept");
    await Deno.mkdir(`${folder}/out`);
    await Deno.writeTextFile(`${folder}/out/wind_data.csv`, "kept");
    const exists = "it is there already; -force overwrites it";
    assert.equal(await run("-out", `${folder}/kept.csv`), `2 vbg export: Cannot write "DIR/kept.csv": ${exists}`);
    assert.equal(await run("-out", `${folder}/out`), `2 vbg export: Cannot write "DIR/out/wind_data.csv": ${exists}`);
    assert.deepEqual(await namesIn(`${folder}/out`), ["wind_data.csv"]);
    for (const path of ["kept.csv", "out/wind_data.csv"]) {
      assert.equal(await Deno.readTextFile(`${folder}/${path}`), "kept");
    }
    await Deno.symlink(`${folder}/kept.csv`, `${folder}/link.csv`);
    assert.match(
      await run("-out", `${folder}/link.csv`, "-force"),
      /^2 .*"DIR\/link.csv": it is there, and is no regular file/,
    );
    assert.match(
      await run("-out", `${folder}/none/a.csv`),
      /^1 vbg export: Cannot write "DIR\/none\/a.csv": No such file/,
    );
    assert.match(
      await run("-out", `${folder}/kept.csv/a.csv`),
      /^1 vbg export: Cannot write "DIR\/kept.csv\/a.csv": Not a dir/,
    );
    assert.match(await run("-out", `${folder}/kept.csv/`), /^1 vbg export: Cannot create "DIR\/kept.csv": /);
    assert.match(
      await run("-out", `${folder}/out/`, "-format", "pcap"),
      /^2 vbg export: Cannot write pcap to a directory: /,
    );
    assert.match(await run("-out", `${folder}/kept.csv`, "-force"), /^0 vbg export: "DIR\/kept.csv": 1874 messages$/);
    assert.match(
      await run("-out", `${folder}/out`, "-force"),
      /^0 vbg export: "DIR\/out": 1874 messages in \d+ files$/,
    );
    assert.match(await Deno.readTextFile(`${folder}/out/wind_data.csv`), /^time,/);
    assert.deepEqual((await namesIn(folder)).filter((name) => name.startsWith(".")), []);
  }),
);

Deno.test(
  "what cannot be read is one clear line, and leaves no file",
  OFFLINE,
  withJournal(async ({ folder }) => {
    await Deno.writeTextFile(`${folder}/words.txt`, "what a day\n");
    for (
      const [path, words] of [["none.lpj", /Cannot read ".*none.lpj": /], [
        "words.txt",
        /Cannot read ".*words.txt": /,
      ]] as const
    ) {
      const { code, complaints } = await CommandRun.end(["export", `${folder}/${path}`, "-out", `${folder}/a.csv`]);
      assert.equal(code, 1);
      assert.match(complaints, words);
    }
    assert.deepEqual((await namesIn(folder)).filter((name) => name.includes("a.csv")), []);
    const { code, complaints } = await CommandRun.end(["export"]);
    assert.deepEqual([code, complaints.split("\n")[0]], [
      2,
      "vbg export: Missing recording: expected at least one FILE, DIR or URL",
    ]);
  }),
);

Deno.test(
  "a full disk is reported in clear words, and leaves no partial file",
  MOUNTS,
  withJournal(({ folder, journal }) =>
    onSmallDisk(folder, async (disk) => {
      for (const out of ["a.csv", "a.parquet", "a.pcap", "tables/"]) {
        const { code, complaints } = await CommandRun.end(["export", journal, "-out", `${disk}/${out}`]);
        assert.equal(code, 1, out);
        assert.match(complaints, /^vbg export: Cannot write ".*": No space left on device/);
        const left = await Array.fromAsync(Deno.readDir(disk), ({ name, isFile }) => isFile ? name : "");
        assert.deepEqual(left.filter((name) => name !== ""), [], out);
      }
      assert.deepEqual(await namesIn(`${disk}/tables`), []);
    }, { size: "8k" })
  ),
);

Deno.test(
  "Ctrl-C before the end is exit code 130, and leaves no file",
  OFFLINE,
  withJournal(async ({ folder, journal }) => {
    const run = new CommandRun(["export", ...Array(50).fill(journal), "-out", `${folder}/a.csv`]);
    assert.equal(await run.stop(), 130);
    assert.deepEqual((await namesIn(folder)).filter((name) => name.includes("a.csv")), []);
  }),
);

Deno.test(
  "a terminal gets text with its control characters visible, and no binary format",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const { text } = await CommandRun.end(["export", journal], { columns: 80 });
    assert.equal(text, (await CommandRun.end(["export", journal])).text);
    for (const format of ["parquet", "pcap"]) {
      const { code, complaints } = await CommandRun.end(["export", journal, "-format", format], { columns: 80 });
      assert.equal(code, 2);
      assert.match(complaints, new RegExp(`^vbg export: Cannot show ${format} on a terminal: expected -out FILE`));
    }
  }),
);

Deno.test(
  "export | head ends quietly",
  PTY,
  withJournal(async ({ journal }) => {
    const command = `"$0" "$@" | head -2; echo "\${PIPESTATUS[0]}"`;
    const args = ["-c", command, Deno.execPath(), ...taskArgs("cli", "export", ...Array(40).fill(journal))];
    const { stdout, stderr } = await new Deno.Command("bash", { args, env: { ...OWN_WORDS, NO_COLOR: "1" } }).output();
    const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
    assert.deepEqual([lines.length, lines.at(-1), new TextDecoder().decode(stderr)], [3, "0", ""]);
  }),
);

import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import { messagesOf } from "../support/converted.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { OWN_WORDS } from "../support/own_words.ts";
import { vbgWords } from "../support/pty_command.ts";
import { sampleBytes } from "../support/recordings.ts";
import { taskArgs } from "../support/task.ts";
import { CommandRun, type RunOptions } from "./dump_run.ts";
import { destinationOfId, formatTimeUs } from "../../src/frame/mod.ts";

const OFFLINE = needs({ permissions: ["env", "read", "sys", "write"] });
const PTY = needs({ permissions: ["env", "read", "run", "sys", "write"], programs: ["script", "head"] });
const SAMPLE = "candump_sample3.txt";
const MERRIMAC = "ydwg_merrimac_head.txt";

/** A folder with a recording and the journal that is made of it. */
function withJournal(test: (paths: { folder: string; log: string; journal: string }) => Promise<void>, name = SAMPLE) {
  return () =>
    inFolder(async (folder) => {
      const [log, journal] = [`${folder}/bus.log`, `${folder}/bus.lpj`];
      await Deno.writeFile(log, sampleBytes(name));
      const { code } = await CommandRun.end(["convert", log, "-out", journal]);
      assert.equal(code, 0);
      await test({ folder, log, journal });
    });
}

/** The lines that a recording has to give, made another way. */
async function linesOf(name: string): Promise<string[]> {
  return (await messagesOf(sampleBytes(name))).map(({ id, pgn, timeUs, data, offset, length }, index) => {
    const payload = data.subarray(offset, offset + length);
    const [ts, prio, src, dst] = [formatTimeUs(timeUs), (id >>> 26) & 7, id & 0xff, destinationOfId(id)];
    const decoded = decode(pgn, payload);
    const frame = { seq: index + 1, ts, prio, pgn, src, dst, data: payload.toHex(), ...(decoded && { decoded }) };
    return JSON.stringify(frame);
  });
}

const withoutNames = (lines: readonly string[]) => lines.map((line) => line.replace(/"name":"0x[0-9a-f]{16}",/, ""));

Deno.test(
  "dump gives the frames of a journal, of a directory of journals and of a recording as the same lines",
  OFFLINE,
  withJournal(async ({ folder, log, journal }) => {
    const expected = await linesOf(SAMPLE);
    await Deno.mkdir(`${folder}/kept`);
    await Deno.copyFile(journal, `${folder}/kept/bus.lpj`);
    for (const path of [journal, `${folder}/kept`, log]) {
      const { code, lines, complaints } = await CommandRun.end(["dump", path, "-decode"]);
      assert.deepEqual([code, complaints], [0, ""], path);
      assert.deepEqual(withoutNames(lines), expected, path);
    }
  }),
);

Deno.test(
  "the same identifier on two buses gives lines that name each its own",
  OFFLINE,
  () =>
    inFolder(async (folder) => {
      const [log, journal] = [`${folder}/two.log`, `${folder}/two.lpj`];
      const buses = ["can0", "can1", "can0", "can1"];
      const frames = buses.map((bus, i) => `(1502984866.${i}21964) ${bus} 09F112CC#FF725AFF7FFF7FFD\n`);
      await Deno.writeTextFile(log, frames.join(""));
      await CommandRun.end(["convert", log, "-out", journal]);
      const { lines } = await CommandRun.end(["dump", journal]);
      const expected = buses.map((bus, i) =>
        `{"seq":${i + 1},"ts":"2017-08-17T15:47:46.${i}21Z","prio":2,"pgn":127250,"src":204,"dst":255,` +
        `"bus":"${bus}","data":"ff725aff7fff7ffd"}`
      );
      assert.deepEqual(lines, expected);
    }),
);

Deno.test(
  "several recordings come one after the other; those of other programs go on counting",
  OFFLINE,
  withJournal(async ({ log, journal }) => {
    const { lines } = await CommandRun.end(["dump", log, journal, log, "-pgn", "127250"]);
    const seqs = lines.map((line) => JSON.parse(line).seq);
    const once = seqs.slice(0, seqs.length / 3);
    assert.deepEqual(seqs, [...once, ...once, ...once.map((seq) => seq + 1874)]);
  }),
);

Deno.test(
  "filters on manufacturers, NAMEs and PGNs hold offline, by the devices that the journal knows",
  OFFLINE,
  withJournal(async ({ log, journal }) => {
    const sources = async (...args: string[]) => {
      const { lines } = await CommandRun.end(["dump", ...args]);
      return new Set(lines.map((line) => JSON.parse(line).src));
    };
    const { lines } = await CommandRun.end(["dump", journal]);
    const named = lines.map((line) => JSON.parse(line)).filter(({ name }) => name !== undefined);
    const { name, src } = named[0];
    assert.deepEqual(await sources(journal, "-name", name), new Set([src]));
    assert.deepEqual(await sources(log, "-name", name.slice(2).toUpperCase()), new Set([src]));
    const { lines: others } = await CommandRun.end(["dump", journal, "-exclude-name", name]);
    const known = lines.length - named.filter((frame) => frame.name === name).length;
    assert.equal(others.length, known, "frames from before the claim are nobody's, and stay");
    const manufacturers = await sources(journal, "-manufacturer", "Raymarine");
    const where = await sources(journal, "-where", 'src.manufacturer == "raymarine"');
    assert.ok(manufacturers.size > 0);
    assert.deepEqual(manufacturers, where);
    const { lines: rest } = await CommandRun.end([
      "dump",
      journal,
      "-pgn",
      "127250",
      "-pgn",
      "127251",
      "-exclude-pgn",
      "127251",
    ]);
    assert.deepEqual(new Set(rest.map((line) => JSON.parse(line).pgn)), new Set([127250]));
  }),
);

Deno.test(
  "-where shows what matches; a mistake in it is told with its place and exit code 2",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const { lines } = await CommandRun.end([
      "dump",
      journal,
      "-decode",
      "-where",
      "heading > 2.3 and not (heading > 2.316)",
    ]);
    const headings = lines.map((line) => JSON.parse(line).decoded.heading);
    assert.ok(headings.length > 0 && headings.every((heading) => heading > 2.3 && heading <= 2.316));
    const { code, complaints } = await CommandRun.end(["dump", journal, "-where", "pgn = 1"]);
    assert.equal(code, 2);
    assert.match(complaints, /^vbg dump: flag -where: Cannot read the expression at column 5/);
  }),
);

Deno.test(
  "-where with null selects what is not available, and comparisons with what is not available fail",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const frames = (await linesOf(SAMPLE)).map((line): { seq: number; decoded?: Record<string, unknown> } =>
      JSON.parse(line)
    );
    const withField = frames.filter(({ decoded }) => decoded !== undefined && "rate" in decoded);
    const isNull = ({ decoded }: { decoded?: Record<string, unknown> }) => (decoded?.rate ?? null) === null;
    const seqs = async (where: string) =>
      (await CommandRun.end(["dump", journal, "-where", where])).lines.map((line) => JSON.parse(line).seq);
    const wanted = (matches: (frame: typeof frames[number]) => boolean) => frames.filter(matches).map(({ seq }) => seq);
    assert.ok(withField.some(isNull) || frames.some(isNull));
    assert.deepEqual(await seqs("rate == null"), wanted(isNull));
    assert.deepEqual(await seqs("rate != null"), wanted((frame) => !isNull(frame)));
    assert.deepEqual(await seqs("pgn == 127251 and not rate == null"), wanted((frame) => !isNull(frame)));
    assert.deepEqual(await seqs("rate < 0 or rate >= 0"), wanted((frame) => !isNull(frame)));
  }),
);

Deno.test(
  "-changes goes by the times of the recording",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const { lines } = await CommandRun.end(["dump", journal, "-changes"]);
    const changes = lines.map((line) => JSON.parse(line));
    assert.deepEqual(new Set(changes.map(({ change }) => change)), new Set(["snapshot", "delta", "idle"]));
    assert.equal(Object.keys(changes[0])[0], "change");
    assert.ok(changes.length < 1874 / 2);
  }),
);

Deno.test(
  "what cannot be read is one clear line and exit code 1; with files no server can be named",
  OFFLINE,
  withJournal(async ({ folder, journal }) => {
    const complaint = async (...args: string[]) => {
      const { code, complaints } = await CommandRun.end(["dump", ...args]);
      return `${code} ${complaints.split("\n")[0]}`.replaceAll(folder, "DIR");
    };
    await Deno.writeTextFile(`${folder}/words.txt`, "what a day\n");
    await Deno.mkdir(`${folder}/empty`);
    assert.match(await complaint(`${folder}/none.lpj`), /^1 vbg dump: Cannot read "DIR\/none.lpj": /);
    assert.match(await complaint(`${folder}/words.txt`), /^1 vbg dump: Cannot read "DIR\/words.txt": /);
    assert.match(
      await complaint(`${folder}/empty`),
      /^1 vbg dump: .*No journal is in "DIR\/empty": it has neither .*$/,
    );
    assert.match(await complaint(journal, "-server", "http://a:1"), /^2 vbg dump: Cannot use -server with files/);
    assert.match(await complaint(journal, "-journal", "x"), /^2 vbg dump: Cannot use -journal with files/);
    assert.match(await complaint("-client-id", "a"), /^2 vbg dump: .*-buffer-timeout/);
  }),
);

Deno.test(
  "on a terminal a frame is lines that fit its width, with all fields by their names, units and references",
  OFFLINE,
  withJournal(async ({ journal }) => {
    for (const columns of [60, 80, 132]) {
      const { lines } = await CommandRun.end(["dump", journal, "-decode"], { columns });
      assert.equal(lines.filter((line) => /^\d/.test(line)).length, 1874);
      assert.deepEqual(lines.filter((line) => line.length > columns), []);
    }
    const wordsAt = async (columns: number) =>
      (await CommandRun.end(["dump", journal, "-decode"], { columns })).lines.join(" ").replaceAll(/\s+/g, "");
    assert.equal(await wordsAt(112), await wordsAt(100_000), "fields go on in further lines");
    const { lines } = await CommandRun.end(["dump", journal, "-decode"], { columns: 132 });
    assert.equal(
      lines[0],
      "15:47:46.421Z [204]                         127250 Vessel heading             heading 132.7°M",
    );
    const plain = await CommandRun.end(["dump", journal], { columns: 132 });
    assert.equal(
      plain.lines[0],
      "15:47:46.421Z [204]                         127250 Vessel heading             ff 72 5a ff 7f ff 7f fd",
    );
  }),
);

Deno.test(
  "values are nautical on a terminal and SI elsewhere, unless -units or VBG_UNITS says otherwise; JSON stays as it is",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const args = ["dump", journal, "-decode", "-pgn", "130306"];
    const fields = async (more: string[], options?: RunOptions) =>
      (await CommandRun.end([...args, ...more], options)).lines.map((line) =>
        /wind_speed .*, wind_angle [^,]*/.exec(line)?.[0]
      )[0];
    const terminal = { columns: 140 };
    assert.equal(await fields([], terminal), "wind_speed 7.8 kn, wind_angle 113° starboard");
    assert.equal(await fields(["-units", "metric"], terminal), "wind_speed 4.0 m/s, wind_angle 113° starboard");
    assert.equal(
      await fields([], { ...terminal, environment: { VBG_UNITS: "metric" } }),
      "wind_speed 4.0 m/s, wind_angle 113° starboard",
    );
    assert.equal(await fields(["-json=false"]), "wind_speed 4.02 m/s, wind_angle 1.973 rad");
    assert.equal(await fields(["-json=false", "-units", "nautical"]), "wind_speed 7.8 kn, wind_angle 113° starboard");
    assert.deepEqual(
      (await CommandRun.end([...args, "-units", "nautical"])).lines,
      (await CommandRun.end(args)).lines,
    );
  }),
);

Deno.test(
  "-where with a unit shows what the numbers of the JSON say, and a wrong unit is told with exit code 2",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const { lines: all } = await CommandRun.end(["dump", journal, "-decode", "-pgn", "127250"]);
    const where = "pgn == 127250 and heading > 132.7 deg";
    const { lines } = await CommandRun.end(["dump", journal, "-decode", "-where", where]);
    const expected = all.filter((line) => Number(JSON.parse(line).decoded.heading) * 180 / Math.PI > 132.7);
    assert.ok(expected.length > 0 && expected.length < all.length, `${expected.length} of ${all.length}`);
    assert.deepEqual(lines, expected);
    const { code, complaints } = await CommandRun.end(["dump", journal, "-where", "heading > 5 kn"]);
    assert.equal(code, 2);
    assert.match(complaints, /heading is measured in rad, °, semi-circle: kn is a unit of speed/);
  }),
);

Deno.test(
  "-labels adds to the JSON the labels of codes, and nothing else",
  OFFLINE,
  withJournal(async ({ journal }) => {
    const { lines } = await CommandRun.end(["dump", journal, "-decode", "-labels"]);
    const { lines: plain } = await CommandRun.end(["dump", journal, "-decode"]);
    assert.deepEqual(lines.map((line) => line.replace(/,"labels":\{.*\}\}$/, "}")), plain);
    const labels = lines.filter((line) => line.includes(`"pgn":129039`)).map((line) => JSON.parse(line).labels);
    assert.ok(labels.length > 0);
    for (const each of labels) assert.equal(each.message_id, "Standard Class B position report");
  }),
);

Deno.test(
  "damaged blocks are passed over, and the rest is shown",
  OFFLINE,
  withJournal(async ({ folder, log }) => {
    const path = `${folder}/small.lpj`;
    await CommandRun.end(["convert", log, "-out", path, "-block-size", "4096", "-compression", "none"]);
    const bytes = await Deno.readFile(path);
    bytes[16 + 2 * 4096 + 1000]! ^= 0xff;
    await Deno.writeFile(path, bytes);
    const { code, lines, complaints } = await CommandRun.end(["dump", path]);
    assert.equal(code, 0);
    assert.match(complaints, /damaged block skipped/);
    assert.ok(lines.length > 1400 && lines.length < 1874, String(lines.length));
  }),
);

Deno.test(
  "Ctrl-C before the end of a recording is exit code 130, and what was shown is written out",
  OFFLINE,
  withJournal(async ({ folder, log }) => {
    const path = `${folder}/small.lpj`;
    await CommandRun.end(["convert", log, "-out", path, "-block-size", "4096", "-compression", "none"]);
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const taking = () => {
      begun.resolve();
      return goOn.promise;
    };
    // All of it is more than the output keeps for a reader that waits.
    const run = new CommandRun(["dump", path, "-decode"], { taking });
    await Promise.race([begun.promise, run.code]);
    const code = run.stop();
    goOn.resolve();
    assert.deepEqual([await code, run.complaints], [130, []]);
    const seqs = run.frames.map(({ seq }) => seq);
    assert.ok(seqs.length > 0 && seqs.length < 1874, String(seqs.length));
    assert.deepEqual(seqs, seqs.map((_, index) => index + 1));
  }),
);

Deno.test(
  "dump | head ends quietly",
  PTY,
  withJournal(async ({ log }) => {
    const command = `"$0" "$@" | head -2; echo "\${PIPESTATUS[0]}"`;
    const args = ["-c", command, Deno.execPath(), ...taskArgs("cli", "dump", log, log, log, log)];
    const { stdout, stderr } = await new Deno.Command("bash", { args, env: { ...OWN_WORDS, NO_COLOR: "1" } }).output();
    const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
    assert.deepEqual([lines.length, lines.at(-1), new TextDecoder().decode(stderr)], [3, "0", ""]);
  }),
);

Deno.test(
  "on a real terminal dump prints columns with colours, and none under NO_COLOR",
  PTY,
  withJournal(async ({ journal }) => {
    const onTerminal = async (NO_COLOR: string) => {
      const command = `stty cols 100; exec ${vbgWords("dump", journal, "-pgn", "127250")}`;
      const args = ["-qec", command, "/dev/null"];
      const { stdout } = await new Deno.Command("script", {
        args,
        env: { ...OWN_WORDS, TERM: "xterm", NO_COLOR },
        stdin: "null",
      })
        .output();
      return new TextDecoder().decode(stdout);
    };
    const plain = await onTerminal("1");
    assert.match(plain, /^15:47:46.421Z \[204\] {15}127250 Vessel heading {3}ff 72 5a ff 7f ff 7f fd\r$/m);
    assert.equal(plain.includes("\u001b["), false);
    assert.ok((await onTerminal("")).includes("\u001b[2m15:47:46.421Z\u001b[0m"));
  }),
);

Deno.test(
  "a recording without dates is read, too",
  OFFLINE,
  withJournal(async ({ log }) => {
    const { code, lines } = await CommandRun.end(["dump", log]);
    assert.deepEqual([code, lines.length], [0, (await linesOf(MERRIMAC)).length]);
  }, MERRIMAC),
);

Deno.test(
  "dump -file is the same as the recording as a word, and -inspect the same as vbg inspect",
  OFFLINE,
  withJournal(async ({ log, journal }) => {
    const words = await CommandRun.end(["dump", log]);
    assert.deepEqual(await CommandRun.end(["dump", "-file", log]), words);
    const inspected = await CommandRun.end(["inspect", journal]);
    assert.equal(inspected.code, 0);
    for (const args of [["-file", journal], [journal]]) {
      assert.deepEqual(await CommandRun.end(["dump", ...args, "-inspect"]), inspected);
    }
    const people = await CommandRun.end(["inspect", journal, "-json=false"]);
    assert.deepEqual(await CommandRun.end(["dump", journal, "-inspect", "-json=false"]), people);
    const wrong: [args: string[], line: RegExp][] = [
      [[log, "-file", log], /Cannot use -file with files/],
      [["-inspect"], /Cannot use -inspect without a recording/],
      [["-speed", "1"], /Cannot use -speed without a recording/],
      [["-start", "2017-08-17T15:47:56Z"], /Cannot use -start without a recording/],
      [["-file", log, "-server", "http://127.0.0.1:9"], /Cannot use -server with files/],
      [[log, "-reconnect-delay", "1s"], /Cannot use -reconnect-delay with files/],
    ];
    for (const [args, line] of wrong) {
      const { code, complaints } = await CommandRun.end(["dump", ...args]);
      assert.deepEqual([code, line.test(complaints)], [2, true], complaints);
    }
  }),
);

import assert from "node:assert/strict";
import { AlarmIntervals } from "../../cli/commands/alarms/intervals.ts";
import { alarmWord } from "../../cli/commands/alarms/sources.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { journalFiles, makeWriter } from "../support/journal_run.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });

/** As a WS500 sent it: both lamps, fault 2 of number 520234. */
const DIAGNOSTICS = [130762, "504cfe0542ff08ff"] as const;
const DIAGNOSTICS_OFF = [130762, "054cfe0542ff08ff"] as const;
const CHARGER_HOT = [61184, "6699daed11ffffff"] as const;
const CHARGER_OK = [61184, "6699daed00ffffff"] as const;
const ALERT = [126983, `12000a6400${"0807060504030201"}010001${"00"}${"0807060504030201"}110502`] as const;
const ALERT_OVER = [126983, `12000a6400${"0807060504030201"}010001${"00"}${"0807060504030201"}110501`] as const;
const ALERT_TEXT = [126985, `12000a6400${"0807060504030201"}010001000b01${"426174746572792e2e"}0201`] as const;

type Said = readonly [pgn: number, payload: string];

function wordOf([pgn, payload]: Said) {
  return alarmWord(pgn, Uint8Array.fromHex(payload));
}

/** What is said second by second, and the episodes that it makes. */
function episodesOf(said: readonly (readonly [second: number, said: Said])[], gapMs = 120_000) {
  const episodes = new AlarmIntervals({ gapMs });
  for (const [second, each] of said) {
    const word = wordOf(each);
    if (word) episodes.add(word, { bus: "can0", src: 7, timeUs: second * 1_000_000 });
  }
  return episodes.all.map(({ code, firstUs, lastUs, clearedUs, count }) => {
    const [first, last] = [firstUs / 1e6, lastUs / 1e6];
    return { code, first, last, cleared: clearedUs === undefined ? undefined : clearedUs / 1e6, count };
  });
}

Deno.test("alarms: messages tell what is wrong, how badly, and when it is over", () => {
  assert.deepEqual(wordOf(DIAGNOSTICS), {
    kind: "on",
    alarm: { source: "dm1", severity: "alarm", code: "spn 520234 fmi 2", detail: "" },
  });
  assert.deepEqual(wordOf([130762, "104cfe0542ff08ff"]), {
    kind: "on",
    alarm: { source: "dm1", severity: "warning", code: "spn 520234 fmi 2", detail: "" },
  });
  assert.deepEqual(wordOf(DIAGNOSTICS_OFF), { kind: "off", source: "dm1", code: undefined });
  assert.deepEqual(wordOf(CHARGER_HOT), {
    kind: "on",
    alarm: { source: "victron", severity: "alarm", code: "error 17", detail: "Charger temperature too high" },
  });
  assert.deepEqual(wordOf(CHARGER_OK), { kind: "off", source: "victron", code: undefined });
  assert.deepEqual(wordOf([61184, "66991e0305000000"]), {
    kind: "on",
    alarm: { source: "victron", severity: "alarm", code: "alarm reason", detail: "bits 0x0005" },
  });
  assert.deepEqual(wordOf(ALERT), {
    kind: "on",
    alarm: { source: "alert", severity: "alarm", code: "alert 0/10/100/1/0", detail: "" },
  });
  assert.deepEqual(wordOf(ALERT_OVER), { kind: "off", source: "alert", code: "alert 0/10/100/1/0" });
  assert.deepEqual(wordOf(ALERT_TEXT), { kind: "text", code: "alert 0/10/100/1/0", detail: "Battery.." });
  // Another register, another maker, and what no definition fits.
  assert.deepEqual(
    [[61184, "6699ededffffffff"], [61184, "e598daed11ffffff"], [130762, ""]].map(([pgn, payload]) =>
      wordOf([Number(pgn), String(payload)])?.kind
    ),
    [undefined, undefined, "off"],
  );
});

Deno.test("alarms: what is told again within the gap is one episode, and behind it another one", () => {
  assert.deepEqual(episodesOf([[0, CHARGER_HOT], [60, CHARGER_HOT], [180, CHARGER_HOT], [301, CHARGER_HOT]]), [
    { code: "error 17", first: 0, last: 180, cleared: undefined, count: 3 },
    { code: "error 17", first: 301, last: 301, cleared: undefined, count: 1 },
  ]);
});

Deno.test("alarms: an all-clear ends what it is about, and nothing else", () => {
  const said = [[0, CHARGER_HOT], [1, DIAGNOSTICS], [2, CHARGER_OK], [3, DIAGNOSTICS], [4, CHARGER_HOT]] as const;
  assert.deepEqual(episodesOf(said), [
    { code: "error 17", first: 0, last: 0, cleared: 2, count: 1 },
    { code: "spn 520234 fmi 2", first: 1, last: 3, cleared: undefined, count: 2 },
    { code: "error 17", first: 4, last: 4, cleared: undefined, count: 1 },
  ]);
});

Deno.test("vbg alarms lists episodes of all files by time, each frame once", DISK, () =>
  inFolder(async (folder) => {
    const said: [second: number, said: Said][] = [[0, ALERT], [1, ALERT_TEXT], [2, CHARGER_HOT], [9, ALERT_OVER]];
    for (const prefix of ["live", "backfill"]) {
      const { writer } = makeWriter(folder, { prefix });
      for (const [index, [second, [pgn, payload]]] of said.entries()) {
        const data = Uint8Array.fromHex(payload);
        writer.append(index + 1, message({ pgn, src: 7, bus: 1, timeUs: START_US + second * 1e6, data }));
      }
      await writer.close();
    }
    assert.equal(journalFiles(folder).length, 2);
    const { code, out } = await runCommand(["alarms", folder]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), [
      {
        ...{ first: "2026-01-02T03:04:05.000Z", last: "2026-01-02T03:04:05.000Z", cleared: "2026-01-02T03:04:14.000Z" },
        ...{ source: "alert", severity: "alarm", code: "alert 0/10/100/1/0", detail: "Battery.." },
        ...{ bus: "can1", src: 7, count: 1 },
      },
      {
        ...{ first: "2026-01-02T03:04:07.000Z", last: "2026-01-02T03:04:07.000Z", cleared: null },
        ...{ source: "victron", severity: "alarm", code: "error 17", detail: "Charger temperature too high" },
        ...{ bus: "can1", src: 7, count: 1 },
      },
    ]);
    const text = await runCommand(["alarms", folder], { isTerminal: true, columns: 140 });
    assert.deepEqual(text.out.split("\n"), [
      "FIRST                     LASTED  BUS   SRC  SEVERITY  SOURCE   CODE                COUNT  ENDED    DETAIL",
      "2026-01-02T03:04:05.000Z     0 s  can1    7  alarm     alert    alert 0/10/100/1/0      1  cleared  Battery..",
      "2026-01-02T03:04:07.000Z     0 s  can1    7  alarm     victron  error 17                1  silent   " +
      "Charger temperature too high",
      "2 episodes",
      "",
    ]);
  }));

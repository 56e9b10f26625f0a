import assert from "node:assert/strict";
import { encode } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { Browser, BROWSER_NEEDS, openPage } from "../support/browser.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";
import { environment, needs, SLOW } from "../support/needs.ts";
import { readZip } from "../support/zip.ts";

const DISK = needs({ permissions: ["net", "read", "write", "env", "sys"] });

/** A place that is fed, in no other message by chance. */
const [LATITUDE, LONGITUDE] = [43.1234567, -70.7654321];

/** Bytes of the coordinates in every form in which messages carry them, and their digits. */
function formsOf(degrees: number): string[] {
  const view = new DataView(new ArrayBuffer(8));
  const hex = () => new Uint8Array(view.buffer).toHex();
  const forms: string[] = [];
  for (const isLittle of [true, false]) {
    view.setInt32(0, Math.round(degrees * 1e7), isLittle);
    forms.push(hex().slice(0, 8));
    view.setBigInt64(0, BigInt(Math.round(degrees * 1e7)) * 10n ** 9n, isLittle);
    forms.push(hex());
    view.setFloat64(0, degrees, isLittle);
    forms.push(hex());
  }
  const digits = Math.abs(degrees).toFixed(7);
  for (const text of [digits, digits.slice(0, -3)]) forms.push(new TextEncoder().encode(text).toHex());
  return forms;
}

/** Says messages of every kind that carries a position, and others. Gives the number of the others. */
function sayAll(boat: TestBoat): { positions: number; others: number } {
  const place = { latitude: LATITUDE, longitude: LONGITUDE };
  const int32 = new Uint8Array(new Int32Array([LATITUDE, LONGITUDE].map((each) => Math.round(each * 1e7))).buffer);
  const station = { station_latitude: LATITUDE, station_longitude: LONGITUDE };
  const messages = [
    { pgn: 129025, data: encode(129025, place) },
    { pgn: 129029, data: encode(129029, place) },
    { pgn: 129038, data: encode(129038, place) },
    { pgn: 129039, data: encode(129039, place) },
    { pgn: 127233, data: encode(127233, place) },
    { pgn: 130323, data: encode(130323, station) },
    { pgn: 129285, data: encode(129285, { waypoints: [{ name: "X", ...place }] }) },
    // In a command to a receiver, in a maker's own message, in one that nobody has defined, in AIS bytes.
    { pgn: 126208, data: [1, 0x01, 0xf8, 0x01, 0xff, 2, 1, ...int32.slice(0, 4), 2, ...int32.slice(4)] },
    { pgn: 130816, data: [0x3f, 0x9f, ...int32, 0, 0] },
    { pgn: 130900, data: [...int32, 1, 2, 3, 4] },
    { pgn: 129797, data: [8, 1, 2, 3, 4, 0, 64, 0, ...int32] },
  ];
  const others = [
    { pgn: 127250, data: encode(127250, { heading: 1 }) },
    { pgn: 128267, data: encode(128267, { depth: 4.5 }) },
    { pgn: 130306, data: encode(130306, { wind_speed: 5 }) },
  ];
  for (let i = 0; i < 5; i++) {
    for (const message of messages) boat.say({ ...message, src: 3 });
    for (const message of others) boat.say({ ...message, src: 4 });
  }
  return { positions: 5 * messages.length, others: 5 * others.length };
}

/** Hex of everything that a zip file tells: itself, its entries, the frames of its journals. */
function contentsOf(bytes: Uint8Array<ArrayBuffer>): { hex: string; entries: ReturnType<typeof readZip> } {
  const entries = readZip(bytes);
  const frames = [...entries].flatMap(([name, content]) =>
    name.endsWith(".lpj") ? readLpj(content).blocks.flatMap((block) => block.frames.map(({ data }) => data)) : []
  );
  return { hex: [bytes, ...entries.values()].map((each) => each.toHex()).concat(frames).join("|"), entries };
}

/** Makes a boat with a black box, stops it, and starts it again, when its file is complete. */
async function withBoat(
  folder: string,
  work: (boat: TestBoat, said: { positions: number; others: number }) => Promise<void>,
): Promise<void> {
  let said = { positions: 0, others: 0 };
  {
    await using boat = await TestBoat.start({ stateDirectory: folder, signalk: {}, mdnsName: "Sea <Otter>" });
    said = sayAll(boat);
    await boat.post("/mark", { text: `lost the mooring at ${LATITUDE}, ${LONGITUDE}` });
  }
  await using boat = await TestBoat.start({ stateDirectory: folder, mdnsName: "Sea <Otter>" });
  boat.claim(4, { uniqueNumber: 77, manufacturerCode: 137 });
  boat.product(4, "H5000 & <b>co</b>");
  await work(boat, said);
}

async function report(boat: TestBoat, out: string, ...flags: string[]): Promise<{ page: string; zip: string }> {
  const { code, out: text, err } = await runCommand(["report", "-server", boat.url, "-o", out, ...flags]);
  assert.deepEqual([code, err], [0, ""]);
  return JSON.parse(text);
}

Deno.test(
  "a report has all frames of the black box; without positions, no coordinate in any form",
  DISK,
  () =>
    inFolder((folder) =>
      withBoat(folder, async (boat, said) => {
        const forms = [LATITUDE, LONGITUDE].flatMap(formsOf);
        const whole = contentsOf(await Deno.readFile((await report(boat, `${folder}/a`)).zip));
        // These forms were fed, so the search can find them.
        const fed = forms.filter((form) => whole.hex.includes(form));
        assert.ok(fed.length >= 6, `${fed.length}`);
        const files = await report(boat, `${folder}/b`, "-no-position");
        const without = contentsOf(await Deno.readFile(files.zip));
        const page = await Deno.readFile(files.page);
        assert.deepEqual(forms.filter((form) => without.hex.includes(form) || page.toHex().includes(form)), []);
        const count = ({ entries }: typeof whole) =>
          [...entries].filter(([name]) => name.endsWith(".lpj")).map(([, bytes]) =>
            readLpj(bytes).blocks.reduce((sum, { frames }) => sum + frames.length, 0)
          );
        assert.deepEqual(count(whole), [said.positions + said.others]);
        assert.deepEqual(count(without), [said.others]);
        const text = new TextDecoder().decode(page);
        assert.match(text, new RegExp(`${said.positions} messages that have a latitude or longitude`));
        assert.equal(new TextDecoder().decode(without.entries.get("report.html")), text);
      })
    ),
);

Deno.test(
  "the page of a report is one file, and shows names as they are",
  DISK,
  () =>
    inFolder((folder) =>
      withBoat(folder, async (boat) => {
        const { page, zip } = await report(boat, folder);
        const text = await Deno.readTextFile(page);
        assert.doesNotMatch(text, /<(?:script|link|img|a)\b|src=|href=|url\(|@import|https?:/);
        assert.doesNotMatch(text, /<b>|Sea <Otter>/);
        assert.match(text, /Report of Sea &#60;Otter&#62;/);
        assert.match(text, /H5000 &#38; &#60;b&#62;co/);
        const names = [...readZip(await Deno.readFile(zip)).keys()];
        const lists = ["report.html", "health.json", "devices.json", "alerts.json", "blackbox.json", "doctor.json"];
        assert.deepEqual(names.filter((name) => !name.startsWith("blackbox/")).sort(), lists.sort());
        const again = await runCommand(["report", "-server", "http://127.0.0.1:1", "-o", folder]);
        assert.equal(again.code, 1);
      })
    ),
);

Deno.test(
  "a file of the black box that is deleted while a report is made is not in it",
  DISK,
  () =>
    inFolder((folder) =>
      withBoat(folder, async (boat) => {
        const [event] = await boat.get<{ name: string }[]>("/blackbox");
        await Deno.remove(`${folder}/blackbox/${event?.name}`);
        const entries = readZip(await Deno.readFile((await report(boat, `${folder}/out`)).zip));
        assert.deepEqual([...entries.keys()].filter((each) => each.startsWith("blackbox/")), []);
        assert.deepEqual(JSON.parse(new TextDecoder().decode(entries.get("blackbox.json"))), []);
      })
    ),
);

Deno.test(
  "the page of a report fits on phone and desktop",
  needs({ ...BROWSER_NEEDS, extras: SLOW }),
  () =>
    inFolder((folder) =>
      withBoat(folder, async (boat) => {
        const { page: path } = await report(boat, folder, "-no-position");
        await using browser = await Browser.start();
        for (const [width, colorScheme] of [[390, "light"], [1280, "dark"]] as const) {
          const { page, messages } = await openPage(browser, `file://${path}`, { width, height: 900, colorScheme });
          assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
          assert.deepEqual(messages, []);
          const directory = environment("VBG_TEST_SCREENSHOTS");
          if (directory !== undefined) await page.screenshot({ path: `${directory}/report-${width}.png` });
        }
      })
    ),
);

import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { SessionClient } from "../support/session.ts";

const DISK = needs({ permissions: ["net", "read", "write"] });
const TANK = [0x15, 0x19, 0xd0, 7, 0, 0, 0xff, 0xff];
const LABELS = { fluid_type: "Water" };
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];

type Labelled = { pgn: number; decoded?: object; labels?: object };

/** A recording boat on which a device has named itself, and told of a tank and of its heading. */
function withTank(test: (boat: TestBoat) => Promise<void>): () => Promise<void> {
  return () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ stateDirectory: folder, journal });
      boat.claim(9, { manufacturerCode: 229, deviceClass: 60, deviceFunction: 145 });
      boat.say({ src: 9, pgn: 127505, data: TANK });
      boat.say({ src: 9, data: HEADING });
      await eventually("all messages", () => boat.boat.broker.head === 3);
      await test(boat);
    });
}

/** The same without what `labels=true` adds. */
function without<T extends object>(each: T): Omit<T, "labels"> {
  const { labels: _, ...rest } = { labels: undefined, ...each };
  return rest;
}

Deno.test(
  "labels=true adds the labels of codes to values, devices and the history, and changes nothing else",
  DISK,
  withTank(async (boat) => {
    const [device] = await boat.get<{ values: Labelled[] }[]>("/values/decoded?labels=true&exclude_pgn=60928");
    assert.deepEqual(device?.values.map(({ pgn, labels }) => [pgn, labels]), [[127250, undefined], [127505, LABELS]]);
    const [plain] = await boat.get<{ values: Labelled[] }[]>("/values/decoded?exclude_pgn=60928");
    assert.deepEqual(device?.values.map(without), plain?.values);
    const devices = await boat.get<Labelled[]>("/devices?labels=true");
    const words = { device_class: "Navigation", device_function: "Ownship Position (GNSS)" };
    assert.deepEqual(devices.map(({ labels }) => labels), [words]);
    assert.deepEqual(devices.map(without), await boat.get("/devices"));
    const from = "from=2000-01-01T00:00:00Z&exclude_pgn=60928";
    const frames = await boat.get<Labelled[]>(`/history?${from}&labels=true`);
    assert.deepEqual(frames.map(({ pgn, labels }) => [pgn, labels]), [[127505, LABELS], [127250, undefined]]);
    assert.deepEqual(frames.map(without), await boat.get(`/history?${from}&decode=true`));
  }),
);

Deno.test(
  "labels=true adds decoded fields and labels to event streams, WebSockets and sessions",
  DISK,
  withTank(async (boat) => {
    await using decoding = await boat.events("?decode=true");
    await using labelling = await boat.events("?labels=true");
    await using socket = await boat.ws("?labels=true");
    await eventually("the socket", async () => await boat.metric(`vbg_streams{kind="websocket"}`) === 1);
    const session = new SessionClient(boat.url);
    await session.put();
    boat.say({ src: 9, pgn: 127505, data: TANK });
    boat.say({ src: 9, data: HEADING });
    for (const each of [decoding, labelling]) await each.atLeast(2);
    const [tank = "", heading = ""] = decoding.texts;
    assert.deepEqual(labelling.texts, [`${tank.slice(0, -1)},"labels":${JSON.stringify(LABELS)}}`, heading]);
    const frames = await socket.atLeast<Labelled>("frame", 2);
    assert.deepEqual(frames, labelling.texts.map((text) => JSON.parse(text)));
    await using events = await session.events("?labels=true");
    await events.atLeast(2);
    assert.deepEqual(events.texts, labelling.texts);
  }),
);

Deno.test(
  "vbg values, history and devices print with -labels what the server answers with labels=true",
  DISK,
  withTank(async (boat) => {
    const answer = async (...args: string[]) =>
      JSON.parse((await runCommand([...args, "-labels", "-server", boat.url])).out);
    assert.deepEqual(await answer("values"), await boat.get("/values/decoded?labels=true"));
    const printed = await runCommand(["history", "-labels", "-server", boat.url, "-pgn", "127505"]);
    assert.deepEqual(JSON.parse(printed.out).labels, LABELS);
    const [device] = await answer("devices");
    assert.equal(device.labels.device_class, "Navigation");
  }),
);

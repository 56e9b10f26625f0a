import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CloudServer } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PATHS = ["/devices?labels=true", "/values", "/values?pgn=127250", "/values/decoded?labels=true", "/devices"];

/** What a server answers. */
async function answers(url: string, { paths = PATHS, at }: { paths?: string[]; at?: string } = {}): Promise<unknown[]> {
  return await Promise.all(paths.map(async (path) => {
    const question = new URL(url + path);
    if (at !== undefined) question.searchParams.set("at", at);
    const reply = await fetch(question);
    assert.equal(reply.headers.has("State-Since"), at !== undefined, path);
    return [path, reply.status, await reply.json()];
  }));
}

const timeOf = (clock: FakeClock) => new Date(clock.wallUs() / 1000).toISOString();

Deno.test(
  "what a boat shows at a time is what it showed then: devices, values and Signal K; also after a restart",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const journal = { directory: `${folder}/journal`, stateDirectory: `${folder}/state` };
      const options = { clock, names: ["can0", "can1"], journal, signalk: {} };
      const shown: { at: string; replies: unknown[]; signalk: unknown }[] = [];
      // How long a value is fresh goes by the intervals of its messages, which the past does not have.
      const signalkOf = async (url: string, query = "") =>
        (await (await fetch(`${url}/signalk/v1/api/vessels/self/navigation${query}`)).text())
          .replaceAll(/"timeout":[\d.]+/g, '"timeout":0');
      {
        await using boat = await TestBoat.start(options);
        boat.claim(7, { uniqueNumber: 5, manufacturerCode: 137 });
        for (let i = 0; i < 5; i++) {
          clock.advance(1000);
          boat.say({ pgn: 127250, src: 7, data: [i, 0x10 + i, 0x27, 0, 0, 0, 0, 0xfd] });
          boat.say({ pgn: 127488 + i, src: 30 + i, bus: 1 });
          await eventually("the frames", () => boat.boat.broker.head === 1 + 2 * (i + 1));
          shown.push({
            at: timeOf(clock),
            replies: await answers(boat.url),
            signalk: await signalkOf(boat.url),
          });
          assert.deepEqual(await answers(boat.url, { at: timeOf(clock) }), shown.at(-1)?.replies);
        }
      }
      clock.advance(60_000);
      await using boat = await TestBoat.start(options);
      assert.deepEqual(await (await fetch(`${boat.url}/devices`)).json(), []);
      for (const { at, replies, signalk } of shown) {
        assert.deepEqual(await answers(boat.url, { at }), replies);
        assert.deepEqual(await signalkOf(boat.url, `?at=${at}`), signalk);
      }
      const last = shown.at(-1)!;
      const health = await (await fetch(`${boat.url}/healthz?at=${last.at}`)).json();
      assert.deepEqual([health.status, health.broker.head_seq, health.broker.device_count], ["ok", 11, 6]);
      const refused = async (path: string) => {
        const reply = await fetch(boat.url + path);
        return [reply.status, (await reply.json()).detail];
      };
      assert.deepEqual(await refused("/devices?at=2026-01-01T00:00:00Z"), [
        404,
        "Nothing was recorded at 2026-01-01T00:00:00.000Z or before",
      ]);
      assert.match(String(await refused("/values?at=2027-01-01T00:00:00Z")), /^400,.*is in the future/);
      assert.match(String(await refused("/values?at=yesterday")), /^400,.*expected an RFC 3339 time/);
      assert.match(String(await refused("/signalk/v1/api?at=yesterday")), /^400,.*expected an RFC 3339 time/);
    }),
);

Deno.test("a server without a journal says that nothing is recorded", DISK, async () => {
  await using boat = await TestBoat.start();
  const reply = await fetch(`${boat.url}/devices?at=2026-01-01T00:00:00Z`);
  assert.deepEqual([reply.status, (await reply.json()).detail], [503, "Recording is off: see -journal-dir"]);
});

Deno.test("what a cloud shows of a boat at a time is what it showed then", DISK, () =>
  inFolder(async (folder) => {
    const clock = new FakeClock();
    const shown: { at: string; replies: unknown[] }[] = [];
    {
      await using cloud = await CloudServer.start(folder, { clock });
      const boat = await cloud.boat("boat-1", { busNames: ["can0", "can1"] });
      for (let i = 0; i < 4; i++) {
        clock.advance(60_000);
        boat.say({ src: 1 + i, bus: i % 2, timeUs: clock.wallUs() });
        const url = `${cloud.url}/instances/boat-1`;
        shown.push({ at: timeOf(clock), replies: await answers(url) });
        assert.deepEqual(await answers(url, { at: timeOf(clock) }), shown.at(-1)?.replies);
      }
    }
    await using cloud = await CloudServer.start(folder, { clock });
    for (const { at, replies } of shown) {
      assert.deepEqual(await answers(`${cloud.url}/instances/boat-1`, { at }), replies);
    }
  }));

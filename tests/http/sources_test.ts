import assert from "node:assert/strict";
import { connect, type QuantitySources, type SourceEvent, type SourceHistoryReply } from "../../src/client/mod.ts";
import { formatName } from "../../src/frame/mod.ts";
import { encode } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { SseClient } from "../support/sse_client.ts";

const NET = needs({ permissions: ["net"] });

function depthOf(quantities: readonly QuantitySources[]): QuantitySources | undefined {
  return quantities.find(({ quantity }) => quantity === "depth");
}

/** Two depth sounders, the second of which goes on while the first stops. Time passes only from one message to the next. */
class Sounders implements AsyncDisposable {
  readonly names: string[];
  readonly #boat: TestBoat;
  readonly #clock: FakeClock;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Addresses of those that send. */
  sending = [1, 2];

  constructor(boat: TestBoat, clock: FakeClock) {
    this.#boat = boat;
    this.#clock = clock;
    this.names = [1, 2].map((src) => formatName(boat.claim(src, { uniqueNumber: src })));
    this.#timer = setInterval(() => this.#send(), 50);
  }

  #send(): void {
    this.#clock.advance(50);
    for (const src of this.sending) this.#boat.say({ pgn: 128267, src, data: encode(128267, { depth: src }) });
  }

  [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    return Promise.resolve();
  }
}

Deno.test(
  "when a device stops, another one's value is used, and every stream that asked for it is told once",
  NET,
  async () => {
    const clock = new FakeClock();
    await using boat = await TestBoat.start({ clock });
    await using sounders = new Sounders(boat, clock);
    const [first, second] = sounders.names;
    await using stream = await boat.events("?pgn=60928&sources=true");
    await using silent = await boat.events("?pgn=60928");
    await using alone = await SseClient.open(`${boat.url}/events/sources`);
    const both = await eventually("both sounders", async () => {
      const depth = depthOf(await boat.get<QuantitySources[]>("/sources"));
      return depth?.sources.length === 2 && depth.preferred !== null ? depth : undefined;
    });
    assert.equal(both.preferred, first);
    assert.deepEqual([both.category, both.label, both.unit], ["depth", "Depth below transducer", "m"]);
    assert.deepEqual(both.sources.map(({ name, value, src }) => [name, value, src]), [[first, 1, 1], [second, 2, 2]]);
    sounders.sending = [2];
    const told = (client: SseClient) =>
      client.named<SourceEvent>("source").filter(({ quantity, from }) => quantity === "depth" && from !== null);
    await eventually("the switch", () => told(stream).length > 0 && told(alone).length > 0);
    sounders.sending = [2, 1];
    const after = await eventually("the first is fresh again", async () => {
      const depth = depthOf(await boat.get<QuantitySources[]>("/sources"));
      return depth?.sources.every(({ stale }) => !stale) ? depth : undefined;
    });
    assert.equal(after.preferred, second, "the device in use stays in use");
    for (const client of [stream, alone]) {
      assert.deepEqual(told(client).map(({ from, to, reason }) => [from?.name, to?.name, reason]), [[
        first,
        second,
        "stale",
      ]]);
    }
    assert.deepEqual(silent.named("source"), []);
  },
);

Deno.test("the client library gives quantities, and switches among the events of a subscription", NET, async () => {
  await using boat = await TestBoat.start();
  const client = connect(boat.url);
  const events = client.subscribe({ pgn: [128267] }, { sources: true }).events();
  const switches: SourceEvent[] = [];
  for await (const event of events) {
    if (event.type === "connected") {
      boat.claim(1, { uniqueNumber: 1 });
      boat.say({ pgn: 128267, src: 1, data: encode(128267, { depth: 4.5 }) });
    }
    if (event.type !== "source" || event.source.quantity !== "depth") continue;
    switches.push(event.source);
    break;
  }
  assert.deepEqual(switches.map(({ from, to, reason }) => [from, to?.src, reason]), [[null, 1, "first"]]);
  assert.equal(depthOf(await client.sources())?.sources[0]?.value, 4.5);
});

Deno.test("the device of the setting is used, also when the setting changes while the boat runs", NET, async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  await using sounders = new Sounders(boat, clock);
  const [first = "", second = ""] = sounders.names;
  const uses = (name: string, by: string) =>
    eventually(`${name} by ${by}`, async () => {
      const depth = depthOf(await boat.get<QuantitySources[]>("/sources"));
      return depth?.sources.length === 2 && depth.preferred === name && depth.by === by;
    });
  await uses(first, "first_heard");
  boat.boat.reload({ preferredSources: new Map([["depth", second]]) });
  await uses(second, "setting");
});

Deno.test("a device that moves to another address stays the preferred one, without a switch", NET, async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  await using sounders = new Sounders(boat, clock);
  const [first] = sounders.names;
  const isFrom = (src: number) =>
    eventually(`the first at address ${src}`, async () => {
      const depth = depthOf(await boat.get<QuantitySources[]>("/sources"));
      return depth?.preferred === first && depth?.sources.some((each) => each.name === first && each.src === src);
    });
  await isFrom(1);
  await using stream = await SseClient.open(`${boat.url}/events/sources`);
  boat.claim(3, { uniqueNumber: 1 });
  sounders.sending = [3, 2];
  await isFrom(3);
  assert.deepEqual(stream.named<SourceEvent>("source").filter(({ quantity }) => quantity === "depth"), []);
});

Deno.test("what a device sent before its NAME was known goes with it", NET, async () => {
  await using boat = await TestBoat.start();
  const has = async (quantity: string) =>
    (await boat.get<QuantitySources[]>("/sources")).some((each) => each.quantity === quantity);
  boat.say({ pgn: 128267, src: 7, data: encode(128267, { depth: 7 }) });
  await eventually("a depth", () => has("depth"));
  boat.claim(7, { uniqueNumber: 7 });
  boat.claim(7, { uniqueNumber: 8 });
  await eventually("no depth", async () => !await has("depth"));
});

Deno.test(
  "the history of sources tells who gave a quantity when, and who was preferred",
  needs({ permissions: ["net", "read", "write"] }),
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using boat = await TestBoat.start({ clock, stateDirectory: folder });
      await using sounders = new Sounders(boat, clock);
      const [first, second] = sounders.names;
      const depth = async (...quantities: string[]) => {
        const parameters = quantities.map((each) => `&quantity=${each}`).join("");
        const reply = await boat.get<SourceHistoryReply>(`/sources/history?from=2026-01-01T00:00:00Z${parameters}`);
        return reply.quantities.find(({ quantity }) => quantity === "depth");
      };
      const both = await eventually("both", async () => {
        const found = await depth();
        return found?.spans.length === 2 && found;
      });
      assert.deepEqual(both.spans.map(({ name, src, bus }) => [name, src, bus]), [[first, 1, "can0"], [
        second,
        2,
        "can0",
      ]]);
      assert.equal(await depth("stw"), undefined);
      sounders.sending = [2];
      const after = await eventually("the switch", async () => {
        const found = await depth("depth");
        return found?.preferred.length === 2 && found;
      });
      assert.deepEqual(after.preferred.map(({ name }) => name), [first, second]);
      assert.equal(
        (await boat.get<SourceHistoryReply>("/sources/history?from=2030-01-01T00:00:00Z&to=2031-01-01T00:00:00Z"))
          .quantities.length,
        0,
      );
      await using without = await TestBoat.start();
      assert.equal((await fetch(`${without.url}/sources/history?from=2026-01-01T00:00:00Z`)).status, 503);
    }),
);

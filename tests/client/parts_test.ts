import assert from "node:assert/strict";
import { ApiError, ConnectionError } from "../../src/client/mod.ts";
import { Cancel } from "../../src/client/cancel.ts";
import { readEvents, type ServerEvent } from "../../src/client/event_stream.ts";
import { JsonArray } from "../../src/client/json_array.ts";
import { Retry, type RetryOptions } from "../../src/client/retry.ts";
import { Random } from "../support/random.ts";

/** Texts that are hard to take apart. */
const TEXTS = ["", "é", "€ 5", "𝄞", "\\", '"', '\\"', "[", "]", "{", "}", ",", ":", "\n", "\r\n", "data: x", "\u2028"];

/** A reply that carries these bytes, cut anywhere. */
function replyOf(bytes: Uint8Array<ArrayBuffer>, random: Random) {
  let at = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const end = at + random.between(1, random.pick([1, 3, 20, 500]));
      controller.enqueue(bytes.slice(at, end));
      at = end;
      if (at >= bytes.length) controller.close();
    },
  });
  const cancel = new Cancel([]);
  return { body, cancel, headers: new Headers({ "Content-Type": "text/event-stream" }), close: () => cancel.release() };
}

/** A value as decoded frames have them, with texts that are hard. */
function anyValue(random: Random, depth = 0): unknown {
  const kind = random.int(depth > 3 ? 3 : 5);
  if (kind === 0) return random.pick([0, -1.5, 1e-7, 2 ** 53, null, true]);
  if (kind < 3) return random.some(TEXTS, 0.3).join("");
  const items = Array.from({ length: random.int(4) }, () => anyValue(random, depth + 1));
  return kind === 3 ? items : Object.fromEntries(items.map((item, i) => [random.pick(TEXTS) + i, item]));
}

for (const seed of [1, 2, 3]) {
  Deno.test(`events are the same however the bytes are cut, seed ${seed}`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < 60; round++) {
      const expected: ServerEvent[] = Array.from({ length: random.int(12) }, () => ({
        name: random.pick([undefined, undefined, "dropped", "error"]),
        data: JSON.stringify(anyValue(random)),
      }));
      const end = random.pick(["\n", "\r\n", "\r"]);
      const text = expected.map(({ name, data }) =>
        (random.chance(0.2) ? `: alive${end}${end}` : "") + (name ? `event: ${name}${end}` : "") +
        `data: ${data}${end}${end}`
      ).join("");
      // What has no end is no event.
      const cutOff = random.chance(0.3) ? `data: {"seq":` : "";
      const got: ServerEvent[] = [];
      const reply = replyOf(new TextEncoder().encode((random.chance(0.2) ? "\ufeff" : "") + text + cutOff), random);
      for await (const events of readEvents(reply, { silenceMs: 10_000 })) got.push(...events);
      assert.deepEqual(got, expected);
    }
  });

  Deno.test(`a list gives the same elements however it is cut, and none that is not whole, seed ${seed}`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 200; round++) {
      const expected = Array.from({ length: random.int(8) }, () => anyValue(random));
      const text = random.pick(["", " ", "\n"]) + JSON.stringify(expected, null, random.pick([0, 2])) + "\n";
      const list = new JsonArray();
      const got: unknown[] = [];
      for (let at = 0; at < text.length;) {
        const end = at + random.between(1, random.pick([1, 3, 50]));
        got.push(...list.feed(text.slice(at, end)).map((element) => JSON.parse(element)));
        at = end;
      }
      list.end();
      assert.deepEqual(got, expected);
      const early = new JsonArray();
      const part = early.feed(text.slice(0, random.int(text.trimEnd().length)));
      assert.throws(() => early.end(), ConnectionError);
      assert.deepEqual(part.map((element) => JSON.parse(element)), expected.slice(0, part.length));
    }
  });
}

Deno.test("what is no list is told as such", () => {
  for (const text of ["{}", "1", "]", "x[", "[][]", "[1]]", "nulll", "nul[]", "[]null", "null[]"]) {
    assert.throws(() => new JsonArray().feed(text), ConnectionError, text);
  }
});

Deno.test("an event without an end is no reason to fill the memory", async () => {
  const line = new TextEncoder().encode("x".repeat(2 ** 20));
  let sent = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      controller.enqueue(sent++ === 0 ? new TextEncoder().encode("data: ") : line);
    },
  });
  const cancel = new Cancel([]);
  const reply = {
    body,
    cancel,
    headers: new Headers({ "Content-Type": "text/event-stream" }),
    close: () => cancel.release(),
  };
  await assert.rejects(Array.fromAsync(readEvents(reply, { silenceMs: 10_000 })), {
    name: "ConnectionError",
    message: "The event stream is malformed",
  });
  assert.ok(sent < 20, `${sent} MiB`);
});

Deno.test("waits double up to the cap, spread by the jitter, and begin anew after a success", () => {
  const lost = new ConnectionError("lost");
  const waits = (random: () => number) => {
    const retry = new Retry({ firstMs: 100, capMs: 1000, jitter: 0.5, random });
    return Array.from({ length: 6 }, () => retry.waitMs(lost));
  };
  assert.deepEqual(waits(() => 0.5), [100, 200, 400, 800, 1000, 1000]);
  assert.deepEqual(waits(() => 0), [50, 100, 200, 400, 500, 500]);
  assert.deepEqual(waits(() => 1), [150, 300, 600, 1200, 1500, 1500]);
  const retry = new Retry({ firstMs: 100, random: () => 0.5, retries: 2 });
  assert.deepEqual([retry.waitMs(lost), retry.waitMs(lost)], [100, 200]);
  assert.throws(() => retry.waitMs(lost), lost);
  retry.succeeded();
  assert.equal(retry.waitMs(lost), 100);
  assert.throws(() => new Retry({ retries: 0 }).waitMs(lost), lost);
});

Deno.test("an option of a retry that is undefined is its default", () => {
  const options: RetryOptions = { random: () => 0.5 };
  for (const name of ["retries", "firstMs", "capMs", "jitter"]) Reflect.set(options, name, undefined);
  const [retry, expected] = [new Retry(options), new Retry({ random: () => 0.5 })];
  const lost = new ConnectionError("lost");
  for (let failure = 0; failure < 10; failure++) assert.equal(retry.waitMs(lost), expected.waitMs(lost));
});

Deno.test("a refusal is tried again when it passes, not before the server wants it, and others are not", () => {
  const refusal = (status: number, retryAfterMs?: number) =>
    new ApiError("GET x", { problem: { type: "", title: "", status, detail: "" }, retryAfterMs });
  const retry = () => new Retry({ firstMs: 100, random: () => 0.5 });
  for (const status of [408, 429, 500, 502, 503, 504]) assert.equal(retry().waitMs(refusal(status, 7000)), 7000);
  assert.equal(retry().waitMs(refusal(503)), 100);
  for (const status of [400, 401, 403, 404, 410]) assert.throws(() => retry().waitMs(refusal(status)), ApiError);
  assert.throws(() => retry().waitMs(new TypeError("ours")), TypeError);
});

import assert from "node:assert/strict";
import { pause } from "../../src/client/cancel.ts";
import { connect } from "../../src/client/mod.ts";
import { pause as wait } from "../support/eventually.ts";

const FRAME = { seq: 1, ts: "", prio: 2, pgn: 1, src: 1, dst: 255, data: "" };
/** Longer than a timer with a delay that is too long. */
const LATE_MS = 20;

/** Responds late, and with a body that is later still; an aborted request fails. */
async function lateFetch(url: string, { signal }: RequestInit): Promise<Response> {
  await wait(LATE_MS);
  signal?.throwIfAborted();
  if (!url.endsWith("/events")) return Response.json([]);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await wait(LATE_MS);
      controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(FRAME)}\n\n`));
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

Deno.test("a timeout may be Infinity, or longer than a timer of the runtime can be", async () => {
  for (const ms of [Infinity, Number.MAX_SAFE_INTEGER, 2 ** 31]) {
    const client = connect("http://boat", { fetch: lateFetch, timeoutMs: ms, silenceMs: ms, retry: { retries: 0 } });
    assert.deepEqual(await client.devices(), []);
    const reading = client.subscribe()[Symbol.asyncIterator]();
    assert.deepEqual((await reading.next()).value, FRAME);
    await reading.return();
  }
});

Deno.test("a wait may be longer than a timer of the runtime can be, and ends with its signal", async () => {
  for (const ms of [Infinity, 2 ** 31]) {
    const abort = new AbortController();
    const waiting = pause(ms, abort.signal);
    const first = await Promise.race([waiting.then(() => "over"), wait(LATE_MS).then(() => "waiting")]);
    assert.equal(first, "waiting");
    abort.abort(new Error("enough"));
    await assert.rejects(waiting, { message: "enough" });
  }
});

import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";

const FRAMES = [1, 2, 3].map((seq) => ({ seq, ts: "", prio: 2, pgn: 1, src: 1, dst: 255, data: "" }));

/** Responses in one piece, so that all frames have arrived when the first is read; bodies of acknowledgements. */
function inOnePiece(): { fetch: (url: string, init: RequestInit) => Promise<Response>; acks: unknown[] } {
  const acks: unknown[] = [];
  const respond = (url: string, { body }: RequestInit): Response => {
    const { pathname } = new URL(url);
    if (pathname.endsWith("/events")) {
      const text = FRAMES.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
      return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
    }
    if (pathname === "/history") return Response.json(FRAMES);
    if (pathname.endsWith("/ack")) acks.push(JSON.parse(String(body)));
    return Response.json({ id: "log", seq: 3, cursor: 1 });
  };
  return { fetch: (url, init) => Promise.resolve(respond(url, init)), acks };
}

for (const which of ["own", "client"]) {
  for (const what of ["subscription", "session", "history"]) {
    Deno.test(`an abort of the ${which} signal ends a ${what} at once, also if more frames have arrived`, async () => {
      const { fetch, acks } = inOnePiece();
      const abort = new AbortController();
      const client = connect("http://boat", { fetch, ...(which === "client" && { signal: abort.signal }) });
      const options = which === "own" ? { signal: abort.signal } : {};
      const frames = what === "subscription"
        ? client.subscribe({}, options)
        : what === "session"
        ? client.session("log", { bufferTimeout: "PT1M", ...options })
        : client.history({ from: new Date(0) }, options);
      const seen: number[] = [];
      const reason = new Error("enough");
      const read = async () => {
        for await (const { seq } of frames) {
          seen.push(seq);
          abort.abort(reason);
        }
      };
      await assert.rejects(read(), reason);
      assert.deepEqual(seen, [1]);
      assert.deepEqual(acks, what === "session" ? [{ seq: 1 }] : []);
    });
  }
}

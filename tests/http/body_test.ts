import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { needs } from "../support/needs.ts";

const NET = needs({ permissions: ["net"] });

Deno.test("a body that takes too long is answered with 408, and one in time is taken", NET, async () => {
  await using boat = await TestBoat.start({ bodyTimeoutMs: 200 });
  const { hostname, port } = new URL(boat.url);
  const body = `{"buffer_timeout":"PT1M"}`;
  for (const [sent, status] of [[body.length - 1, 408], [body.length, 200]] as const) {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const head = `PUT /clients/a HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${body.length}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head + body.slice(0, sent)));
    const reply = new Uint8Array(1024);
    const length = await connection.read(reply) ?? 0;
    assert.match(new TextDecoder().decode(reply.subarray(0, length)), new RegExp(`^HTTP/1\\.1 ${status} `));
  }
});

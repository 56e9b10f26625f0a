// Decoding from the bus to the client: the simulated boat's traffic, decoded by the server, against what it describes.
import assert from "node:assert/strict";
import { startDemo } from "../../src/simulation/demo.ts";
import type { Frame } from "../../src/frame/mod.ts";
import type { DeviceValues } from "../../src/http/mod.ts";
import type { Decoded, PgnDescription } from "../../src/pgn/mod.ts";
import { eventually } from "../support/eventually.ts";
import { SseClient } from "../support/sse_client.ts";

type DecodedFrame = Frame & { decoded?: Decoded };

async function demo() {
  const boat = await startDemo({ listen: { hostname: "127.0.0.1", port: 0 }, discovery: false });
  const url = `http://127.0.0.1:${boat.address.port}`;
  const get = async <T>(path: string): Promise<T> => await (await fetch(url + path)).json();
  return { url, get, [Symbol.asyncDispose]: boat.stop };
}

/** Names of the fields of an object and of the objects in its lists. */
function namesOf(decoded: Decoded): string[] {
  return Object.entries(decoded).flatMap(([name, value]) => [
    name,
    ...(Array.isArray(value) ? value : []).flatMap((each) =>
      typeof each === "object" && each !== null && !Array.isArray(each) ? Object.keys(each) : []
    ),
  ]);
}

/** Names that a PGN's layouts list. */
function describedNames({ layouts }: PgnDescription): Set<string> {
  const fields = layouts.flatMap((layout) => layout.fields);
  return new Set(
    fields.flatMap((field) => [field.name, ...("fields" in field ? field.fields.map((f) => f.name) : [])]),
  );
}

Deno.test("what the simulated boat says is decoded, field by field as /pgns/{pgn} describes it", async () => {
  await using boat = await demo();
  const pgns = new Map<number, DecodedFrame>();
  await using events = await SseClient.open(`${boat.url}/events?decode=true`, {
    onFrame: (frame) => pgns.set(frame.pgn, frame),
  });
  await eventually("position, wind and GNSS data", () => [129025, 130306, 129029].every((pgn) => pgns.has(pgn)));
  await events.atLeast(300);
  for (const [pgn, { decoded }] of pgns) {
    const description = await boat.get<PgnDescription>(`/pgns/${pgn}`);
    assert.ok(decoded, `PGN ${pgn} is decoded`);
    // The parameters of PGN 126208 are fields of another PGN, in objects of a shape of their own.
    const known = describedNames(description).union(new Set(["field", "name", "value"]));
    for (const name of namesOf(decoded)) assert.ok(known.has(name), `PGN ${pgn}: ${name}`);
  }
});

Deno.test("what a client decodes of the newest frames is what /values/decoded shows", async () => {
  await using boat = await demo();
  const frames = new Map<number, DecodedFrame>();
  await using events = await SseClient.open(`${boat.url}/events?decode=true&pgn=129025&pgn=130306`, {
    onFrame: (frame) => frames.set(frame.seq, frame),
  });
  await events.atLeast(20);
  const devices = await boat.get<DeviceValues[]>("/values/decoded?pgn=129025&pgn=130306");
  const values = devices.flatMap((device) => device.values);
  assert.ok(values.length >= 2);
  await eventually("the frames of these values", () => values.every(({ seq }) => frames.has(seq)));
  for (const { pgn, seq, data, decoded, description } of values) {
    const frame = frames.get(seq);
    assert.deepEqual([frame?.pgn, frame?.data, frame?.decoded], [pgn, data, decoded]);
    assert.ok(decoded && description, `PGN ${pgn}`);
  }
});

import assert from "node:assert/strict";
import { json } from "../../src/http/reply.ts";
import { rawRequest } from "../support/raw_http.ts";
import { ForwardLab, NET, type NodeAnswer, refusingUrl } from "./forward_lab.ts";

interface Listed {
  id: string;
  connected: boolean;
  cursor: number;
  last_seen: string | null;
}

/** A boat in a list; `cursor` tells the lists apart. */
function row(id: string, { connected = false, seen, cursor }: { connected?: boolean; seen?: string; cursor: number }) {
  const frames = { seen: 0, in_cloud: 0, on_the_way: 0, missing: 0 };
  const last_seen = seen === undefined ? null : `2026-11-26T11:${seen}.000Z`;
  return { id, connected, cursor, boat_head_seq: 0, holes: [], lag_seqs: 0, last_seen, frames };
}

type Row = ReturnType<typeof row>;

const listOf = (...instances: unknown[]): NodeAnswer => (_, reply) => void reply.end(JSON.stringify({ instances }));

/** A lab whose nodes have boats. */
async function open(own: readonly Row[], ...others: (NodeAnswer | string)[]): Promise<ForwardLab> {
  const lab = await ForwardLab.open();
  lab.answer = () => Promise.resolve(json({ instances: own }));
  for (const other of others) lab.others.push(typeof other === "string" ? other : await lab.serve(other));
  return lab;
}

/** The list as `id cursor`. */
async function listed(lab: ForwardLab): Promise<string[]> {
  const { instances }: { instances: Listed[] } = await (await fetch(`${lab.url}/instances`)).json();
  return instances.map(({ id, cursor }) => `${id} ${cursor}`);
}

Deno.test(
  "the list has the boats of all nodes by id: of several, a connected one, else the one seen last",
  NET,
  async () => {
    await using lab = await open(
      [
        row("d", { cursor: 1 }),
        row("b", { seen: "10:00", cursor: 1 }),
        row("a", { connected: true, seen: "01:00", cursor: 1 }),
      ],
      listOf(row("a", { seen: "20:00", cursor: 2 }), row("b", { seen: "11:00", cursor: 2 }), row("c", { cursor: 2 })),
      listOf(row("b", { seen: "09:00", cursor: 3 }), row("d", { seen: "01:00", cursor: 3 })),
      listOf(row("d", { connected: true, cursor: 4 })),
    );
    assert.deepEqual(await listed(lab), ["a 1", "b 2", "c 2", "d 4"]);
  },
);

Deno.test("a list is asked for as the client asks, and packed for him", NET, async () => {
  const asked: [url: string | undefined, token: string | undefined, encoding: unknown][] = [];
  await using lab = await open([row("a", { cursor: 1 })], (incoming, reply) => {
    const { url, headers } = incoming;
    asked.push([url, headers.authorization, headers["accept-encoding"]]);
    listOf(row("b", { cursor: 2 }))(incoming, reply);
  });
  const headers = { "Authorization": "Bearer secret", "Accept-Encoding": "gzip" };
  const reply = await rawRequest(`${lab.url}/instances?token=t`, { headers });
  assert.deepEqual(asked, [["/instances?token=t", "Bearer secret", undefined]]);
  assert.equal(reply.headers.get("Content-Encoding"), "gzip");
  assert.equal(reply.headers.get("Content-Type"), "application/json");
  assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
  assert.equal(JSON.parse(await reply.text()).instances.length, 2);
});

Deno.test(
  "a node that answers with an error, with something else, late or not at all is left out of the list",
  NET,
  async () => {
    await using lab = await open(
      [row("a", { cursor: 1 })],
      (_, reply) => void reply.writeHead(503).end(JSON.stringify({ instances: [row("z", { cursor: 2 })] })),
      (_, reply) => void reply.end("<html>"),
      listOf({ id: "z" }),
      listOf(row("b", { cursor: 5 })),
      ({ socket }) => void socket.destroy(),
      (_, reply) => void reply.write(`{"instances":[`),
      () => {},
      await refusingUrl(),
    );
    assert.deepEqual(await listed(lab), ["a 1", "b 5"]);
    const left = lab.lines.filter((line) => line.includes("boats of another node not listed"));
    assert.deepEqual(left.map((line) => lab.others.findIndex((url) => line.includes(url))).sort(), [0, 4, 5, 6, 7]);
  },
);

Deno.test("what the node itself refuses is refused, and no other node is asked", NET, async () => {
  let asked = 0;
  await using lab = await open([], () => void asked++);
  lab.answer = () => Promise.resolve(new Response("who?", { status: 401, headers: { "WWW-Authenticate": "Bearer" } }));
  const reply = await rawRequest(`${lab.url}/instances`);
  assert.deepEqual([reply.status, reply.headers.get("WWW-Authenticate"), await reply.text()], [401, "Bearer", "who?"]);
  lab.answer = ({ method }) => Promise.resolve(new Response(method));
  assert.equal(await (await rawRequest(`${lab.url}/instances`, { method: "POST", body: "" })).text(), "POST");
  assert.equal((await rawRequest(`${lab.url}/instances`, { method: "HEAD" })).status, 200);
  assert.equal(asked, 0);
  assert.deepEqual(lab.local, ["GET /instances", "POST /instances", "HEAD /instances"]);
});

import assert from "node:assert/strict";
import type { Device, Frame } from "../../src/frame/mod.ts";
import type { DeviceValues } from "../../src/http/mod.ts";
import { reconnectRequest } from "../../src/replication/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { SessionClient } from "../support/session.ts";
import { SseClient } from "../support/sse_client.ts";
import { WsClient } from "../support/ws_client.ts";
import { CloudServer, writeState } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write"] });
const IDLE_MS = 60_000;
const OTHER_EPOCH = new Uint8Array(16).fill(0xc2);
const HISTORY = "/history?from=2026-01-02T00:00:00Z&to=2026-01-03T00:00:00Z";

Deno.test(
  "frames, devices, values and history of a boat are read as on the boat itself",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const boat = await cloud.boat("boat-1", { busNames: ["can0", "can1"] });
      await using events = await SseClient.open(`${cloud.url}/instances/boat-1/events?pgn=127250&decode=true`);
      boat.say({ pgn: 127250, src: 7, bus: 1, monoMs: 1.9, data: [0xff, 0, 0xab, 0xcd, 1, 2, 3, 0xfd] });
      boat.say({ pgn: 127245, src: 8 });
      await events.atLeast(1);
      assert.match(
        events.texts[0] ?? "",
        /^\{"seq":1,"ts":"2026-01-02T03:04:05\.001Z","prio":2,"pgn":127250,"src":7,"dst":255,"bus":"can1","data":"ff00abcd010203fd","decoded":\{/,
      );
      const devices = await cloud.get<Device[]>("/instances/boat-1/devices");
      assert.deepEqual(devices.map(({ src, bus }) => [src, bus]), [[8, "can0"], [7, "can1"]]);
      const values = await cloud.get<DeviceValues[]>("/instances/boat-1/values?bus=can1");
      assert.deepEqual(values.map(({ src, values: [value] }) => [src, value?.pgn, value?.seq]), [[7, 127250, 1]]);
      const [decoded] = await cloud.get<DeviceValues[]>("/instances/boat-1/values/decoded?pgn=127250");
      assert.equal(decoded?.values[0]?.description, "Vessel heading");
      const history = await cloud.get<Frame[]>(`/instances/boat-1${HISTORY}`);
      assert.deepEqual(history.map(({ seq, bus }) => [seq, bus]), [[1, "can1"], [2, "can0"]]);
      const first = await fetch(`${cloud.url}/instances/boat-1${HISTORY}&limit=1`);
      const [, link = ""] = /^<(.*)>; rel="next"$/.exec(first.headers.get("Link") ?? "") ?? [];
      assert.deepEqual([first.headers.get("Frame-Count"), await first.json()], ["1", history.slice(0, 1)]);
      const second = await fetch(new URL(link, first.url));
      assert.deepEqual([second.headers.get("Link"), await second.json()], [null, history.slice(1)]);
    }),
);

Deno.test(
  "what is kept of a boat that is away is read from its files, and one boat's is not another's",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using cloud = await CloudServer.start(folder);
        (await cloud.boat("boat-1")).say({ src: 1 });
        (await cloud.boat("boat-2")).say({ src: 2 });
      }
      await using cloud = await CloudServer.start(folder);
      for (const src of [1, 2]) {
        assert.deepEqual((await cloud.get<Device[]>(`/instances/boat-${src}/devices`)).map((each) => each.src), [src]);
        assert.deepEqual((await cloud.get<Frame[]>(`/instances/boat-${src}${HISTORY}`)).map((each) => each.src), [src]);
      }
    }),
);

Deno.test("a WebSocket carries a boat's frames, and sends nothing", DISK, () =>
  inFolder(async (folder) => {
    await using cloud = await CloudServer.start(folder);
    const boat = await cloud.boat("boat-1");
    await using socket = await WsClient.open(`${cloud.url}/instances/boat-1/ws?pgn=127250`);
    await eventually("the socket's place", () => cloud.readers.count("websocket") === 1);
    boat.say();
    assert.deepEqual((await socket.atLeast<Frame>("frame", 1)).map(({ seq }) => seq), [1]);
    assert.equal(await socket.errorTo(JSON.stringify({ type: "send", data: {} })), "send is disabled");
    await socket.close();
    await eventually("the place to be given back", () => cloud.readers.count("websocket") === 0);
  }));

Deno.test(
  "a session in the cloud goes on where its client was, after the cloud was started anew, too",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using cloud = await CloudServer.start(folder);
        const boat = await cloud.boat("boat-1");
        const session = new SessionClient(`${cloud.url}/instances/boat-1`);
        assert.equal((await session.put()).cursor, 1);
        for (let i = 0; i < 3; i++) boat.say();
        await using events = await session.events();
        await events.atLeast(3);
        assert.equal(await session.ack(2), 204);
        assert.equal(await session.ack(4), 400);
      }
      await using cloud = await CloudServer.start(folder);
      const session = new SessionClient(`${cloud.url}/instances/boat-1`);
      assert.equal(await session.cursor(), 3);
      await using events = await session.events();
      assert.deepEqual((await events.atLeast(1)).map(({ seq }) => seq), [3]);
      assert.equal((await session.request("DELETE", "")).status, 204);
      assert.equal((await session.problem("GET", "")).status, 404);
    }),
);

Deno.test(
  "clients of a boat that another node continues with are ended as when the server stops, those of others are not",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const clientsOf = async (id: string) => {
        const boat = await cloud.boat(id);
        const url = `${cloud.url}/instances/${id}`;
        const session = new SessionClient(url);
        await session.put();
        const streams = [await SseClient.open(`${url}/events`), await session.events()];
        const socket = await WsClient.open(`${url}/ws`);
        boat.say();
        for (const stream of streams) await stream.atLeast(1);
        await socket.atLeast("frame", 1);
        const isEnded = () => streams.every(({ ended }) => ended) && socket.closed !== undefined;
        const found =
          () => [...streams.map(({ events, texts }) => ({ events, texts })), socket.closed, socket.messages];
        return { boat, isEnded, found };
      };
      const [drained, stopped] = [await clientsOf("boat-1"), await clientsOf("boat-2")];
      await drained.boat.instance.disconnect(reconnectRequest("draining"));
      await eventually("the end of the streams", drained.isEnded);
      assert.equal(drained.boat.ended, "the node is draining");
      assert.deepEqual([stopped.boat.ended, stopped.isEnded()], [undefined, false]);
      await stopped.boat.instance.stop();
      await eventually("the end of the others", stopped.isEnded);
      assert.deepEqual(drained.found(), stopped.found());
    }),
);

Deno.test("sessions are limited for each boat, streams for all boats together", DISK, () =>
  inFolder(async (folder) => {
    await using cloud = await CloudServer.start(folder, { maxSessions: 1, maxStreams: 2 });
    for (const id of ["boat-1", "boat-2"]) {
      await cloud.boat(id);
      await new SessionClient(`${cloud.url}/instances/${id}`).put();
      const second = new SessionClient(`${cloud.url}/instances/${id}`, { id: "other" });
      assert.equal((await second.problem("PUT", "", { buffer_timeout: "PT1M" })).status, 503);
    }
    const open = (id: string) => SseClient.open(`${cloud.url}/instances/${id}/events`);
    await using _first = await open("boat-1");
    const second = await open("boat-2");
    for (const path of ["/instances/boat-1/events", "/instances/boat-2/clients/pilot/events"]) {
      const reply = await cloud.raw(path);
      assert.deepEqual([reply.status, reply.headers.get("Retry-After")], [503, "5"], path);
    }
    await second.close();
    await eventually("a free place", () => cloud.readers.count("sse") === 1);
    await using _third = await open("boat-1");
  }));

Deno.test(
  "a client's stream keeps a boat's replica running, and without one it stops when it is idle",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using cloud = await CloudServer.start(folder, { clock, settings: { brokerIdleTimeoutMs: IDLE_MS } });
      const boat = await cloud.boat("boat-1");
      boat.say();
      boat.leave();
      const { instance } = boat;
      const pass = () => {
        clock.advance(IDLE_MS);
        cloud.instances.runHousekeeping();
      };
      const events = await SseClient.open(`${cloud.url}/instances/boat-1/events`);
      await using socket = await WsClient.open(`${cloud.url}/instances/boat-1/ws`);
      await eventually("the socket's place", () => cloud.readers.count("websocket") === 1);
      const replica = instance.runningReplica;
      pass();
      // A replica that had been stopped would be another one now.
      assert.equal(await instance.replica(), replica);
      await events.close();
      pass();
      assert.equal(await instance.replica(), replica);
      assert.equal(socket.closed, undefined);
      await socket.close();
      await eventually("the replica to stop", () => {
        pass();
        return instance.runningReplica === undefined;
      });
      assert.equal((await cloud.get<Device[]>("/instances/boat-1/devices")).length, 1, "it starts again");
    }),
);

Deno.test(
  "a reply that is still being sent keeps a boat's replica running, until its client has left",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      // However slow the disk is, memory holds all.
      await using cloud = await CloudServer.start(folder, {
        clock,
        settings: { brokerIdleTimeoutMs: IDLE_MS, maxBacklogBytes: 2 ** 26 },
      });
      const boat = await cloud.boat("boat-1");
      // More than the buffers of a connection hold.
      for (let i = 0; i < 8000; i++) {
        boat.say({ pgn: 126720, data: new Uint8Array(1785) });
        if (i % 50 === 0) await pause();
      }
      boat.leave();
      const abort = new AbortController();
      const reply = await fetch(`${cloud.url}/instances/boat-1${HISTORY}`, { signal: abort.signal });
      const reader = reply.body?.getReader();
      await reader?.read();
      const replica = boat.instance.runningReplica;
      clock.advance(IDLE_MS);
      cloud.instances.runHousekeeping();
      assert.equal(await boat.instance.replica(), replica, "one that had been stopped would be another one now");
      abort.abort();
      await reader?.closed.catch(() => {});
      await eventually("the replica to stop", () => {
        clock.advance(IDLE_MS);
        cloud.instances.runHousekeeping();
        return boat.instance.runningReplica === undefined;
      });
    }),
);

const READ = ["/devices", "/values", "/values/decoded", "/events", HISTORY, "/clients/pilot", "/clients/pilot/events"];

Deno.test(
  "HEAD, OPTIONS and gzip are there on every path of a boat, and none holds its replica",
  DISK,
  (t) =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using cloud = await CloudServer.start(folder, { clock, settings: { brokerIdleTimeoutMs: IDLE_MS } });
      const boat = await cloud.boat("boat-1");
      boat.say();
      boat.leave();
      await new SessionClient(`${cloud.url}/instances/boat-1`).put();
      for (const path of [...READ, "/status", "/replication/events"].map((each) => `/instances/boat-1${each}`)) {
        await t.step(path, async () => {
          const isStream = path.endsWith("events") && !path.endsWith("replication/events");
          const head = await cloud.raw(path, { method: "HEAD" });
          assert.deepEqual([head.status, head.body.length], [200, 0]);
          assert.equal((await cloud.raw(path, { method: "OPTIONS" })).status, 204);
          assert.equal(head.headers.get("Access-Control-Allow-Origin"), "*");
          if (isStream) return;
          const plain = await cloud.raw(path);
          const packed = await cloud.raw(path, { headers: { "Accept-Encoding": "gzip" } });
          assert.equal(packed.headers.get("Content-Encoding"), "gzip");
          assert.deepEqual(JSON.parse(await packed.text()), JSON.parse(await plain.text()));
          const wrong = await cloud.raw(path, { method: "POST" });
          assert.equal(wrong.status, 405);
          assert.match(wrong.headers.get("Allow") ?? "", /GET.*HEAD, OPTIONS$/);
        });
      }
      await eventually("the replica to stop", () => {
        clock.advance(IDLE_MS);
        cloud.instances.runHousekeeping();
        return boat.instance.runningReplica === undefined;
      });
    }),
);

Deno.test(
  "a boat that nobody knows is a problem with status 404 on every path, and there is nothing to send to",
  DISK,
  (t) =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      await cloud.boat("boat-1");
      for (const path of [...READ, "/ws", "/status", "/replication/events", "/nothing", "", "/"]) {
        await t.step(path, async () => {
          const reply = await cloud.raw(`/instances/nobody${path}`);
          assert.equal(reply.status, 404);
          assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
          assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
        });
      }
      for (const path of ["/send", "/query"]) {
        for (const at of [path, `/instances/boat-1${path}`]) {
          assert.equal((await cloud.raw(at, { method: "POST", body: "{}" })).status, 404, at);
        }
      }
      assert.equal((await cloud.raw("/instances/%2e%2e/status")).status, 404);
      assert.equal((await cloud.raw("/instances/..%2fboat-1/status")).status, 404);
    }),
);

Deno.test(
  "what a boat refuses is refused in the cloud: filters, bodies, a WebSocket that is none",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      await cloud.boat("boat-1");
      const status = async (path: string) => (await cloud.raw(`/instances/boat-1${path}`)).status;
      assert.equal(await status("/events?pgn=x"), 400);
      assert.equal(await status("/values?pgm=1"), 400);
      assert.equal(await status("/history"), 400);
      assert.equal(await status("/ws"), 426);
      assert.equal(await status("/clients/a%20b"), 400);
      const session = new SessionClient(`${cloud.url}/instances/boat-1`);
      assert.equal((await session.problem("PUT", "", "{")).status, 400);
      assert.equal((await session.problem("PUT", "", {})).field, "buffer_timeout");
    }),
);

Deno.test(
  "a replica that cannot be started is a 503 with the reason, and the rest is told all the same",
  DISK,
  () =>
    inFolder(async (folder) => {
      await writeState(folder, "boat-1", { headSeq: 1 });
      const openReplica = () => () => Promise.reject(new Error("the disk is on fire"));
      await using cloud = await CloudServer.start(folder, { openReplica });
      const reply = await cloud.raw("/instances/boat-1/devices");
      assert.equal(reply.status, 503);
      assert.match(JSON.parse(await reply.text()).detail, /"boat-1".*the disk is on fire/);
      assert.equal((await cloud.raw("/instances/boat-1/status")).status, 200);
    }),
);

Deno.test(
  "when a boat's numbers begin again, streams go on with the new ones, and sessions are told",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const before = await cloud.boat("boat-1");
      const session = new SessionClient(`${cloud.url}/instances/boat-1`);
      await session.put();
      await using events = await SseClient.open(`${cloud.url}/instances/boat-1/events`);
      before.say({ src: 1 });
      const boat = await cloud.boat("boat-1", { epoch: OTHER_EPOCH });
      boat.say({ src: 2 });
      assert.deepEqual((await events.atLeast(2)).map(({ seq, src }) => [seq, src]), [[1, 1], [1, 2]]);
      assert.deepEqual((await cloud.get<Device[]>("/instances/boat-1/devices")).map(({ src }) => src), [2]);
      await using told = await session.events();
      await eventually("the session to be told", () => told.ended);
      assert.deepEqual(told.named("error"), [{ code: "new_epoch" }]);
      await using again = await session.events();
      assert.deepEqual((await again.atLeast(1)).map(({ seq, src }) => [seq, src]), [[1, 2]]);
    }),
);

Deno.test(
  "when a boat comes with other buses, its streams end, and who comes back reads those",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      await cloud.boat("boat-1");
      await using events = await SseClient.open(`${cloud.url}/instances/boat-1/events`);
      await using socket = await WsClient.open(`${cloud.url}/instances/boat-1/ws`);
      await eventually("the socket's place", () => cloud.readers.count("websocket") === 1);
      const boat = await cloud.boat("boat-1", { busNames: ["port", "starboard"] });
      await eventually("the streams to end", () => events.ended && socket.closed?.code === 1001);
      assert.deepEqual([cloud.readers.count("sse"), cloud.readers.count("websocket")], [0, 0]);
      await using again = await SseClient.open(`${cloud.url}/instances/boat-1/events`);
      boat.say({ bus: 1 });
      assert.deepEqual((await again.atLeast(1)).map(({ bus }) => bus), ["starboard"]);
    }),
);

Deno.test(
  "every boat has Signal K of its own, whose stream ends when another boat takes its place",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const boat = await cloud.boat("boat-1");
      await cloud.boat("boat-2");
      const base = "/instances/boat-1/signalk";
      const { endpoints } = await cloud.get<{ endpoints: { v1: Record<string, string> } }>(base);
      assert.equal(endpoints.v1["signalk-http"], `${cloud.url}${base}/v1/api/`);
      const deltas: { self?: string; updates?: { values: { path: string; value: unknown }[] }[] }[] = [];
      const socket = new WebSocket(`${endpoints.v1["signalk-ws"]}?subscribe=self`);
      socket.onmessage = ({ data }) => deltas.push(JSON.parse(String(data)));
      await eventually("the greeting", () => deltas[0]?.self);
      boat.say({ pgn: 127250, src: 7, data: [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfc] });
      const values = () => deltas.flatMap(({ updates = [] }) => updates).flatMap(({ values = [] }) => values);
      await eventually("the value", () =>
        values().some(({ path, value }) => path.endsWith("headingTrue") && value === 1));
      assert.deepEqual(values()[0]?.value, { name: "boat-1", uuid: deltas[0]?.self?.slice("vessels.".length) });
      const other = await cloud.get<{ vessels: object }>("/instances/boat-2/signalk/v1/api/");
      assert.doesNotMatch(JSON.stringify(other), /headingTrue/);
      assert.equal(cloud.readers.count("websocket"), 0, "it is no stream of frames");
      const closed = Promise.withResolvers<number>();
      socket.onclose = ({ code }) =>
        closed.resolve(code);
      await cloud.boat("boat-1", { busNames: ["port", "starboard"] });
      assert.equal(await closed.promise, 1001);
    }),
);

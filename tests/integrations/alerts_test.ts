import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { AtomicFile, Logger, silentLogger, systemClock } from "../../src/base/mod.ts";
import { Alerts, type AlertSettings } from "../../src/integrations/alerts/alerts.ts";
import { ALERT_FILE } from "../../src/integrations/alerts/file.ts";
import type { Alert, WatchedComponents } from "../../src/integrations/alerts/types.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { MemoryFile } from "./memory_file.ts";

const NET = needs({ permissions: ["net"] });
const FILES = needs({ permissions: ["net", "read", "write"] });
/** Retries that a test can wait for. */
const FAST = { retry: { firstMs: 5, capMs: 20 }, dedupWindowMs: 0 };

/** What a receiver got. */
interface Got {
  alert: Alert;
  body: string;
  headers: Headers;
}

/** A receiver of webhooks that answers as it is told. */
class Receiver implements AsyncDisposable {
  /** Every request. */
  readonly tries: Got[] = [];
  /** What was answered with success. */
  readonly accepted: Got[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  /** @param answer status of the answer to each request; a promise: it comes when that is settled */
  constructor(answer: (got: Got, count: number) => number | Promise<number> = () => 204, port = 0) {
    const options = { hostname: "127.0.0.1", port, onListen: () => {} };
    this.#server = Deno.serve(options, async (request) => {
      const body = await request.text();
      assert.equal(request.method, "POST");
      const got = { body, alert: JSON.parse(body), headers: request.headers };
      this.tries.push(got);
      const status = await answer(got, this.tries.length);
      if (status < 300) this.accepted.push(got);
      const headers = { location: "/elsewhere" };
      return new Response(status === 204 ? null : "x".repeat(100_000), { status, headers });
    });
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook?token=sesame`;
  }

  /** Types of what was answered with success. */
  get types(): string[] {
    return this.accepted.map(({ alert }) => alert.type);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Alerts about components, which is all that these tests need to make some. */
async function opened(
  settings: AlertSettings,
  { file, log = silentLogger }: { file?: MemoryFile | AtomicFile; log?: Logger } = {},
) {
  const alerts = await Alerts.open({ ...FAST, ...settings }, { buses: [], clock: systemClock, log, file });
  return {
    alerts,
    evaluate: (components: WatchedComponents) => alerts.evaluate({ buses: [], components }),
    [Symbol.asyncDispose]: () => alerts.stop(),
  };
}

const BAD = { journal: { status: "unhealthy", message: "the disk is full" } } as const;
const WORSE = { ...BAD, mqtt: { status: "degraded", message: "not connected" } } as const;

Deno.test(
  "an alert is a POST of JSON with a key that stays the same, and a signature when there is a secret",
  NET,
  async () => {
    await using receiver = new Receiver((_, count) => count === 1 ? 500 : 200);
    await using boat = await opened({ urls: [receiver.url], secret: "s3cret", instanceId: "boat-1" });
    boat.evaluate(BAD);
    const [got] = await eventually("the alert", () => receiver.accepted.length === 1 && receiver.accepted);
    const { id, timestamp, ...rest } = got!.alert;
    assert.deepEqual(rest, {
      type: "journal_unhealthy",
      severity: "critical",
      summary: "journal is unhealthy: the disk is full",
      subject: "component:journal",
      instance_id: "boat-1",
      details: { component: "journal", status: "unhealthy", message: "the disk is full" },
    });
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.equal(got!.headers.get("content-type"), "application/json");
    const signature = `sha256=${createHmac("sha256", "s3cret").update(got!.body).digest("hex")}`;
    for (const { headers, body } of receiver.tries) {
      assert.equal(headers.get("idempotency-key"), id);
      assert.equal(headers.get("x-vbg-signature"), signature);
      assert.equal(body, got!.body);
    }
  },
);

Deno.test("a receiver that fails three times gets each alert once for each subject", NET, async () => {
  await using receiver = new Receiver((_, count) => [500, 503, 429][count - 1] ?? 204);
  await using boat = await opened({ urls: [receiver.url], dedupWindowMs: 300_000 });
  for (let i = 0; i < 50; i++) boat.evaluate(WORSE);
  await eventually("both alerts", () => boat.alerts.figures.sent === 2);
  for (let i = 0; i < 50; i++) boat.evaluate(WORSE);
  await pause(50);
  assert.deepEqual(receiver.types, ["journal_unhealthy", "mqtt_degraded"]);
  assert.equal(receiver.tries.length, 5);
  assert.equal(receiver.tries[0]?.headers.get("x-vbg-signature"), null);
  assert.deepEqual(boat.alerts.figures, { sent: 2, failed: 3, dropped: 0, waiting: 0 });
  assert.deepEqual(boat.alerts.health(), { status: "ok" });
});

Deno.test("a receiver that hangs is given up after the time for it, and tried again", NET, async () => {
  const hang = Promise.withResolvers<number>();
  await using receiver = new Receiver((_, count) => count <= 2 ? hang.promise : 204);
  await using boat = await opened({ urls: [receiver.url], timeoutMs: 250 });
  boat.evaluate(BAD);
  await eventually("problem", () => boat.alerts.figures.failed > 0);
  const health = boat.alerts.health();
  assert.match(health.status === "degraded" ? health.message : "", /: no answer within 0\.25 s; 1 queued$/);
  await eventually("the alert", () => boat.alerts.figures.sent === 1);
  hang.resolve(500);
});

Deno.test("a receiver that is down gets everything in order when it comes back", NET, async () => {
  using held = HeldPort.take();
  await using boat = await opened({ urls: [`http://127.0.0.1:${held.port}/hook`] });
  for (const status of ["degraded", "unhealthy", "ok", "unhealthy", "ok"] as const) boat.evaluate({ disk: { status } });
  await eventually("several tries", () => boat.alerts.figures.failed > 3);
  const health = boat.alerts.health();
  assert.match(
    health.status === "degraded" ? health.message : "",
    /^not delivered to http:\/\/127\.0\.0\.1:\d+: .*refused.*; 5 queued$/,
  );
  await using back = new Receiver(undefined, held.port);
  await eventually("all alerts", () => back.accepted.length === 5);
  assert.deepEqual(back.types, [
    "disk_degraded",
    "disk_unhealthy",
    "disk_recovered",
    "disk_unhealthy",
    "disk_recovered",
  ]);
  await eventually("health", () => boat.alerts.health().status === "ok");
});

Deno.test("an alert that is refused, or sent elsewhere, does not hold up others and is tried again", NET, async () => {
  let isMended = false;
  await using receiver = new Receiver(({ alert }) => {
    if (isMended) return 204;
    return { journal_unhealthy: 400, tls_degraded: 302 }[alert.type] ?? 204;
  });
  await using boat = await opened({ urls: [receiver.url] });
  boat.evaluate({ ...WORSE, tls: { status: "degraded" } });
  await eventually("the other alert", () => receiver.accepted.length === 1);
  await eventually("more tries", () => receiver.tries.length > 6);
  const health = boat.alerts.health();
  assert.match(health.status === "degraded" ? health.message : "", /: the response is (400|302); 2 queued$/);
  isMended = true;
  await eventually("all", () => receiver.accepted.length === 3);
  assert.deepEqual(receiver.types.sort(), ["journal_unhealthy", "mqtt_degraded", "tls_degraded"]);
});

Deno.test("each receiver gets everything, whatever becomes of the others", NET, async () => {
  await using good = new Receiver();
  await using bad = new Receiver(() => 500);
  await using boat = await opened({ urls: [bad.url, good.url, good.url] });
  boat.evaluate(WORSE);
  await eventually("both alerts at the good one", () => boat.alerts.figures.sent === 2);
  await eventually("tries at the bad one", () => bad.tries.length > 2);
  assert.deepEqual([good.accepted.length, boat.alerts.figures.sent, boat.alerts.figures.waiting], [2, 2, 2]);
});

Deno.test("what there was no room for is counted, and told with the next alert", NET, async () => {
  let isUp = false;
  await using receiver = new Receiver(() => isUp ? 204 : 500);
  await using boat = await opened({ urls: [receiver.url], maxAlerts: 4 });
  for (let i = 0; i < 10; i++) boat.evaluate({ disk: { status: i % 2 === 0 ? "degraded" : "ok" } });
  assert.equal(boat.alerts.figures.dropped, 6);
  isUp = true;
  await eventually("the rest", () => receiver.accepted.length === 4);
  assert.deepEqual(receiver.accepted.map(({ alert }) => alert.details.dropped_alerts), [
    undefined,
    6,
    undefined,
    undefined,
  ]);
  assert.deepEqual(receiver.types, ["disk_degraded", "disk_recovered", "disk_degraded", "disk_recovered"]);
});

Deno.test(
  "a restart keeps what waits and what was told, in a file that holds no address and is its owner's",
  FILES,
  async () => {
    await inFolder(async (folder) => {
      const file = () => new AtomicFile(folder, { name: ALERT_FILE });
      let isUp = false;
      await using receiver = new Receiver(() => isUp ? 204 : 503);
      {
        await using boat = await opened({ urls: [receiver.url], secret: "s3cret" }, { file: file() });
        boat.evaluate(WORSE);
        await eventually("a try", () => boat.alerts.figures.failed > 0);
      }
      const text = await Deno.readTextFile(`${folder}/${ALERT_FILE}`);
      assert.doesNotMatch(text, /sesame|s3cret|127\.0\.0\.1/);
      assert.equal((await Deno.stat(`${folder}/${ALERT_FILE}`)).mode! & 0o777, 0o600);
      const first = receiver.tries[0]!;
      isUp = true;
      {
        await using boat = await opened({ urls: [receiver.url] }, { file: file() });
        await eventually("both alerts", () => receiver.accepted.length === 2);
        assert.equal(receiver.accepted[0]!.body, first.body);
        boat.evaluate(BAD);
        await eventually("the third", () => boat.alerts.figures.sent === 3);
      }
      await using boat = await opened({ urls: [receiver.url] }, { file: file() });
      boat.evaluate(BAD);
      await pause(50);
      assert.deepEqual(receiver.types, ["journal_unhealthy", "mqtt_degraded", "mqtt_recovered"]);
    });
  },
);

Deno.test(
  "a stop breaks a request off that is not answered, and the alert is sent after the restart",
  NET,
  async () => {
    const hang = Promise.withResolvers<number>();
    await using receiver = new Receiver((_, count) => count === 1 ? hang.promise : 204);
    const file = new MemoryFile();
    {
      await using boat = await opened({ urls: [receiver.url] }, { file });
      boat.evaluate(BAD);
      await eventually("the request", () => receiver.tries.length === 1);
    }
    await using boat = await opened({ urls: [receiver.url] }, { file });
    await eventually("the alert", () => receiver.accepted.length === 1);
    assert.equal(receiver.tries[0]!.headers.get("idempotency-key"), receiver.accepted[0]!.alert.id);
    boat.evaluate(BAD);
    hang.resolve(500);
  },
);

Deno.test("an answer that comes while stopping counts", NET, async () => {
  const late = Promise.withResolvers<number>();
  await using receiver = new Receiver(() => late.promise);
  const file = new MemoryFile();
  const boat = await opened({ urls: [receiver.url] }, { file });
  boat.evaluate(WORSE);
  await eventually("the request", () => receiver.tries.length === 1);
  const stopped = boat.alerts.stop();
  late.resolve(204);
  await stopped;
  assert.equal(boat.alerts.figures.sent, 1);
  assert.equal(receiver.tries.length, 1, "nothing new is begun");
  assert.match(file.text!, /mqtt_degraded/);
  assert.doesNotMatch(file.text!, /journal_unhealthy/);
});

Deno.test("a file that is damaged, or of somebody else, costs a line in the log", NET, async () => {
  for (
    const text of [
      "{",
      "[]",
      '{"version": 9}',
      '{"version":1,"told":[5,{"subject":1}],"queues":{"x":{"waiting":[{}]}}}',
    ]
  ) {
    const lines: string[] = [];
    const log = new Logger({ write: (line) => lines.push(line) });
    await using _ = await opened({}, { file: new MemoryFile(text), log });
    assert.equal(lines.length, text.includes("queues") ? 0 : 1, text);
  }
});

Deno.test("alerts that are not written down degrade health until they are", NET, async () => {
  const file = new MemoryFile();
  await using boat = await opened({}, { file });
  file.fails = true;
  boat.evaluate(BAD);
  const health = await eventually("the failure", () => {
    const now = boat.alerts.health();
    return now.status === "degraded" && now;
  });
  assert.match(health.message, /^not stored: Cannot write "sessions\.json": full$/);
  file.fails = false;
});

Deno.test("receivers that are not set any more lose what waited for them, and a line says so", NET, async () => {
  const file = new MemoryFile();
  const lines: string[] = [];
  {
    await using boat = await opened({ urls: ["http://127.0.0.1:1/secret"] }, { file });
    boat.evaluate(WORSE);
  }
  const log = new Logger({ write: (line) => lines.push(line) });
  await using _ = await opened({}, { file, log });
  assert.match(lines.join(), /alerts dropped: their receiver is no longer configured alerts=2$/);
});

Deno.test("without a receiver alerts are lines of the log, and secrets never are", NET, async () => {
  const lines: string[] = [];
  const log = new Logger({ level: "debug", write: (line) => lines.push(line) });
  const urls = [
    "http://user:sesame@127.0.0.1:1/sesame?sesame",
    "http://127.0.0.1:9/sesame",
    "http://nobody.invalid/sesame#sesame",
  ];
  {
    await using boat = await opened({ urls, secret: "sesame" }, { log });
    boat.evaluate(BAD);
    await eventually("tries at all", () => lines.filter((line) => line.includes("not delivered")).length === 3);
    lines.push(JSON.stringify(boat.alerts.health()));
  }
  assert.match(
    lines[0]!,
    /WARN {2}alert type=journal_unhealthy subject=component:journal summary="journal is unhealthy: the/,
  );
  assert.doesNotMatch(lines.join("\n"), /sesame/);
  assert.match(lines.join("\n"), /receiver="http:\/\/127\.0\.0\.1:1 \(1\)" reason="/);
});

Deno.test("rules may change while alerts are made", NET, async () => {
  const lines: string[] = [];
  const log = new Logger({ write: (line) => lines.push(line) });
  await using boat = await opened({ dedupWindowMs: 300_000 }, { log });
  boat.evaluate(BAD);
  boat.evaluate({});
  assert.equal(lines.length, 1);
  boat.alerts.reload({ dedupWindowMs: 0 });
  boat.evaluate({});
  assert.match(lines[1] ?? "", /INFO {2}alert type=journal_recovered/);
});

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type ClientHttp2Session, connect } from "node:http2";
import { Readable } from "node:stream";
import { ReplicationClient } from "../../src/replication/mod.ts";
import { REQUEST } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { ATTACK, IS_FULL, Target } from "./target.ts";

const CONNECTIONS = IS_FULL ? 48 : 12;
const CALLS = 16;
const MESSAGE_BYTES = 4 * 1024 * 1024;
/** What the attack may cost in memory. Buffering it took 40 MB for each connection. */
const MOST_GROWTH_MB = 100;
const UNAUTHENTICATED = "16";
const TIMEOUT = { timeoutMs: 30_000 };
const PATH = "/vessel.replication.v1.Replication/Handshake";

const PIECE_BYTES = 16 * 1024;
const PIECE = Buffer.alloc(PIECE_BYTES);

/** A message that lacks its end. Sent as fast as it is taken: the attacker need not have the memory. */
function* unfinished(): Generator<Buffer> {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(MESSAGE_BYTES, 1);
  yield head;
  for (let sent = PIECE_BYTES; sent < MESSAGE_BYTES; sent += PIECE_BYTES) yield PIECE;
}

/** Connections without a certificate, on which calls are begun and never finished. */
class Callers implements Disposable {
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #answered = new Set<number>();
  /** Statuses of calls. */
  readonly statuses = new Set<string>();

  /** Connections that got an answer. */
  get answered(): number {
    return this.#answered.size;
  }

  open(port: number, ca: string): void {
    const session = connect(`https://127.0.0.1:${port}`, { ca });
    const number = this.#sessions.push(session);
    session.on("error", () => {});
    for (let calls = 0; calls < CALLS; calls++) {
      const headers = { ":method": "POST", ":path": PATH, "content-type": "application/grpc", te: "trailers" };
      const call = session.request(headers, { endStream: false });
      call.on("error", () => {}).on("response", ({ "grpc-status": status }) => {
        this.#answered.add(number);
        this.statuses.add(String(status));
      });
      Readable.from(unfinished()).pipe(call, { end: false });
    }
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions) session.destroy();
  }
}

for (const mode of ["single", "dual"] as const) {
  Deno.test(
    `${mode} port: calls without a certificate are refused at their headers and no message of theirs is read`,
    ATTACK,
    async () => {
      await using target = await Target.cloud(mode, []);
      assert.ok(await target.lives());
      const beforeMb = await target.peakMb();
      using callers = new Callers();
      for (let opened = 0; opened < CONNECTIONS; opened++) callers.open(target.grpcPort, target.ca);
      await eventually("answers", () => callers.answered > 0);
      // The runtime's client does not always report that its connection was closed: the server counts.
      const refused = () => target.metric(`vbg_connections_refused_total{reason="max_handshakes_per_address"}`);
      await eventually("all to be answered or refused", async () => callers.answered + await refused() >= CONNECTIONS);
      const open = `vbg_connections{state="handshake"}`;
      await eventually("all to be closed", async () => await target.metric(open) === 0);
      assert.deepEqual([...callers.statuses], [UNAUTHENTICATED]);
      const growthMb = await target.peakMb() - beforeMb;
      assert.ok(growthMb < MOST_GROWTH_MB, `${Math.round(growthMb)} MB more`);
      assert.ok(await target.lives());
      const { cert, key } = await target.authority.boat("boat-001");
      const client = await ReplicationClient.create({
        target: `127.0.0.1:${target.grpcPort}`,
        instanceId: "boat-001",
        security: { kind: "tls", ca: target.ca, cert, key },
      });
      await client.handshake({ ...REQUEST, instanceId: "boat-001" }, TIMEOUT);
      client.close();
    },
  );
}

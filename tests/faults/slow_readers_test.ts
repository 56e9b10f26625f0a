import assert from "node:assert/strict";
import { eventually, pause } from "../support/eventually.ts";
import { environment } from "../support/needs.ts";
import { sendRaw } from "../support/raw_http.ts";
import { assertAllThere, linkOf, metricOf, PROCESSES } from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";
import { SseClient } from "../support/sse_client.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 1);
/** What the cloud has to fetch while it streams. */
const OUTAGE_MESSAGES = 40_000 * ROUNDS;
/** Messages that come at once, again and again until buffers on the way to clients are full. */
const BURST_MESSAGES = 2000;
const MOST_BURSTS = 200;
/** Then nobody who does not read has room. */
const ENOUGH_DROPPED = 30_000;
/** Shared by what is live and what is fetched: neither is done at once. */
const BYTES_PER_SECOND = 700_000;
/** What is fetched is under way until somebody has seen that, however busy the machine is. */
const SLOW_BYTES_PER_SECOND = 50_000;
const MAX_GROWTH_BYTES = 200 * 1024 * 1024;
const DROPPED = `vbg_dropped_deliveries_total{reason="client_slow"}`;

/** Waits for it however long it takes a busy machine. */
async function patiently(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!await look()) {
    if (performance.now() > deadline) throw new Error(`Waited in vain for ${what}`);
    await pause(20);
  }
}

/** Lets so many messages come, as fast as the boat takes them. */
async function flood(lab: ReplicationLab, messages: number): Promise<void> {
  for (let sent = 0; sent < messages; sent += BURST_MESSAGES) {
    await lab.feed.burst(BURST_MESSAGES);
    await patiently("them on the boat", async () => (await linkOf(lab))?.local_head_seq === lab.feed.count);
  }
}

/** Every number from the first to `head` came, or is in a range that was told. */
function assertAccounted(client: SseClient, { first, head }: { first: number; head: number }): void {
  const { frames } = client;
  // What the backfill brings lies before.
  const dropped = client.dropped.filter(({ to_seq }) => to_seq >= first);
  const seqs = frames.map(({ seq }) => seq);
  assert.deepEqual(seqs, [...new Set(seqs)].sort((a, b) => a - b), "in order, none twice");
  const lost = dropped.reduce((sum, { count }) => sum + count, 0);
  assert.equal(seqs.length + lost, head - first + 1, "what came and what was told is all there was");
  const told = (seq: number) => dropped.some(({ from_seq, to_seq }) => from_seq <= seq && seq <= to_seq);
  const came = new Set(seqs);
  for (let seq = first; seq <= head; seq++) assert.ok(came.has(seq) || told(seq), `frame ${seq}`);
}

Deno.test({
  name:
    "clients of a cloud that read slowly or not at all during a backfill are told what they missed, and hold up nobody",
  ...PROCESSES,
  fn: async () => {
    // However busy the machine is, live goes on where it was.
    const boatFlags = ["-replication-max-live-lag", "0"];
    const cloudFlags = [...boatFlags, "-replication-rate-limit", "0"];
    await using lab = await ReplicationLab.start({ boatFlags, cloudFlags });
    lab.feed.hasFastPackets = false;
    await lab.connected();
    await lab.end("cloud", "SIGTERM");
    lab.feed.rate = 0;
    await flood(lab, OUTAGE_MESSAGES);
    lab.proxy.bytesPerSecond = SLOW_BYTES_PER_SECOND;
    lab.proxy.mode = "hold";
    await lab.begin("cloud");
    const events = `${lab.url("cloud")}/instances/boat-1/events`;
    await using quick = await SseClient.open(events);
    await using slow = await SseClient.open(events);
    await using deaf = await SseClient.open(events);
    deaf.pause();
    const gone = await sendRaw(events);
    await eventually("the streams", async () => await metricOf(lab, "cloud", `vbg_streams{kind="sse"}`) === 4);
    const before = await metricOf(lab, "cloud", "process_resident_memory_bytes");

    lab.proxy.mode = "pass";
    await lab.connected();
    assert.ok((await linkOf(lab))!.backfill_remaining_seqs > 0, "the backfill is going on");
    lab.proxy.bytesPerSecond = BYTES_PER_SECOND;
    const slowly = setInterval(() => (slow.resume(), slow.pause()), 40);
    const dropped = () => metricOf(lab, "cloud", DROPPED);
    // The quick one is as quick as it can: more comes when it has had what came before.
    for (let times = 0; times < MOST_BURSTS && await dropped() < ENOUGH_DROPPED; times++) {
      await lab.feed.burst(BURST_MESSAGES);
      await patiently("every frame at the quick one", () => quick.frames.at(-1)?.seq === lab.feed.count);
    }
    const head = lab.feed.count;
    assert.ok(await dropped() >= ENOUGH_DROPPED, "clients that do not read are passed over");
    const grown = await metricOf(lab, "cloud", "process_resident_memory_bytes") - before;
    assert.ok(grown < MAX_GROWTH_BYTES, `${grown} bytes`);

    clearInterval(slowly);
    slow.resume();
    deaf.resume();
    const first = quick.frames[0]!.seq;
    // Live goes on past what the backfill brings: that is the only thing it did not get.
    const [skipped, ...others] = quick.dropped;
    assert.ok(skipped);
    assert.deepEqual(others, []);
    assert.deepEqual(quick.events.length, 1);
    const { from_seq, to_seq } = skipped;
    assert.deepEqual(skipped, { from_seq, to_seq: first - 1, count: to_seq - from_seq + 1, backfill: true });
    assert.equal(quick.frames.length, head - first + 1);
    for (const client of [slow, deaf]) {
      await patiently("the end of what it was sent", () => {
        return Math.max(client.frames.at(-1)?.seq ?? 0, client.dropped.at(-1)?.to_seq ?? 0) === head;
      });
      assertAccounted(client, { first, head });
    }
    assert.ok(deaf.dropped.length > 0, "who did not read was told");
    gone.close();
    assert.equal((await lab.converged()).cursor, head);
    await assertAllThere(lab);
  },
});

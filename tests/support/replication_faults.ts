import assert from "node:assert/strict";
import { systemClock } from "../../src/base/mod.ts";
import { Authority, type CertificateFolder } from "../../src/pki/mod.ts";
import { type HandshakeRequest, ReplicationClient, type ReplicationStatus } from "../../src/replication/mod.ts";
import { eventually } from "./eventually.ts";
import { needs, SLOW } from "./needs.ts";
import type { ReplicationLab } from "./replication_lab.ts";

/** What a test with a lab cannot do without. */
export const PROCESSES = needs({ permissions: ["run", "read", "write", "net", "env", "sys"], extras: SLOW });

/** Health as both servers tell it, as far as tests of faults look at it. */
export interface FaultHealth {
  status: string;
  components: Record<string, { status: string; message?: string }>;
}

/** How a side does, whatever the status of its answer. */
export async function healthOf(lab: ReplicationLab, side: "boat" | "cloud"): Promise<FaultHealth> {
  return await (await fetch(`${lab.url(side)}/healthz`)).json();
}

/** All that the boat says of its link. */
export function linkOf(lab: ReplicationLab): Promise<ReplicationStatus | undefined> {
  return lab.get("boat", "/replication/status");
}

/** A metric of a side, by its name and labels as they are written. */
export async function metricOf(lab: ReplicationLab, side: "boat" | "cloud", name: string): Promise<number> {
  const text = await lab.text(side, "/metrics") ?? "";
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  assert.ok(line !== undefined, `${name} is not in\n${text}`);
  return Number(line.slice(name.length + 1));
}

/** Details of what the cloud noted of a boat, of one type, oldest first. */
export async function eventsOf(lab: ReplicationLab, { id, type }: { id: string; type: string }): Promise<string[]> {
  const path = `/instances/${id}/replication/events?limit=1024`;
  const events = await lab.get<{ type: string; detail: string }[]>("cloud", path) ?? [];
  return events.filter((event) => event.type === type).map(({ detail }) => detail).reverse();
}

/** Waits until so many more messages were put on the bus. */
export async function traffic(lab: ReplicationLab, messages: number): Promise<void> {
  const until = lab.feed.count + messages;
  await eventually("traffic", () => lab.feed.count >= until);
}

/** What stands in the end: the cloud has every message of the bus, once, the same, in order. */
export async function assertAllThere(lab: ReplicationLab): Promise<void> {
  await lab.converged();
  const { text, isGood, truth } = await lab.audit();
  assert.ok(isGood && text.includes("missing 0, extra 0, different 0"), text);
  assert.equal(truth?.unrecorded, 0, text);
  assert.match(text, /claimed 0$/m);
}

/** Where a lab's authority has put certificate and key of a boat. */
export function certificateOf(folder: string, id: string): { certPath: string; keyPath: string; caPath: string } {
  const path = `${folder}/ca/boats/${id}`;
  return { certPath: `${path}/cert.pem`, keyPath: `${path}/key.pem`, caPath: `${path}/ca.pem` };
}

/** Has the lab's authority make a certificate for a boat. */
export async function issueBoat(folder: string, id: string, { isForced = false } = {}): Promise<CertificateFolder> {
  using authority = await Authority.open(`${folder}/ca`, { clock: systemClock });
  return await authority.issueBoat(id, { days: 90, isForced });
}

/** A caller made by hand, with certificate and key (PEM), which trusts the lab's authority. */
export async function strangerOf(
  lab: ReplicationLab,
  { instanceId, cert, key }: { instanceId: string; cert: string; key: string },
): Promise<ReplicationClient> {
  const ca = await Deno.readTextFile(`${lab.folder}/ca/ca.pem`);
  const target = `127.0.0.1:${lab.proxy.port}`;
  return await ReplicationClient.create({ target, instanceId, security: { kind: "tls", ca, cert, key } });
}

/** A caller made by hand, with the certificate of a boat of the lab's authority. */
export async function impostorOf(lab: ReplicationLab, instanceId: string): Promise<ReplicationClient> {
  const { certPath, keyPath } = certificateOf(lab.folder, instanceId);
  const [cert, key] = [await Deno.readTextFile(certPath), await Deno.readTextFile(keyPath)];
  return await strangerOf(lab, { instanceId, cert, key });
}

/** A handshake of a boat that has `headSeq` frames in this run of numbers. */
export function greeting(
  { instanceId, headSeq, epoch }: { instanceId: string; headSeq: number; epoch: Uint8Array<ArrayBuffer> },
): HandshakeRequest {
  const features = ["batch", "void", "bus", "quiet-status"];
  return {
    instanceId,
    headSeq,
    journalBytes: 0,
    epoch,
    features,
    void: [],
    lost: [],
    oldestSeq: 1,
    busNames: ["can0"],
  };
}

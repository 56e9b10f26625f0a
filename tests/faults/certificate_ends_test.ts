// Certificates that end within a month: both sides say so while everything still works.
import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { parseMetrics } from "../support/prometheus.ts";
import { PROCESSES } from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const DAY_S = 86_400;

type Side = "boat" | "cloud";

async function components(
  lab: ReplicationLab,
  side: Side,
): Promise<Record<string, { status: string; message?: string }>> {
  return (await lab.get<{ components: Record<string, { status: string; message?: string }> }>(side, "/healthz"))
    ?.components ?? {};
}

/** Days until the certificates end, by their labels. */
async function daysLeft(lab: ReplicationLab, side: Side): Promise<Record<string, number>> {
  const samples = parseMetrics(await lab.text(side, "/metrics") ?? "").get("vbg_certificate_expires_seconds")?.samples;
  const days = (value: number) => Math.round((value - Date.now() / 1000) / DAY_S);
  return Object.fromEntries(Array.from(samples ?? [], ([labels, value]) => [labels, days(value)]));
}

Deno.test({
  name:
    "certificates that end in 29 days degrade the health of boat and cloud, which tell by log, alert and metrics, and work on",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ days: 29, rate: 50 });
    await lab.connected();
    const boat = await components(lab, "boat");
    assert.equal(boat["replication"]?.status, "ok");
    assert.equal(boat["replication_certificate"]?.status, "degraded");
    assert.match(boat["replication_certificate"]?.message ?? "", /^the replication certificate ends 20\d\d-/);
    const cloud = await components(lab, "cloud");
    assert.match(cloud["tls"]?.message ?? "", /^certificate ends 20\d\d-/);
    assert.match(
      cloud["boat_certificates"]?.message ?? "",
      /^boats whose certificate ends within 30 days or has ended: 1$/,
    );
    assert.equal(cloud["client_ca"]?.status, "ok");
    assert.deepEqual(await daysLeft(lab, "boat"), { '{certificate="replication"}': 29 });
    assert.deepEqual(await daysLeft(lab, "cloud"), {
      '{certificate="tls"}': 29,
      '{certificate="client_ca"}': 180,
      '{certificate="boat",instance="boat-1"}': 29,
    });
    await eventually("the log lines", () => {
      const [ofBoat, ofCloud] = [lab.log("boat"), lab.log("cloud")];
      return /"certificate ends soon".*"certificate":"replication"/.test(ofBoat) &&
        /"message":"alert".*"subject":"component:replication_certificate"/.test(ofBoat) &&
        ["tls", "boat boat-1"].every((name) =>
          new RegExp(`"certificate ends soon".*"certificate":"${name}"`).test(ofCloud)
        );
    });
    await lab.converged();
  },
});

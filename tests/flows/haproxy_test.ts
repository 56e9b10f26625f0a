import assert from "node:assert/strict";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import { Target } from "../hostile/target.ts";
import { RawCaller, REQUEST_BYTES } from "../replication/raw_caller.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { TestBoat } from "../support/boat.ts";
import { Haproxy, HAPROXY_ADDRESS } from "../support/haproxy.ts";
import { HeaderBalancer } from "../support/header_balancer.ts";
import { needs } from "../support/needs.ts";
import { ipv4Header } from "../support/proxy_header.ts";
import { TestProgram } from "../support/program.ts";
import { WsClient } from "../support/ws_client.ts";

const NETWORK = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const HAPROXY = needs({ permissions: ["env", "net", "read", "run", "write"], programs: ["haproxy", "prlimit"] });
const TRUSTED = ["-trusted-proxies", HAPROXY_ADDRESS];
const BAD_HEADERS = `vbg_connections_refused_total{reason="proxy_header"}`;
/** An address of the client, which is not where haproxy is. */
const CLIENT = "127.0.0.2";
const ID = "aurora";

Deno.test(
  "a WebSocket whose first bytes come in one segment with a PROXY header gets its frames",
  NETWORK,
  async () => {
    await using boat = await TestBoat.start({ trustedProxies: ["127.0.0.1"] });
    await using balancer = await HeaderBalancer.start(boat.boat.address.port, ipv4Header("203.0.113.7"));
    await using socket = await WsClient.open(`http://127.0.0.1:${balancer.port}/ws`);
    for (let count = 1; count <= 3; count++) {
      boat.say();
      await socket.atLeast("frame", count);
    }
  },
);

Deno.test(
  "vbg-boat behind haproxy logs the client's address, from a PROXY header and from X-Forwarded-For",
  HAPROXY,
  () =>
    inFolder(async (folder) => {
      await using boat = await Target.boat(TRUSTED);
      const { port: target } = boat;
      await using haproxy = await Haproxy.start(folder, [{ target, mode: "tcp" }, { target, mode: "http" }]);
      using client = Deno.createHttpClient({ localAddress: CLIENT });
      for (const [index, port] of haproxy.ports.entries()) {
        const url = `http://127.0.0.1:${port}`;
        const headers = { Origin: `https://page-${index}.example`, "X-Forwarded-For": "198.51.100.1" };
        const reply = await fetch(`${url}/send`, { method: "POST", body: "{}", headers, client });
        assert.equal(reply.status, 403, await reply.text());
        await using socket = await WsClient.open(`${url}/ws`);
        await socket.atLeast("frame", 10);
      }
      const audits = () => boat.log.split("\n").filter((line) => line.includes(`"component":"audit"`));
      await eventually("both audit lines", () => audits().length === 2);
      for (const line of audits()) assert.equal(JSON.parse(line).client, CLIENT);
      assert.equal(await boat.metric(BAD_HEADERS), 0);
    }),
);

Deno.test(
  "a boat replicates to vbg-cloud through haproxy, and the cloud knows boats by their own addresses",
  HAPROXY,
  () =>
    inFolder(async (folder) => {
      await using cloud = await Target.cloud("dual", TRUSTED);
      await using haproxy = await Haproxy.start(folder, [{ target: cloud.grpcPort, mode: "tcp" }]);
      const [port = 0] = haproxy.ports;
      const { cert, key } = await cloud.authority.boat(ID);
      const files = { cert: `${folder}/boat.pem`, key: `${folder}/boat.key`, ca: `${folder}/ca.pem` };
      await Deno.writeTextFile(files.cert, cert);
      await Deno.writeTextFile(files.key, key);
      await Deno.writeTextFile(files.ca, cloud.ca);
      await using boat = await TestProgram.start("boat", (own) => [
        ...["-demo", "-mdns=false", "-listen", "127.0.0.1:0", "-state-dir", `${own}/state`],
        ...["-journal-dir", `${own}/journal`, "-replication-target", `127.0.0.1:${port}`],
        ...["-replication-instance-id", ID, "-replication-tls-cert", files.cert],
        ...["-replication-tls-key", files.key, "-replication-tls-ca", files.ca],
      ]);
      const url = await boat.url();
      await eventually("frames on the cloud's disk", async () => {
        const status: ReplicationStatus = await (await fetch(`${url}/replication/status`)).json();
        return status.connected && (status.cloud_durable_seq ?? 0) > 200;
      });
      const stranger = await RawCaller.start(port, { ca: cloud.ca });
      const { code } = await stranger.statusOf("/lplex.replication.v1.Replication/Handshake", REQUEST_BYTES);
      stranger.close();
      assert.equal(code, "UNAUTHENTICATED");
      const line = await eventually("the refusal in the log", () => /^.*"a boat is refused".*$/m.exec(cloud.log)?.[0]);
      assert.equal(JSON.parse(line).address, "127.0.0.1");
      assert.equal(await cloud.metric(BAD_HEADERS), 0);
    }),
);

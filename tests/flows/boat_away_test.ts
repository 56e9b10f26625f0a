import assert from "node:assert/strict";
import { startCloud } from "../../src/cloud_server/cloud.ts";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import { CommandRun } from "../cli/dump_run.ts";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const PARTS = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const HERE = { hostname: "127.0.0.1", port: 0 };

Deno.test(
  "a boat that nobody finds on the network is dumped from her cloud, and her devices are known when she is off",
  PARTS,
  () =>
    inFolder(async (folder) => {
      const ports = { kind: "insecure", grpc: HERE, http: HERE } as const;
      const cloud = await startCloud({ dataDirectory: `${folder}/cloud`, ports });
      try {
        const boat = await TestBoat.start({
          replication: { target: `127.0.0.1:${cloud.addresses.grpc.port}`, instanceId: "aurora", insecure: true },
        });
        const away = ["-config", `${folder}/vbg.conf`, "-boat", "aurora"];
        const url = `http://127.0.0.1:${cloud.addresses.http.port}`;
        await Deno.writeTextFile(
          `${folder}/vbg.conf`,
          `mdns-timeout = 100ms, boats.aurora { mdns = "nobody-has-this-name", cloud = "${url}" }`,
        );
        boat.claim(7, { manufacturerCode: 229, uniqueNumber: 9 });
        await eventually("the cloud", async () => (await boat.get<ReplicationStatus>("/replication/status")).connected);
        await using run = new CommandRun(["dump", ...away]);
        await run.told(/aurora in the cloud/);
        for (let i = 0; i < 20; i++) boat.say({ data: [i, 1, 2, 3, 4, 5, 6, 7] });
        await run.written(20);
        await boat[Symbol.asyncDispose]();
        assert.equal(await run.stop(), 0);
        assert.deepEqual(run.frames.map(({ seq }) => seq), Array.from({ length: 20 }, (_, i) => i + 2));

        const { code, out } = await runCommand(["devices", ...away, "-json"]);
        assert.equal(code, 0);
        assert.deepEqual(
          (JSON.parse(out) as { src: number; manufacturer: string }[]).map((each) => [each.src, each.manufacturer]),
          [[1, undefined], [7, "Garmin"]],
        );
      } finally {
        await cloud.stop();
      }
    }),
);

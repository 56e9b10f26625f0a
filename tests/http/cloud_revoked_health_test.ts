import assert from "node:assert/strict";
import { startCloud } from "../../src/cloud_server/cloud.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { PortAuthority } from "./cloud_port.ts";

const FILES = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const HERE = { hostname: "127.0.0.1", port: 0 };

Deno.test(
  "a list of revoked certificates that cannot be read any more degrades a cloud until it can",
  FILES,
  () =>
    inFolder(async (folder) => {
      const authority = await PortAuthority.make(folder, "boats");
      const { cert, key } = await authority.server();
      const [certPath, keyPath, revokedPath] = [`${folder}/cert.pem`, `${folder}/key.pem`, `${folder}/revoked.txt`];
      await Deno.writeTextFile(certPath, cert);
      await Deno.writeTextFile(keyPath, key);
      await Deno.writeTextFile(revokedPath, "");
      const trust = { clientCaPath: `${folder}/boats.pem`, revokedPath };
      const ports = { kind: "dual", grpc: HERE, http: HERE, tls: { certPath, keyPath }, trust } as const;
      const cloud = await startCloud({ dataDirectory: `${folder}/data`, ports });
      const health = async () => {
        cloud.reload({});
        const { status, components } = await (await fetch(`http://127.0.0.1:${cloud.addresses.http.port}/healthz`))
          .json();
        return { status, revoked: components.revoked };
      };
      const isWell = async () => (await health()).status === "ok";
      try {
        assert.deepEqual(await health(), { status: "ok", revoked: { status: "ok" } });
        await Deno.remove(revokedPath);
        await eventually("a cloud that is degraded", async () => !await isWell());
        const message = "there is no such file; the old list stays";
        assert.deepEqual(await health(), { status: "degraded", revoked: { status: "degraded", message } });
        await Deno.writeTextFile(revokedPath, "");
        await eventually("a cloud that is well again", isWell);
      } finally {
        await cloud.stop();
      }
    }),
);

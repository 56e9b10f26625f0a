import assert from "node:assert/strict";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const OPENSSL = needs({ permissions: ["net", "read", "write"], programs: ["openssl", "sh"] });

/** The command in the guide for boat owners that makes a boat's certificate. */
async function recipe(): Promise<string> {
  const guide = await Deno.readTextFile(new URL("../../docs/guide-boat.md", import.meta.url));
  const [command] = /^openssl req -x509 (?:.*\\\n)+.*$/m.exec(guide) ?? [];
  assert.ok(command !== undefined, "docs/guide-boat.md makes no certificate");
  return command;
}

/** Serves with the certificate that the guide makes. */
function withServer(test: (parts: { url: string; pem: string }) => Promise<void>) {
  return () =>
    inFolder(async (folder) => {
      const { success } = await new Deno.Command("sh", { args: ["-c", await recipe()], cwd: folder, stderr: "null" })
        .output();
      assert.ok(success);
      const [cert, key] = await Promise.all(["cert", "key"].map((name) => Deno.readTextFile(`${folder}/${name}.pem`)));
      assert.ok(cert !== undefined && key !== undefined);
      const listen = { hostname: "127.0.0.1", port: 0, cert, key, onListen: () => {} };
      await using server = Deno.serve(listen, () => Response.json([]));
      await test({ url: `https://localhost:${server.addr.port}`, pem: cert });
    });
}

Deno.test(
  "whoever trusts the certificate that the guide for boat owners makes reaches a server that has it",
  OPENSSL,
  withServer(async ({ url, pem }) => {
    using client = Deno.createHttpClient({ caCerts: [pem] });
    assert.deepEqual(await (await fetch(`${url}/devices`, { client })).json(), []);
  }),
);

Deno.test(
  "a certificate that nobody trusts is told, with how to trust it",
  OPENSSL,
  withServer(async ({ url }) => {
    for (const command of [["devices"], ["dump", "-reconnect=false"]]) {
      const { code, err } = await runCommand([...command, "-server", url]);
      assert.equal(code, 1);
      assert.match(
        err,
        /: the server cannot be reached: .*UnknownIssuer; set NODE_EXTRA_CA_CERTS to the PEM file .*\n$/,
      );
    }
  }),
);

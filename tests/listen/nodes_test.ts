import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { inFolder } from "../support/folder.ts";

import { DAY_MS, type Files, hello, ISSUE, NAMES, NET, NodePort, Parts, Streams } from "./node_port.ts";

Deno.test(
  "a client without the valid certificate of a node is served nothing, and logged once for each reason",
  NET,
  () =>
    inFolder(async (folder) => {
      let served = 0;
      await using port = await NodePort.open(folder, () => Promise.resolve(new Response(`${++served}`)));
      const { authority, clock } = port;
      const old = await port.issue("n3");
      await port.revoke("n3");
      clock.jump(-60 * DAY_MS);
      const expired = await port.issue("n4");
      clock.jump(60 * DAY_MS);
      const cases: [reason: RegExp, files?: Files][] = [
        [/CN=aurora.* is not that of a node/, await authority.issueBoat("aurora", ISSUE)],
        [/CN=vbg-cloud.* is not for clients/, await authority.issueServer(NAMES, ISSUE)],
        [/there is no client certificate/],
        [/CN=node:n3.* is revoked/, old],
        [/CN=node:n4.* expired 20/, expired],
        [/CN=node:n1.* is not signed by a trusted authority/, await port.issue("n1", port.rogue)],
      ];
      for (const [reason, files] of cases) {
        const before = port.refusals.length;
        const pair = files &&
          { cert: Deno.readTextFileSync(files.certPath), key: Deno.readTextFileSync(files.keyPath) };
        using client = Deno.createHttpClient({ caCerts: [port.authorities.pem], ...pair });
        for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(fetch(port.url, { client }), TypeError);
        const [line = "", ...others] = port.refusals.slice(before);
        assert.deepEqual(others, []);
        assert.match(line, reason);
        assert.match(line, /WARN +node connection refused address=127\.0\.0\.1 reason=/);
      }
      assert.equal(served, 0);
    }),
);

Deno.test(
  "open connections are closed when their certificate is no longer valid, others stay",
  NET,
  () =>
    inFolder(async (folder) => {
      const streams = new Streams();
      await using port = await NodePort.open(folder, streams.handler);
      const { clock } = port;
      const streamOf = async (name: string) => {
        const { requests } = await port.client(await port.issue(name));
        return await Parts.open(requests, `${port.url}/${name}`);
      };
      const [first, second] = [await streamOf("n1"), await streamOf("n3")];
      clock.jump(10 * DAY_MS);
      const third = await streamOf("n4");
      await port.revoke("n1");
      assert.equal(await first.next(), undefined, "revoked");
      streams.write("a");
      assert.deepEqual([await second.next(), await third.next()], ["a", "a"]);
      clock.jump(25 * DAY_MS);
      await port.issue("n5");
      await port.revoke("n5");
      assert.equal(await second.next(), undefined, "expired");
      streams.write("b");
      assert.equal(await third.next(), "b");
      await Deno.copyFile(`${folder}/rogue/ca.pem`, `${folder}/authorities.pem`);
      await port.authorities.look();
      assert.equal(await third.next(), undefined, "its authority was removed");
      assert.deepEqual(port.refusals.map((line) => /revoked|expired|not signed/.exec(line)?.[0]), [
        "revoked",
        "expired",
        "not signed",
      ]);
    }),
);

Deno.test("a port's replaced certificate is used for new connections", NET, () =>
  inFolder(async (folder) => {
    await using port = await NodePort.open(folder, hello);
    const serial = async () => {
      const { cert, key } = port.tls.pair;
      const { hostname: host, port: at } = port.listener.address;
      const socket: TLSSocket = connect({ host, port: at, ca: [port.authorities.pem], cert, key });
      await once(socket, "secureConnect");
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber.toLowerCase();
    };
    const before = await serial();
    const { certificate } = await port.issue("n2");
    assert.notEqual(certificate.serial, before);
    await port.tls.check();
    assert.equal(await serial(), certificate.serial);
  }));

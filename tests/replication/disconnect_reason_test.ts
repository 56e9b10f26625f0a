import assert from "node:assert/strict";
import { RpcError } from "../../src/replication/grpc/grpc.ts";
import { disconnectReason } from "../../src/replication/link/disconnect_reason.ts";

Deno.test("why the cloud cannot be reached is said with what to do, where that is known", () => {
  const cases: [message: string, said: RegExp][] = [
    ["Error: unable to verify the first certificate", /first certificate; -replication-tls-ca must name the authority/],
    ["Error: self-signed certificate in certificate chain", /; -replication-tls-ca must name the authority/],
    ["Error: unable to get local issuer certificate", /; -replication-tls-ca must name the authority/],
    [
      "Error: received corrupt message of type InvalidContentType",
      /; this port has no TLS: is it the cloud's port for/,
    ],
    ["Error: connect ECONNREFUSED 127.0.0.1:9443", /^UNAVAILABLE: connect ECONNREFUSED 127\.0\.0\.1:9443$/],
  ];
  for (const [message, said] of cases) assert.match(disconnectReason(new RpcError("UNAVAILABLE", message)), said);
  assert.equal(disconnectReason(new Error("the epoch is over")), "the epoch is over");
});

import assert from "node:assert/strict";
import { networkOf } from "../../src/http/origin.ts";

/** [address, network] */
const TABLE: [address: string, network: string][] = [
  ["192.0.2.7", "192.0.2.7"],
  ["", ""],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002:ffff::", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80::1"],
  ["fe80::2", "fe80::2"],
];

Deno.test("an IPv4 address counts by itself, an IPv6 address by its /64, one of the link by itself", () => {
  for (const [address, network] of TABLE) assert.equal(networkOf(address), network, address);
});

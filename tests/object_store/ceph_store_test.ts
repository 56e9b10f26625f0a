import { openStore } from "../../src/object_store/mod.ts";
import { Ceph, CEPH_PROGRAMS, CEPH_WRITER } from "../support/ceph.ts";
import { needs, SLOW } from "../support/needs.ts";
import { testContract } from "./contract.ts";

const CEPH = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: CEPH_PROGRAMS,
  extras: SLOW,
});
const BUCKET = "boats";

let ceph: Ceph | undefined;
let prefixes = 0;

if (!CEPH.ignore) {
  Deno.test.beforeAll(async () => {
    ceph = await Ceph.start();
    await ceph.createBucket(BUCKET);
  });
  Deno.test.afterAll(async () => await ceph?.[Symbol.asyncDispose]());
}

testContract({
  name: "Ceph",
  options: CEPH,
  withStore: async (test) => {
    const url = `s3://${BUCKET}/test/${++prefixes}`;
    using store = await openStore({ url, endpoint: ceph!.endpoint, credentials: CEPH_WRITER });
    await test(store);
  },
});

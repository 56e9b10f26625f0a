// Program of the benchmark: a cloud. Its argument is the JSON of its options. Prints the JSON of its addresses, and waits
// to be ended.
import { startCloud } from "../../src/cloud_server/cloud.ts";

const cloud = await startCloud(JSON.parse(Deno.args[0] ?? "{}"));
console.log(JSON.stringify(cloud.addresses));

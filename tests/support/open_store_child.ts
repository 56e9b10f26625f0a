// Opens the store `s3://boats` at the endpoint of the first argument with what the AWS tools would find, and stores "a".
// Prints the result, or the error.
import { openStore, StoreError } from "../../src/object_store/mod.ts";

try {
  using store = await openStore({ url: "s3://boats", endpoint: Deno.args[0] });
  console.log(await store.putIfAbsent("a", new Uint8Array(1)));
} catch (error) {
  console.log(error instanceof StoreError ? `${error.kind}: ${error.message}` : error);
}

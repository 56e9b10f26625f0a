// A process with a bridge in it, made to be killed: `mqtt_child.ts URL`. Writes a line when it has begun.
import { TestBridge } from "./mqtt_setup.ts";

await TestBridge.start({ url: Deno.args[0] ?? "" });
// deno-lint-ignore no-console -- whoever starts this waits for the line
console.log("started");

/**
 * Script of {@linkcode PackWorker}'s thread. Each message is a block, with a port for the result.
 *
 * @module
 */
import { compressSmall } from "./compression.ts";

addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  // A copy with its own buffer, which can be transferred.
  const packed = compressSmall(event.data).slice();
  event.ports[0]?.postMessage(packed, [packed.buffer]);
});

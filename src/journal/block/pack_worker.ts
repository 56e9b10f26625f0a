/**
 * The thread of a {@linkcode PackWorker}: a block comes with the port that waits for it.
 *
 * @module
 */
import { compressSmall } from "./compression.ts";

addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  // Of its own size, so that it can be handed over.
  const packed = compressSmall(event.data).slice();
  event.ports[0]?.postMessage(packed, [packed.buffer]);
});

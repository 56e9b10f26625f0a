/** A process for sequence_store_test.ts: gives out numbers as fast as it can, says each, and never ends. */
import { AtomicFile, silentLogger } from "../../src/base/mod.ts";
import { HEAD_FILE, SequenceStore } from "../../src/journal/sequence/sequence_store.ts";

if (import.meta.main) {
  const [folder, epoch, journalSeq, reserve] = Deno.args;
  const store = await SequenceStore.open({
    file: new AtomicFile(folder!, { name: HEAD_FILE }),
    journalEnd: epoch ? { epoch: Uint8Array.fromHex(epoch), seq: Number(journalSeq) } : undefined,
    log: silentLogger,
    reserve: Number(reserve),
  });
  for (;;) {
    let text = "";
    for (let i = 0; i < 40; i++) {
      const seq = store.next();
      text += `${store.epoch.toHex()} ${seq}\n`;
    }
    await Deno.stdout.write(new TextEncoder().encode(text));
  }
}

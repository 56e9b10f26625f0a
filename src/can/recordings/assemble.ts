import { type CanFrame, type Message, pgnOfId } from "../../frame/mod.ts";
import { Assembler } from "../assembly/assembler.ts";
import { type AssemblerDrops, newDrops } from "../assembly/drops.ts";
import { RecordedMonotonic } from "./clocks.ts";
import type { RecordedItem } from "./recording.ts";

/**
 * Reassembles the messages of a recording, bus by bus. Times and timeouts are those of the recording.
 * Message objects are not reused.
 *
 * @param options.drops gets the counts of incomplete messages, when the messages have ended
 */
export async function* assembleRecording(
  items: AsyncIterable<RecordedItem>,
  { drops = newDrops() }: { drops?: AssemblerDrops } = {},
): AsyncGenerator<Message, void> {
  const assemblers = new Map<number, Assembler>();
  const whole: Message[] = [];
  const monotonic = new RecordedMonotonic();
  for await (const { kind, bus, id, timeUs, data } of items) {
    const frame: CanFrame = { id, timeUs, monoMs: monotonic.at(timeUs), data, offset: 0, length: data.length };
    if (kind === "message") {
      yield { ...frame, bus, pgn: pgnOfId(id) };
      continue;
    }
    let assembler = assemblers.get(bus);
    if (!assembler) {
      assembler = new Assembler((message) => whole.push(copyOf(message)), { bus });
      assemblers.set(bus, assembler);
    }
    assembler.push(frame);
    yield* whole.splice(0);
  }
  for (const assembler of assemblers.values()) {
    assembler.expire(Infinity);
    for (const [why, count] of Object.entries(assembler.drops)) drops[why as keyof AssemblerDrops] += count;
  }
  yield* whole;
}

function copyOf(message: Message): Message {
  return { ...message, data: message.data.slice(message.offset, message.offset + message.length), offset: 0 };
}

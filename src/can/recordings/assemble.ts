import { type CanFrame, type Message, pgnOfId } from "../../frame/mod.ts";
import { Assembler } from "../assembly/assembler.ts";
import { type AssemblerDrops, newDrops } from "../assembly/drops.ts";
import { RecordedMonotonic } from "./clocks.ts";
import type { RecordedItem } from "./recording.ts";

/** Reassembles the messages of a recording, bus by bus. Times and timeouts are those of the recording. */
export class RecordingAssembler {
  readonly #emit: (message: Message) => void;
  readonly #drops: AssemblerDrops;
  readonly #onIncomplete: ((bus: number, id: number) => void) | undefined;
  readonly #assemblers = new Map<number, Assembler>();
  readonly #monotonic = new RecordedMonotonic();
  #itemData: Uint8Array<ArrayBuffer> | undefined;

  /**
   * @param emit gets each message; the objects are not reused
   * @param options.drops gets the counts of incomplete messages, at the end
   * @param options.onIncomplete called for each incomplete fast packet, with its bus and the identifier of its frames
   */
  constructor(
    emit: (message: Message) => void,
    { drops = newDrops(), onIncomplete }: {
      drops?: AssemblerDrops;
      onIncomplete?: ((bus: number, id: number) => void) | undefined;
    } = {},
  ) {
    this.#emit = emit;
    this.#onIncomplete = onIncomplete;
    this.#drops = drops;
  }

  /** Takes the next frame, or message that the recorder has reassembled. */
  push({ kind, bus, id, timeUs, data }: RecordedItem): void {
    const frame: CanFrame = { id, timeUs, monoMs: this.#monotonic.at(timeUs), data, offset: 0, length: data.length };
    if (kind === "message") return this.#emit({ ...frame, bus, pgn: pgnOfId(id) });
    this.#itemData = data;
    let assembler = this.#assemblers.get(bus);
    if (!assembler) {
      const onIncomplete = this.#onIncomplete && ((id: number) => this.#onIncomplete?.(bus, id));
      assembler = new Assembler((message) => this.#emit(this.#ownCopyOf(message)), { bus, onIncomplete });
      this.#assemblers.set(bus, assembler);
    }
    assembler.push(frame);
  }

  /** The data of an item are nobody else's; those of other messages lie in a buffer that is reused. */
  #ownCopyOf(message: Message): Message {
    return message.data === this.#itemData ? { ...message } : copyOf(message);
  }

  /** Ends the recording: messages that are incomplete are given up. */
  end(): void {
    for (const assembler of this.#assemblers.values()) {
      assembler.expire(Infinity);
      for (const [why, count] of Object.entries(assembler.drops)) this.#drops[why as keyof AssemblerDrops] += count;
    }
  }
}

/**
 * Reassembles the messages of a recording, as {@linkcode RecordingAssembler} does.
 *
 * @param options.drops gets the counts of incomplete messages, when the messages have ended
 */
export async function* assembleRecording(
  items: AsyncIterable<RecordedItem>,
  options: { drops?: AssemblerDrops } = {},
): AsyncGenerator<Message, void> {
  const whole: Message[] = [];
  const assembler = new RecordingAssembler((message) => whole.push(message), options);
  for await (const item of items) {
    assembler.push(item);
    yield* whole.splice(0);
  }
  assembler.end();
  yield* whole;
}

function copyOf(message: Message): Message {
  return { ...message, data: message.data.slice(message.offset, message.offset + message.length), offset: 0 };
}

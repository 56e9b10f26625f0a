import { Assembler, assembleRecording, readRecording, type RecordingFormat } from "../../src/can/mod.ts";
import { type CanFrame, formatHex } from "../../src/frame/mod.ts";
import { Recorder } from "../contract/recorder.ts";
import { streamOf } from "./recordings.ts";

/** A sink as the server has one: frames are put together, whole messages go past the assembler. */
export class GatewaySink extends Recorder {
  /** All that was handed over, one frame or message after the other: identifier and payload. */
  readonly heard: string[] = [];
  /** Whole messages in the same form. */
  readonly messages: string[] = [];
  /** Lengths of those that the gateway has put together. */
  readonly wholeLengths: number[] = [];
  readonly #assembler = new Assembler((message) => this.messages.push(textOf(message)));

  override frame(frame: CanFrame): void {
    super.frame(frame);
    this.heard.push(textOf(frame));
    this.#assembler.push(frame);
  }

  message(message: CanFrame): void {
    this.wholeLengths.push(message.length);
    this.heard.push(textOf(message));
    this.messages.push(textOf(message));
  }

  /** Gives up what is not whole. */
  finish(): void {
    this.#assembler.expire(Infinity);
  }
}

/** Frames and messages that a recording holds, as {@linkcode GatewaySink} tells them. */
export async function itemsOfRecording(bytes: Uint8Array, format?: RecordingFormat): Promise<string[]> {
  const items = await Array.fromAsync(readRecording(streamOf([bytes]), { format }));
  return items.map(({ id, data }) => `${id.toString(16).padStart(8, "0")} ${formatHex(data)}`);
}

/** Messages of a recording as {@linkcode GatewaySink} tells them. */
export async function messagesOfRecording(bytes: Uint8Array, format: RecordingFormat): Promise<string[]> {
  const items = readRecording(streamOf([bytes]), { format });
  return (await Array.fromAsync(assembleRecording(items))).map(textOf);
}

function textOf({ id, data, offset, length }: CanFrame): string {
  return `${id.toString(16).padStart(8, "0")} ${formatHex(data.subarray(offset, offset + length))}`;
}

import { destinationOfId, formatHex, formatTimeUs, priorityOfId, sourceOfId, type StoredFrame } from "../frame/mod.ts";

/** The part of a frame's JSON that names its bus; empty where a server has only one. */
export function busText(bus: string, { buses }: { buses: number }): string {
  return buses > 1 ? `"bus":${JSON.stringify(bus)},` : "";
}

/** JSON of a frame, the same text wherever it comes from. `bus`: see {@linkcode busText}. */
export function frameText(frame: StoredFrame, bus: string): string {
  const { id } = frame;
  return `{"seq":${frame.seq},"ts":"${formatTimeUs(frame.timeUs)}","prio":${priorityOfId(id)},"pgn":${frame.pgn},` +
    `"src":${sourceOfId(id)},"dst":${destinationOfId(id)},${bus}` +
    `"data":"${formatHex(frame.data, { start: frame.offset, length: frame.length })}"}`;
}

/** The same with the JSON of its fields as the last key; without it where nothing describes the payload. */
export function addDecoded(text: string, decoded: string | undefined): string {
  return addMember(text, "decoded", decoded);
}

/** The same with the labels of its codes as the last key; without it where there are none. */
export function addLabels(text: string, labels: object | undefined): string {
  return addMember(text, "labels", labels && JSON.stringify(labels));
}

function addMember(text: string, name: string, value: string | undefined): string {
  return value === undefined ? text : `${text.slice(0, -1)},"${name}":${value}}`;
}

import type { UnitSystem } from "@vessel/gateway/units";
import type { Output } from "../../program/terminal.ts";
import type { DeviceAt, Where } from "@vessel/gateway/where";
import { type Change, ChangeTracker, type Silence } from "./changes.ts";
import { KnownDevices } from "./devices.ts";
import type { DumpFrame } from "./frame.ts";
import { jsonLine, jsonSilence, terminalLine, terminalSilence } from "./lines.ts";

/** Output and filters of a view. */
export interface DumpViewOptions {
  output: Output;
  json: boolean;
  decode: boolean;
  /** JSON has the labels of codes. Default false. */
  labels?: boolean;
  /** Units of text lines. Default SI. */
  units?: UnitSystem;
  /** Show only frames that match. */
  where: Where | undefined;
  /** Show only changes, and devices that stop sending a PGN. */
  changes: boolean;
}

/** Shows frames as lines. */
export class DumpView {
  /** The known devices, by address. */
  readonly devices = new KnownDevices();
  readonly #options: DumpViewOptions;
  readonly #tracker: ChangeTracker | undefined;
  readonly #deviceAt: DeviceAt = (bus, src) => this.devices.get(bus, src)?.device;
  /** Streams that were shown: with a `where` filter, only their silence is shown. */
  readonly #shown: Set<string> | undefined;

  constructor(options: DumpViewOptions) {
    this.#options = options;
    this.#tracker = options.changes ? new ChangeTracker() : undefined;
    this.#shown = options.changes && options.where ? new Set() : undefined;
  }

  /** Shows a frame unless a filter hides it. A returned promise must be awaited before the next frame. */
  show(frame: DumpFrame): Promise<void> | void {
    const { where, output, json, decode, labels = false, units = "si" } = this.#options;
    let change: Change | undefined;
    if (this.#tracker) {
      change = this.#tracker.see(frame, frame.timeMs);
      if (!change) return;
    }
    if (where && !where.test(frame, this.#deviceAt)) return;
    this.#shown?.add(keyOf(frame));
    const parts = { sender: this.devices.get(frame.bus, frame.src), change, decode, labels };
    return output.write(json ? jsonLine(frame, parts) : terminalLine(frame, { ...parts, output, units }));
  }

  /** Shows the streams that are silent by now. */
  async tick(nowMs: number): Promise<void> {
    if (!this.#tracker) return;
    for (const silence of this.#tracker.silences(nowMs)) {
      if (this.#shown?.has(keyOf(silence)) !== false) await this.#showSilence(silence);
    }
  }

  #showSilence(silence: Silence): Promise<void> | void {
    const { output, json } = this.#options;
    const sender = this.devices.get(silence.bus, silence.src);
    return output.write(json ? jsonSilence(silence) : terminalSilence(silence, { sender, output }));
  }
}

function keyOf({ bus = "", src, pgn }: { bus?: string; src: number; pgn: number }): string {
  return `${bus}/${src}/${pgn}`;
}

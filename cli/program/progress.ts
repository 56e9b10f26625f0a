import type { Clock } from "@vessel/gateway/boat";
import { cut } from "./table.ts";
import type { Output } from "./terminal.ts";

/** Properties of a progress bar. */
export interface ProgressOptions {
  /** Standard error; the bar is shown only on a terminal. */
  output: Output;
  /** Total amount; left out if unknown. */
  total?: number;
  /** Unit of the amount, such as `frames`; `bytes` are shown in KB, MB and GB. */
  unit: string;
  clock: Pick<Clock, "monoMs">;
}

const REDRAW_MS = 100;
const BAR_CHARACTERS = 24;

/** A progress bar with rate and remaining time. */
export class Progress {
  readonly #options: ProgressOptions;
  readonly #startMs: number;
  #count = 0;
  #drawnMs = -Infinity;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startMs = options.clock.monoMs();
  }

  /** Adds to the amount done. Cheap. */
  add(n: number): void {
    this.#count += n;
    const { output, clock } = this.#options;
    if (!output.isTerminal) return;
    const nowMs = clock.monoMs();
    if (nowMs - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = nowMs;
    output.status(cut(this.#line(nowMs), output.columns - 1));
  }

  /** Removes the bar. */
  done(): void {
    this.#options.output.status("");
    this.#drawnMs = -Infinity;
  }

  #line(nowMs: number): string {
    const { total, unit } = this.#options;
    const seconds = Math.max((nowMs - this.#startMs) / 1000, 0.001);
    const rate = this.#count / seconds;
    const speed = `${amount(this.#count, unit)}, ${amount(rate, unit)}/s`;
    if (total === undefined || total <= 0) return speed;
    const part = Math.min(1, this.#count / total);
    const full = Math.round(part * BAR_CHARACTERS);
    const bar = "█".repeat(full) + "░".repeat(BAR_CHARACTERS - full);
    const left = rate > 0 && part < 1 ? `, ${timeText(Math.ceil((total - this.#count) / rate))} left` : "";
    return `${bar} ${Math.floor(part * 100)} %  ${speed}${left}`;
  }
}

function timeText(seconds: number): string {
  const [minutes, hours] = [Math.floor(seconds / 60) % 60, Math.floor(seconds / 3600)];
  const two = (value: number) => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function amount(value: number, unit: string): string {
  if (unit !== "bytes") return `${Math.round(value)} ${unit}`;
  const [scale, name] = value >= 1e9 ? [1e9, "GB"] : value >= 1e6 ? [1e6, "MB"] : [1e3, "KB"];
  return `${(value / scale).toFixed(1)} ${name}`;
}

/** A device that gives quantities, as the log names it. */
export interface LoggedDevice {
  /** Name of the bus. */
  bus: string;
  /** Source address. */
  src: number;
  /** NAME, 16 hex digits; empty while it is unknown. */
  name: string;
  /** Model, if it is known. */
  model?: string;
}

/** A time in which a device gave a quantity, or was preferred for it; milliseconds since 1970. */
export interface SourceSpan {
  fromMs: number;
  toMs: number;
  device: LoggedDevice;
}

/** Who gave a quantity when. */
export interface QuantityHistory {
  /** By start. */
  spans: SourceSpan[];
  /** Which of them was preferred; by start. */
  preferred: SourceSpan[];
}

/** What a line says of a device and a quantity. */
export const CHANGE = { ends: 0, begins: 1, preferred: 2, nonePreferred: 3 } as const;

/**
 * A line of the log:
 *
 * - `[id, device]`: a device that further lines name by its number, or its model, which became known
 * - `[timeMs, quantity, id, change]`: a change; the id is -1 where there is no device
 * - `[timeMs]`: the server runs and knows of no other change until now
 * - `[null]`: the server starts, or its clock was set: everything had ended
 */
export type SourceLine =
  | readonly [id: number, device: LoggedDevice]
  | readonly [timeMs: number, quantity: string, id: number, change: number]
  | readonly [timeMs: number]
  | readonly [null];

/** Builds the history from the lines of a log. Pure. */
export class SourceReplay {
  readonly #devices = new Map<number, LoggedDevice>();
  readonly #quantities = new Map<string, QuantityHistory>();
  readonly #open = new Map<string, SourceSpan>();
  #lastMs = -Infinity;
  #sinceMs = Infinity;

  /** Time of the first line; Infinity: there is none. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** Adds a line. Ignores lines in another format. */
  add(line: unknown): void {
    if (!Array.isArray(line)) return;
    const [first, second, id, change]: unknown[] = line;
    if (first === null) return this.#endAll();
    if (typeof first !== "number") return;
    if (isDevice(second)) return this.#learn(first, second);
    this.#lastMs = Math.max(this.#lastMs, first);
    this.#sinceMs = Math.min(this.#sinceMs, first);
    if (typeof second === "string" && typeof id === "number") this.#change(first, second, { id, change });
  }

  /** All quantities. What goes on ends at `nowMs`. */
  end(nowMs: number): Map<string, QuantityHistory> {
    for (const span of this.#open.values()) span.toMs = Math.max(span.fromMs, nowMs);
    for (const { spans, preferred } of this.#quantities.values()) {
      for (const list of [spans, preferred]) list.sort((a, b) => a.fromMs - b.fromMs);
    }
    return this.#quantities;
  }

  #change(timeMs: number, quantity: string, { id, change }: { id: number; change: unknown }): void {
    const device = this.#devices.get(id);
    switch (change) {
      case CHANGE.begins:
        if (device) this.#begin(`${quantity} ${id}`, { list: this.#of(quantity).spans, timeMs, device });
        break;
      case CHANGE.ends:
        this.#end(`${quantity} ${id}`, timeMs);
        break;
      case CHANGE.preferred:
        this.#end(quantity, timeMs);
        if (device) this.#begin(quantity, { list: this.#of(quantity).preferred, timeMs, device });
        break;
      case CHANGE.nonePreferred:
        this.#end(quantity, timeMs);
    }
  }

  #learn(id: number, device: LoggedDevice): void {
    const known = this.#devices.get(id);
    if (known && deviceKey(known) === deviceKey(device)) Object.assign(known, device);
    else this.#devices.set(id, device);
  }

  #of(quantity: string): QuantityHistory {
    let known = this.#quantities.get(quantity);
    if (!known) this.#quantities.set(quantity, known = { spans: [], preferred: [] });
    return known;
  }

  #begin(
    key: string,
    { list, timeMs: fromMs, device }: { list: SourceSpan[]; timeMs: number; device: LoggedDevice },
  ): void {
    this.#end(key, fromMs);
    const span = { fromMs, toMs: fromMs, device };
    list.push(span);
    this.#open.set(key, span);
  }

  #end(key: string, timeMs: number): void {
    const span = this.#open.get(key);
    if (span) span.toMs = Math.max(span.fromMs, timeMs);
    this.#open.delete(key);
  }

  /** The clock may be another one from now on. */
  #endAll(): void {
    for (const key of [...this.#open.keys()]) this.#end(key, this.#lastMs);
    this.#lastMs = -Infinity;
    // Device numbers start again with each run.
    this.#devices.clear();
  }
}

/** Identifies a device at an address. */
export function deviceKey({ bus, src, name }: LoggedDevice): string {
  return `${name} ${src} ${bus}`;
}

/** The newer half of the lines, with the devices that they name and the beginnings of what goes on. */
export function newerHalf(lines: readonly unknown[]): unknown[] {
  const cut = lines.length >> 1;
  const devices = new Map<unknown, unknown>();
  const begun = new Map<string, unknown>();
  for (const line of lines.slice(0, cut)) {
    if (!Array.isArray(line)) continue;
    const [first, second, id, change]: unknown[] = line;
    if (first === null) {
      begun.clear();
      devices.clear();
    } else if (isDevice(second)) devices.set(first, line);
    else if (change === CHANGE.begins) begun.set(`${second} ${id}`, line);
    else if (change === CHANGE.ends) begun.delete(`${second} ${id}`);
    else if (change === CHANGE.preferred) begun.set(`${second}`, line);
    else if (change === CHANGE.nonePreferred) begun.delete(`${second}`);
  }
  return [...devices.values(), ...begun.values(), ...lines.slice(cut)];
}

function isDevice(value: unknown): value is LoggedDevice {
  return typeof value === "object" && value !== null && "src" in value && typeof value.src === "number" &&
    "bus" in value && typeof value.bus === "string" && "name" in value && typeof value.name === "string";
}

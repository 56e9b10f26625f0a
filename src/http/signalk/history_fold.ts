import type { Decoder } from "../../broker/mod.ts";
import { addressKey, sourceOfId, type StoredFrame } from "../../frame/mod.ts";
import { ActiveDevices, type Block, type BlockDevice } from "../../journal/mod.ts";
import type { FrameFold } from "../../series/mod.ts";
import { type HistoryTable, SELF, SignalKMapper } from "../../signalk/mod.ts";
import { sourceLabel } from "./feed.ts";

/** Maps recorded frames to the values of Signal K, block by block. */
export class HistoryFold implements FrameFold {
  readonly #pgns: ReadonlySet<number>;
  readonly #table: HistoryTable;
  readonly #decoder: Pick<Decoder, "decode">;
  /** For blocks without bus names of their own. */
  readonly #defaultBuses: readonly string[];
  readonly #except: ReadonlySet<string>;
  readonly #mapper = new SignalKMapper();
  #buses: readonly string[] = [];
  /** Devices of the current block, and the NAMEs of its addresses so far. */
  #devices = new ActiveDevices([]);
  readonly #names = new Map<number, bigint>();
  readonly #setName = ({ bus, src, name }: BlockDevice) => void this.#names.set(addressKey(bus, src), name);

  constructor(
    { pgns, table, decoder, buses, except }: {
      pgns: ReadonlySet<number>;
      table: HistoryTable;
      decoder: Pick<Decoder, "decode">;
      buses: readonly string[];
      /** Paths whose values are in the table already. */
      except: ReadonlySet<string>;
    },
  ) {
    this.#pgns = pgns;
    this.#table = table;
    this.#decoder = decoder;
    this.#defaultBuses = buses;
    this.#except = except;
  }

  /** Begins a block. */
  enter(block: Block): void {
    this.#buses = (block.metadata.buses ?? this.#defaultBuses).map(sourceLabel);
    this.#names.clear();
    this.#devices = new ActiveDevices(block.devices);
  }

  /** Adds the values of a frame. `index` is that of the frame in its block. @throws the error of the table's budget */
  add({ pgn, id, bus, timeUs, data, offset, length }: StoredFrame, index: number): void {
    if (!this.#pgns.has(pgn)) return;
    const decoded = this.#decoder.decode(pgn, data.subarray(offset, offset + length));
    if (!decoded) return;
    this.#devices.advance(index, this.#setName);
    const src = sourceOfId(id);
    const name = this.#names.get(addressKey(bus, src)) || undefined;
    const message = { pgn, decoded, src, name, bus: this.#buses[bus] ?? "", timeUs };
    const delta = this.#mapper.map(message);
    if (delta?.context !== SELF) return;
    for (const { path, value } of delta.values) {
      if (!this.#except.has(path)) this.#table.add(path, { value, source: delta.source, timeUs });
    }
  }
}

import { formatTimeUs, parseName, readName } from "../../frame/mod.ts";
import { PGN, readProductInformation } from "../../pgn/mod.ts";
import { MINUTE_MS } from "../kinds.ts";
import type { KnownDevice, Memory } from "../memory.ts";
import type { BusModel, Check, Context, Received, Sender } from "../model.ts";

/** A changed product information is reported for this time, microseconds: a day. */
const CHANGE_SHOWN_US = 86_400e6;
/** A device of an earlier run is missing if the bus has been alive for this time without it, milliseconds. */
const START_GRACE_MS = 5 * MINUTE_MS;
/** … if it was there within this time, microseconds: a week. */
const REMEMBERED_US = 7 * 86_400e6;
/** A device is missing after this silence, and after this multiple of its usual pause. */
const SILENT_MS = 35_000;
const SILENT_PAUSES = 3;
/** It must have been there for this time before, seconds, and for some of it in this run, milliseconds. */
const REGULAR_S = 300;
const THIS_RUN_MS = 15_000;
/** A device that is always there: share of the time, and seconds that it was watched. */
const ALWAYS = { share: 0.95, watchedS: 3600 } as const;
/** The same for those that are switched with their engine or by their users. */
const SWITCHED = { share: 0.97, watchedS: 20 * 3600 } as const;
/** Device classes of NAMEs that are switched: propulsion, displays. */
const SWITCHED_CLASSES: ReadonlySet<number> = new Set([50, 120]);
/** If so many devices fall silent together, somebody has switched them off; `afterMs`: a shorter silence counts already. */
const TOGETHER = { share: 0.3, least: 3, withinMs: 2 * MINUTE_MS, afterMs: 5000 } as const;

/** Devices that are missing, and product information that has changed. */
export class DeviceCheck implements Check {
  readonly pgns = [PGN.productInformation];
  readonly #context: Context;
  readonly #memory: Memory;

  constructor(context: Context, memory: Memory) {
    this.#context = context;
    this.#memory = memory;
  }

  message({ message: { data, offset, length }, sender }: Received): void {
    const product = readProductInformation(data.subarray(offset, offset + length));
    const { nowUs } = this.#context;
    const known = product && this.#memory.of(sender, nowUs);
    if (!product || !known) return;
    const { productCode, modelId, softwareVersion: software, modelSerial: serial } = product;
    const model = `${modelId} (${productCode})`;
    if (known.model !== "") {
      const isOther = known.model !== model || known.serial !== serial;
      if (isOther) {
        known.change = { atUs: nowUs, what: "product", from: `${known.model}, serial number "${known.serial}"` };
      } else if (known.software !== software) known.change = { atUs: nowUs, what: "software", from: known.software };
    }
    Object.assign(known, { model, software, serial });
  }

  round(): void {
    for (const bus of this.#context.buses) {
      for (const known of this.#memory.devicesOf(bus)) this.#reportChange(bus, known);
      if (bus.isSettled(this.#context.nowMs, SILENT_MS)) this.#checkMissing(bus);
    }
  }

  #reportChange(bus: BusModel, { name, change, model, software, serial }: KnownDevice): void {
    const { nowUs } = this.#context;
    const sender = bus.byName(readName(name) ?? 0n);
    if (!change || !sender || nowUs - change.atUs > CHANGE_SHOWN_US || nowUs < change.atUs) return;
    const { from, what } = change;
    const seqs = [sender.streams.get(PGN.productInformation)?.lastSeq ?? 0];
    const at = formatTimeUs(change.atUs).slice(0, 16).replace("T", " ");
    if (what === "software") {
      const text = `${sender.label} has the software "${software}" since ${at} UTC; before it had "${from}"`;
      this.#context.report({ kind: "firmware_changed", bus, sender, text, confidence: 1, seqs });
    } else {
      const text =
        `${sender.label} says since ${at} UTC that it is ${model}, serial number "${serial}"; before it was ` +
        from;
      this.#context.report({ kind: "product_changed", bus, sender, text, seqs });
    }
  }

  #checkMissing(bus: BusModel): void {
    const { nowMs } = this.#context;
    const known = [...this.#memory.devicesOf(bus)].map((device) => ({ device, sender: senderOf(bus, device) }));
    const present = known.filter(({ sender }) => sender && !isSilent(sender, nowMs));
    // After a pause of the bus, slow devices have as much time to start as those of earlier runs.
    const mayStart = !bus.isSettled(nowMs, START_GRACE_MS);
    const gone = known.filter(({ sender }) =>
      sender && isSilent(sender, nowMs) && !(mayStart && sender.lastMs < bus.settledFromMs)
    );
    const lately = known.filter(({ sender }) =>
      sender && isSilent(sender, nowMs, TOGETHER.afterMs) && sender.isActive(nowMs, TOGETHER.withinMs)
    );
    const areMany = lately.length >= TOGETHER.least && lately.length > TOGETHER.share * (present.length + gone.length);
    if (!areMany) { for (const { device, sender } of gone) if (sender) this.#reportGone(device, sender); }
    if (!bus.isSettled(nowMs, START_GRACE_MS)) return;
    for (const { device, sender } of known) if (!sender) this.#reportAbsent(bus, device);
  }

  /** A device that was there in this run. */
  #reportGone(device: KnownDevice, sender: Sender): void {
    const { nowMs } = this.#context;
    const { bus, name, firstMs, lastMs, lastSeq } = sender;
    const isSwitched = name !== undefined && SWITCHED_CLASSES.has(parseName(name).deviceClass);
    if (device.presentS < REGULAR_S || lastMs - firstMs < THIS_RUN_MS) return;
    if (isSwitched && !isAlwaysThere(device, SWITCHED)) return;
    const isAlways = isAlwaysThere(device, ALWAYS);
    this.#context.report({
      kind: "missing_device",
      bus,
      sender,
      text: `${sender.label} has been silent for ${
        Math.round((nowMs - lastMs) / 1000)
      } s, while others on ${bus.name} send`,
      severity: isAlways ? "warning" : "info",
      confidence: isAlways ? 0.8 : 0.6,
      seqs: [lastSeq],
    });
  }

  /** A device of an earlier run. */
  #reportAbsent(bus: BusModel, device: KnownDevice): void {
    const { seenUs, src, model } = device;
    const name = readName(device.name);
    const { nowUs } = this.#context;
    if (name === undefined || nowUs - seenUs > REMEMBERED_US) return;
    const isSwitched = SWITCHED_CLASSES.has(parseName(name).deviceClass);
    if (!isAlwaysThere(device, isSwitched ? SWITCHED : ALWAYS)) return;
    const what = model === "" ? `The device with the NAME ${device.name}` : `The ${model.replace(/ \(\d+\)$/, "")}`;
    this.#context.report({
      kind: "missing_device",
      bus,
      absent: { name, src },
      text: `${what} (address ${src}), which is always there, was last seen on ${formatTimeUs(seenUs).slice(0, 10)}`,
      confidence: 0.8,
    });
  }
}

function senderOf(bus: BusModel, { name }: KnownDevice): Sender | undefined {
  return bus.byName(readName(name) ?? 0n);
}

function isSilent(sender: Sender, nowMs: number, afterMs = SILENT_MS): boolean {
  return !sender.isActive(nowMs, Math.max(afterMs, SILENT_PAUSES * sender.usualPauseMs));
}

function isAlwaysThere({ presentS, watchedS }: KnownDevice, rule: { share: number; watchedS: number }): boolean {
  return watchedS >= rule.watchedS && presentS >= rule.share * watchedS;
}

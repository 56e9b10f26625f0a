import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { QuantitySource } from "@vessel/gateway/quantities";
import type { BoatStore } from "../../shell/boat_store.ts";
import { units } from "../../shell/preferences.ts";
import { linkTo } from "../../shell/router.ts";
import { deviceKey, deviceTitle } from "../device_rows.ts";
import { ageText, durationText, plainText } from "../plain_text.ts";
import type { NowModel, ShownQuantity } from "./model.ts";
import type { TileTexts } from "./tile_texts.ts";
import { preferSetting } from "./tiles.ts";

interface PanelProps {
  boat: BoatStore;
  model: NowModel;
  texts: TileTexts;
  list: Signal<readonly ShownQuantity[]>;
  /** Key of the quantity. */
  name: string;
  /** Time of the values, RFC 3339; undefined: now. */
  at: string | undefined;
  onClose: () => void;
}

/** All devices that have a quantity, which of them is preferred and why, and how to prefer another. */
export function SourcePanel({ boat, model, texts, list, name, at, onClose }: PanelProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // The browser keeps the focus inside, closes on Escape, and gives the focus back.
  useEffect(() => dialog.current?.showModal(), []);
  const quantity = list.value.find(({ key }) => key === name);
  if (!quantity) return null;
  const { key, label, sources, preferred, isSet } = quantity;
  const close = () => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class="now-panel"
      aria-labelledby="now-panel-title"
      onClose={onClose}
      onClick={({ target }) => target === dialog.current && close()}
    >
      <div class="now-panel-body">
        <div class="now-panel-head">
          <h3 id="now-panel-title">{plainText(label)}</h3>
          <button type="button" onClick={close}>Close</button>
        </div>
        <p>
          {preferredText({ count: sources.length, isSet, isStale: preferred === undefined, isPast: at !== undefined })}
        </p>
        {sources.map((source, index) => (
          <Source
            key={`${source.device.name} ${source.device.bus} ${source.device.src}`}
            {...{ boat, model, source, at }}
            text={texts.textOf(quantity, { value: source.value, system: units.value })}
            isPreferred={index === 0 && preferred !== undefined}
          />
        ))}
        <HowToPrefer name={key} sources={sources} />
      </div>
    </dialog>
  );
}

function preferredText({ count, isSet, isStale, isPast }: {
  count: number;
  isSet: boolean;
  isStale: boolean;
  isPast: boolean;
}): string {
  if (isStale) return "All values are stale: this is the newest one.";
  if (isSet) return "The preferred device is set in the boat's settings.";
  if (isPast && count > 1) return "The first one is the device that is preferred today, if its value was fresh.";
  return count === 1
    ? "One device on the bus has this value."
    : `${count} devices have this value. The preferred one is the first that was heard.`;
}

function Source({ boat, model, source, at, text, isPreferred }: {
  boat: BoatStore;
  at: string | undefined;
  model: NowModel;
  source: QuantitySource;
  text: string;
  isPreferred: boolean;
}) {
  const { device, pgn, ageMs, intervalMs, isStale } = source;
  const known = model.deviceOf(device);
  const title = known ? deviceTitle(known) : `Device at address ${device.src}`;
  const facts: [string, string][] = [
    ["Age", `${ageText(ageMs)}${isStale ? ", stale" : ""}`],
    ["Interval", durationText(intervalMs)],
    ["Address", String(device.src)],
    ...(device.bus === undefined ? [] : [["Bus", device.bus] satisfies [string, string]]),
    ["PGN", String(pgn)],
    ["NAME", device.name || "unknown"],
  ];
  return (
    <section class={isStale ? "now-source now-stale" : "now-source"}>
      <h4>
        <a href={linkTo("devices", { boat: boat.id, rest: deviceKey(known ?? device), at })}>{title}</a>
        {isPreferred && <span class="now-mark">preferred</span>}
      </h4>
      <p class="now-source-value num">{text}</p>
      <dl>
        {facts.map(([what, fact]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd class="num">{plainText(fact)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The settings that prefer one of the devices. */
function HowToPrefer({ name, sources }: { name: string; sources: readonly QuantitySource[] }) {
  const named = sources.filter(({ device }) => device.name !== "");
  if (named.length < 2) return null;
  return (
    <>
      <h4>Prefer a device</h4>
      <p>Start the boat's server with one of these flags, or reload its settings with SIGHUP:</p>
      {named.map(({ device }) => <Setting key={device.name} text={preferSetting(name, device.name)} />)}
    </>
  );
}

/** A text to copy. Browsers have a clipboard only on secure origins; elsewhere a tap selects the whole text. */
function Setting({ text }: { text: string }) {
  const { clipboard }: { clipboard?: Clipboard } = navigator;
  return (
    <p class="now-setting">
      <code>{text}</code>
      {clipboard && (
        <button
          type="button"
          aria-label={`Copy ${text}`}
          onClick={() => void clipboard.writeText(text).catch(() => {})}
        >
          Copy
        </button>
      )}
    </p>
  );
}

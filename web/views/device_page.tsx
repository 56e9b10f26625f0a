import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { DecodedLastValue, KnownPgn, PastDevice, PgnDetails } from "@vessel/gateway/client";
import type { BoatStore } from "../shell/boat_store.ts";
import { usePolled, valueOf } from "../shell/polled.ts";
import { units } from "../shell/preferences.ts";
import { Conflicts } from "./conflict_list.tsx";
import type { ConflictWatch } from "./conflicts.ts";
import { type DeviceRow, deviceTitle, IntervalMeter, type TrafficMeter, trafficText } from "./device_rows.ts";
import { ageText, decodedTexts, durationText, plainText } from "./plain_text.ts";
import { momentText } from "./time_text.ts";

/** Interval of asking for the values, milliseconds. */
const EVERY_MS = 2000;

/** One device: what it is, its traffic, and its newest message of each PGN. */
export function DevicePage({ boat, watch, meter, devices, device, at }: {
  boat: BoatStore;
  watch: ConflictWatch;
  meter: TrafficMeter;
  devices: readonly PastDevice[];
  device: PastDevice;
  /** Time that is shown, RFC 3339; undefined: now. */
  at: string | undefined;
}) {
  const { name, bus, src } = device;
  const intervals = useIntervals(boat, { device, isPast: at !== undefined });
  const details = useSignal<ReadonlyMap<number, PgnDetails>>(new Map());
  const known = usePolled((signal) => boat.client.pgns({ signal }), { everyMs: 3_600_000, of: [boat] });
  const values = usePolled(async (signal) => {
    const filter = name === undefined ? {} : { name: [name] };
    const all = await boat.tables(at).decodedValues(filter, { labels: true, signal });
    const found = all.find((each) => each.src === src && each.bus === bus)?.values ?? [];
    await learn(found);
    return { found, at };
  }, { everyMs: at === undefined ? EVERY_MS : undefined, of: [boat, name, bus, src, at] });
  const learn = async (found: readonly DecodedLastValue[]) => {
    const unknown = found.map(({ pgn }) => pgn).filter((pgn) => !details.peek().has(pgn));
    if (unknown.length === 0) return;
    const learnt = await Promise.all(unknown.map((pgn) => boat.describe(pgn)));
    details.value = new Map([...details.peek(), ...learnt.flatMap((each) => each ? [[each.pgn, each] as const] : [])]);
  };
  const newest = valueOf(values.value);
  return (
    <>
      <h2>{deviceTitle(device)}</h2>
      <Conflicts watch={watch} devices={devices} only={device} />
      <dl class="dev-facts card">
        {factsOf(device).map(([what, text]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{text}</dd>
          </div>
        ))}
        {at === undefined && (
          <div>
            <dt>Traffic</dt>
            <dd class="num">{trafficText(meter.trafficOf(device))}</dd>
          </div>
        )}
      </dl>
      <h3>Messages</h3>
      <Messages
        boat={boat}
        values={newest?.found}
        at={newest?.at}
        known={valueOf(known.value)}
        intervals={intervals}
        details={details.value}
      />
    </>
  );
}

/** Measures intervals from the live stream, as long as the device is shown. */
function useIntervals(
  boat: BoatStore,
  { device: { name, bus, src }, isPast }: { device: DeviceRow; isPast: boolean },
): IntervalMeter {
  const meter = useMemo(() => new IntervalMeter(), [boat, name, bus, src]);
  useEffect(() => {
    if (isPast) return;
    const filter = name !== undefined ? { name: [name] } : bus !== undefined ? { bus: [bus] } : {};
    return boat.listen(filter, {}, (event) => {
      if (event.type === "frame") {
        const { frame } = event;
        if (frame.src === src && frame.bus === bus) meter.received(frame.pgn, Date.parse(frame.ts));
      } else if (event.type !== "device" && event.type !== "connected") meter.interrupted();
    });
  }, [meter]);
  return meter;
}

function Messages({ boat, at, values, known, intervals, details }: {
  boat: BoatStore;
  at: string | undefined;
  values: readonly DecodedLastValue[] | undefined;
  known: readonly KnownPgn[] | undefined;
  intervals: IntervalMeter;
  details: ReadonlyMap<number, PgnDetails>;
}) {
  if (!values) return <p aria-busy="true">Asking for the messages…</p>;
  const system = units.value;
  return (
    <div class="card scroll">
      <table class="data stack dev-table">
        <thead>
          <tr>
            <th scope="col">PGN</th>
            <th scope="col">Newest</th>
            <th scope="col" class="right">Age</th>
            {at === undefined && <th scope="col" class="right">Interval</th>}
            <th scope="col" class="right">Default</th>
          </tr>
        </thead>
        <tbody>
          {values.map(({ pgn, description, ts, decoded, data }) => {
            const normal = known?.find((each) => each.pgn === pgn)?.interval_ms;
            const measured = intervals.intervalOf(pgn);
            return (
              <tr key={pgn}>
                <td>
                  <strong class="num">{pgn}</strong> {description && plainText(description)}
                </td>
                <td data-label="Newest" class="dev-text">
                  {decoded
                    ? decodedTexts(decoded, { details: details.get(pgn), system }).map(({ name, text }) => (
                      <span key={name} class="dev-field">
                        <span class="quiet">{name.replaceAll("_", " ")}</span> <span>{text}</span>
                      </span>
                    ))
                    : <code>{data}</code>}
                </td>
                <td data-label="Age" class="right dev-age">{ageText(boat.msAt(at) - Date.parse(ts))}</td>
                {at === undefined && (
                  <td data-label="Interval" class="right dev-age">
                    {measured === undefined ? "–" : durationText(measured)}
                  </td>
                )}
                <td data-label="Default" class="right dev-age">{normal === undefined ? "–" : durationText(normal)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function factsOf(device: PastDevice): [string, string][] {
  const { labels } = device;
  const texts: [string, string | number | undefined][] = [
    ["Address", device.src],
    ["Bus", device.bus],
    ["NAME", device.name],
    ["Maker", device.manufacturer],
    ["Model", device.model_id],
    ["Model version", device.model_version],
    ["Software", device.software_version],
    ["Serial number", device.model_serial],
    ["Class", labelled(labels?.device_class, device.device_class)],
    ["Function", labelled(labels?.device_function, device.device_function)],
    ["Instance", device.device_instance],
    ["First seen", momentText(Date.parse(device.first_seen), 1000)],
  ];
  return texts.flatMap(([what, text]) => text === undefined ? [] : [[what, plainText(String(text))]]);
}

function labelled(label: unknown, code: number | undefined): string | number | undefined {
  return typeof label === "string" ? label : code;
}

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { PastDevice } from "@vessel/gateway/client";
import type { BoatStore, ViewProps } from "../shell/boat_store.ts";
import { usePolled, valueOf } from "../shell/polled.ts";
import { linkTo } from "../shell/router.ts";
import { Conflicts } from "./conflict_list.tsx";
import { concerns, ConflictWatch, isProblem, nameOfClaim } from "./conflicts.ts";
import { DevicePage } from "./device_page.tsx";
import { deviceKey, deviceTitle, findDevice, inOrder, TrafficMeter, trafficText, versionsText } from "./device_rows.ts";
import { NotShown, Since } from "./past.tsx";
import { ageText, plainText } from "./plain_text.ts";
import "./devices.css";

/** Interval of asking for the device table, milliseconds. */
const EVERY_MS = 2000;
const ADDRESS_CLAIM = 60928;

/** All devices of the boat, or one of them: `#/devices/NAME`. Traffic and conflicts are what the page sees now. */
export function Devices({ boat, rest, at }: ViewProps) {
  const { watch, meter } = useMemo(() => ({ watch: new ConflictWatch(), meter: new TrafficMeter() }), [boat]);
  const polled = usePolled(async (signal) => {
    const tables = boat.tables(at);
    const devices = await tables.devices({ labels: true, signal });
    if (at === undefined) {
      meter.count(devices, performance.now());
      watch.table(devices, boat.clock.nowMs);
    }
    return { at, devices: inOrder(devices), since: "since" in tables ? tables.since : undefined };
  }, { everyMs: at === undefined ? EVERY_MS : undefined, of: [boat, at] });
  const state = polled.value;
  if (at !== undefined && state.type === "failed") return <NotShown detail={state.detail} />;
  const table = valueOf(state);
  const shared = table && { boat, watch, meter, devices: table.devices, at: table.at };
  return (
    <>
      {state.type === "failed" && <p class="bad" role="alert">No answer from the server: {state.message}</p>}
      {!shared ? <p aria-busy="true">Asking for the devices…</p> : (
        <div class="then" aria-busy={table.at !== at}>
          {rest === undefined ? <Table {...shared} /> : <One {...shared} id={rest} />}
          <Since since={table.since} />
        </div>
      )}
    </>
  );
}

interface Shared {
  boat: BoatStore;
  watch: ConflictWatch;
  meter: TrafficMeter;
  devices: readonly PastDevice[];
  /** Time of the devices, RFC 3339; undefined: now. */
  at: string | undefined;
}

function One({ id, ...shared }: Shared & { id: string }) {
  const { boat, devices, at } = shared;
  const device = findDevice(devices, id);
  return (
    <>
      <p>
        <a class="dev-back" href={linkTo("devices", { boat: boat.id, at })}>All devices</a>
      </p>
      {device ? <DevicePage key={id} {...shared} device={device} /> : (
        <p role="status">
          <strong>{plainText(id)}</strong>{" "}
          {at === undefined ? "is not on the bus" : "was not on the bus then"}: it may be off, or have another address.
          The list of all devices shows those that are on.
        </p>
      )}
    </>
  );
}

function Table({ devices, ...shared }: Shared) {
  const { boat, watch, at } = shared;
  const isPast = at !== undefined;
  const changes = useSignal(0);
  useEffect(() => {
    if (isPast) return;
    return boat.listen({ pgn: [ADDRESS_CLAIM] }, {}, (event) => {
      if (event.type !== "frame") return;
      const { bus, src, data, ts } = event.frame;
      const name = nameOfClaim(data);
      if (name === undefined) return;
      watch.claimed({ bus, src, name, timeMs: Date.parse(ts) });
      changes.value++;
    });
  }, [boat, watch]);
  changes.value;
  const hasBuses = devices.some(({ bus }) => bus !== undefined);
  return (
    <>
      <h2>
        Devices <span class="quiet num">{devices.length}</span>
      </h2>
      <Conflicts watch={watch} devices={devices} />
      {devices.length === 0
        ? <p class="card">No device {isPast ? "was known then" : "has been heard yet"}.</p>
        : (
          <div class="card scroll">
            <table class="data stack dev-table">
              <thead>
                <tr>
                  <th scope="col">Device</th>
                  <th scope="col">Versions</th>
                  <th scope="col" class="right">Address</th>
                  {hasBuses && <th scope="col">Bus</th>}
                  <th scope="col">NAME</th>
                  {!isPast && <th scope="col" class="right">Traffic</th>}
                  <th scope="col" class="right">Last seen</th>
                  {!isPast && <th scope="col">Conflicts</th>}
                </tr>
              </thead>
              <tbody>
                {devices.map((device) => (
                  <Row key={`${device.bus} ${device.src}`} {...{ ...shared, device, hasBuses }} />
                ))}
              </tbody>
            </table>
          </div>
        )}
    </>
  );
}

function Row({ boat, watch, meter, at, device, hasBuses }: Omit<Shared, "devices"> & {
  device: PastDevice;
  hasBuses: boolean;
}) {
  const { src, bus, name, last_seen } = device;
  const problems = watch.conflicts.filter((each) => isProblem(each) && concerns(each, device));
  return (
    <tr>
      <td>
        <a class="dev-link" href={linkTo("devices", { boat: boat.id, rest: deviceKey(device), at })}>
          {deviceTitle(device)}
        </a>
      </td>
      <td data-label="Versions" class="dev-versions">{versionsText(device) || "not told"}</td>
      <td data-label="Address" class="right">{src}</td>
      {hasBuses && <td data-label="Bus">{bus}</td>}
      <td data-label="NAME" class="mono">{name ?? "not claimed"}</td>
      {at === undefined && (
        <td data-label="Traffic" class="right dev-traffic">{trafficText(meter.trafficOf(device))}</td>
      )}
      <td data-label="Last seen" class="right dev-age">{ageText(boat.msAt(at) - Date.parse(last_seen))}</td>
      {at === undefined && (
        <td data-label="Conflicts" class={problems.length > 0 ? "bad" : "quiet"}>
          {problems.length > 0 ? problems.map(({ type }) => type).join(", ") : "none"}
        </td>
      )}
    </tr>
  );
}

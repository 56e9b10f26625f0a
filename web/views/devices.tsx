import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { LabelledDevice } from "@vessel/gateway/client";
import type { BoatStore, ViewProps } from "../shell/boat_store.ts";
import { usePolled, valueOf } from "../shell/polled.ts";
import { linkTo } from "../shell/router.ts";
import { Conflicts } from "./conflict_list.tsx";
import { concerns, ConflictWatch, isProblem, nameOfClaim } from "./conflicts.ts";
import { DevicePage } from "./device_page.tsx";
import { deviceKey, deviceTitle, findDevice, inOrder, TrafficMeter, versionsText } from "./device_rows.ts";
import { ageText, plainText, rateText } from "./plain_text.ts";
import { bytesText } from "./figures.ts";
import "./devices.css";

/** Interval of asking for the device table, milliseconds. */
const EVERY_MS = 2000;
const ADDRESS_CLAIM = 60928;

/** All devices of the boat, or one of them: `#/devices/NAME`. */
export function Devices({ boat, rest }: ViewProps) {
  const { watch, meter } = useMemo(() => ({ watch: new ConflictWatch(), meter: new TrafficMeter() }), [boat]);
  const polled = usePolled(async (signal) => {
    const devices = await boat.client.devices({ labels: true, signal });
    meter.count(devices, performance.now());
    watch.table(devices, boat.clock.nowMs);
    return inOrder(devices);
  }, { everyMs: EVERY_MS, of: [boat] });
  const state = polled.value;
  const devices = valueOf(state);
  const shared = { boat, watch, meter };
  return (
    <>
      {state.type === "failed" && <p class="bad" role="alert">No answer from the server: {state.message}</p>}
      {!devices
        ? <p aria-busy="true">Asking for the devices…</p>
        : rest === undefined
        ? <Table {...shared} devices={devices} />
        : <One {...shared} devices={devices} id={rest} />}
    </>
  );
}

interface Shared {
  boat: BoatStore;
  watch: ConflictWatch;
  meter: TrafficMeter;
  devices: readonly LabelledDevice[];
}

function One({ id, ...shared }: Shared & { id: string }) {
  const { boat, devices } = shared;
  const device = findDevice(devices, id);
  return (
    <>
      <p>
        <a class="dev-back" href={linkTo("devices", { boat: boat.id })}>All devices</a>
      </p>
      {device ? <DevicePage key={id} {...shared} device={device} /> : (
        <p role="status">
          <strong>{plainText(id)}</strong>{" "}
          is not on the bus: it may be off, or have another address. The list of all devices shows those that are on.
        </p>
      )}
    </>
  );
}

function Table({ boat, watch, meter, devices }: Shared) {
  const changes = useSignal(0);
  useEffect(() =>
    boat.listen({ pgn: [ADDRESS_CLAIM] }, {}, (event) => {
      if (event.type !== "frame") return;
      const { bus, src, data, ts } = event.frame;
      const name = nameOfClaim(data);
      if (name === undefined) return;
      watch.claimed({ bus, src, name, timeMs: Date.parse(ts) });
      changes.value++;
    }), [boat, watch]);
  changes.value;
  const hasBuses = devices.some(({ bus }) => bus !== undefined);
  return (
    <>
      <h2>
        Devices <span class="quiet num">{devices.length}</span>
      </h2>
      <Conflicts watch={watch} devices={devices} />
      {devices.length === 0 ? <p class="card">No device has been heard yet.</p> : (
        <div class="card scroll">
          <table class="data stack dev-table">
            <thead>
              <tr>
                <th scope="col">Device</th>
                <th scope="col">Versions</th>
                <th scope="col" class="right">Address</th>
                {hasBuses && <th scope="col">Bus</th>}
                <th scope="col">NAME</th>
                <th scope="col" class="right">Traffic</th>
                <th scope="col" class="right">Last seen</th>
                <th scope="col">Conflicts</th>
              </tr>
            </thead>
            <tbody>
              {devices.map((device) => (
                <Row key={`${device.bus} ${device.src}`} {...{ boat, watch, meter, device, hasBuses }} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function Row({ boat, watch, meter, device, hasBuses }: Omit<Shared, "devices"> & {
  device: LabelledDevice;
  hasBuses: boolean;
}) {
  const { src, bus, name, last_seen } = device;
  const traffic = meter.trafficOf(device);
  const problems = watch.conflicts.filter((each) => isProblem(each) && concerns(each, device));
  return (
    <tr>
      <td>
        <a class="dev-link" href={linkTo("devices", { boat: boat.id, rest: deviceKey(device) })}>
          {deviceTitle(device)}
        </a>
      </td>
      <td data-label="Versions" class="dev-versions">{versionsText(device) || "not told"}</td>
      <td data-label="Address" class="right">{src}</td>
      {hasBuses && <td data-label="Bus">{bus}</td>}
      <td data-label="NAME" class="mono">{name ?? "not claimed"}</td>
      <td data-label="Traffic" class="right dev-traffic">
        {traffic ? `${rateText(traffic.messages)}, ${bytesText(Math.round(traffic.bytes))}/s` : "…"}
      </td>
      <td data-label="Last seen" class="right dev-age">{ageText(boat.clock.nowMs - Date.parse(last_seen))}</td>
      <td data-label="Conflicts" class={problems.length > 0 ? "bad" : "quiet"}>
        {problems.length > 0 ? problems.map(({ type }) => type).join(", ") : "none"}
      </td>
    </tr>
  );
}

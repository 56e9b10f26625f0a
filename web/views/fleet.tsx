import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { CloudClient, InstanceSummary } from "@vessel/gateway/client";
import { openedServer } from "../shell/boat_store.ts";
import { usePolled, valueOf } from "../shell/polled.ts";
import { countsOfFleet } from "../shell/proof_counts.ts";
import { ProofCountsLine } from "../shell/proof_line.tsx";
import { linkTo } from "../shell/router.ts";
import { type FleetMap, fleetMap, MAP_HEIGHT, type Place } from "./fleet_map.ts";
import {
  ageText,
  countStates,
  FLEET_STATE_TEXTS,
  FLEET_STATES,
  type FleetRow,
  type FleetState,
  rowOf,
  sortedRows,
} from "./fleet_rows.ts";
import "./fleet.css";

const EVERY_MS = 3000;
/** Rows in the table; the filter finds the others. */
const MAX_ROWS = 200;
/** Boats on the plot without asking: reading a boat's values loads it into the cloud's memory. */
const MAX_PLOTTED = 20;
const POSITIONS_EVERY_MS = 30_000;
const POSITION_PGNS = [129025, 129029];
/** Window width below which texts of the plot must be larger. */
const NARROW = 600;
const COLOURS: Record<FleetState, string> = { missing: "bad", away: "warn", behind: "warn", live: "good" };

/** All boats of a cloud. */
export function Fleet() {
  const { cloud, clock } = openedServer();
  const text = useSignal("");
  const state = usePolled(async (signal) => await cloud?.instances({ signal }) ?? [], { everyMs: EVERY_MS });
  const boats = valueOf(state.value);
  if (!boats) {
    return state.value.type === "failed"
      ? <p class="bad" role="alert">{state.value.message}</p>
      : <p aria-busy="true">Loading…</p>;
  }
  if (boats.length === 0) return <NoBoats />;
  const all = boats.map(rowOf);
  const rows = sortedRows(all, text.value);
  return (
    <>
      <FleetProof boats={boats} />
      <States rows={all} />
      {state.value.type === "failed" && <p class="bad" role="alert">{state.value.message}</p>}
      <p>
        <label for="fleet-filter">Find a boat</label>{" "}
        <input
          id="fleet-filter"
          type="search"
          value={text.value}
          onInput={({ currentTarget }) => text.value = currentTarget.value}
        />
      </p>
      <div class="scroll card">
        <table class="data stack">
          <thead>
            <tr>
              <th>Boat</th>
              <th>State</th>
              <th class="right">Behind (frames)</th>
              <th class="right">Missing (frames)</th>
              <th class="right">Last seen</th>
            </tr>
          </thead>
          <tbody>{rows.slice(0, MAX_ROWS).map((row) => <Row key={row.id} row={row} nowMs={clock.nowMs} />)}</tbody>
        </table>
        {rows.length > MAX_ROWS && <p class="quiet">{rows.length - MAX_ROWS} more boats: find them by their id.</p>}
      </div>
      {cloud && (
        <Map
          cloud={cloud}
          ids={rows.slice(0, MAX_PLOTTED).map(({ id }) => id)}
          isPart={rows.length > MAX_PLOTTED}
        />
      )}
    </>
  );
}

function FleetProof({ boats }: { boats: readonly InstanceSummary[] }) {
  const line = countsOfFleet(boats);
  return line && (
    <div class="proof fleet-proof">
      <ProofCountsLine line={line} />
    </div>
  );
}

function NoBoats() {
  return (
    <>
      <h2>No boats yet</h2>
      <p>
        A boat appears here as soon as it connects with its certificate. <a href="#/add-boat">Add a boat</a>
      </p>
    </>
  );
}

function States({ rows }: { rows: readonly FleetRow[] }) {
  const counts = countStates(rows);
  return (
    <p class="fleet-states">
      <span>
        <strong class="num">{rows.length}</strong> {rows.length === 1 ? "boat" : "boats"}
      </span>
      {FLEET_STATES.filter((each) => counts[each] > 0).map((each) => (
        <span key={each} class={COLOURS[each]}>
          <strong class="num">{counts[each]}</strong> {FLEET_STATE_TEXTS[each]}
        </span>
      ))}
    </p>
  );
}

function Row({ row: { id, state, lag, missing, holes, lastSeenMs }, nowMs }: { row: FleetRow; nowMs: number }) {
  return (
    <tr>
      <td>
        <a class="fleet-boat" href={linkTo("now", { boat: id })}>{id}</a>
      </td>
      <td data-label="State" class={COLOURS[state]}>{FLEET_STATE_TEXTS[state]}</td>
      <td class="right" data-label="Behind (frames)">{lag}</td>
      <td class="right" data-label="Missing (frames)">
        {missing === 0 ? "0" : `${missing} in ${holes} ${holes === 1 ? "hole" : "holes"}`}
      </td>
      <td class="right" data-label="Last seen">
        {lastSeenMs === undefined ? "never" : `${ageText(nowMs - lastSeenMs)} ago`}
      </td>
    </tr>
  );
}

function Map({ cloud, ids, isPart }: { cloud: CloudClient; ids: readonly string[]; isPart: boolean }) {
  const places = useSignal<readonly Place[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const read = async () => {
      if (document.visibilityState === "visible") places.value = await placesOf(cloud, { ids, signal: stop.signal });
    };
    void read();
    const timer = setInterval(() => void read(), POSITIONS_EVERY_MS);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [cloud, ids.join()]);
  const map = fleetMap(places.value);
  if (!map) return null;
  return (
    <section aria-labelledby="fleet-map">
      <h2 id="fleet-map">Last positions{isPart ? ` of the first ${MAX_PLOTTED} boats` : ""}</h2>
      <Plot map={map} />
    </section>
  );
}

function Plot({ map }: { map: FleetMap }) {
  const width = innerWidth < NARROW ? 480 : 1000;
  const height = width * MAP_HEIGHT;
  const at = (share: number) => share * width;
  return (
    <svg
      class="fleet-map card"
      viewBox={`0 0 ${width} ${height}`}
      role="group"
      aria-label={`Positions of boats, north up: ${map.places.length}`}
    >
      {map.meridians.map(({ x, text }) => (
        <g key={text}>
          <line x1={at(x)} x2={at(x)} y1={0} y2={height} />
          <text class="grid" x={at(x) + 4} y={height - 6}>{text}</text>
        </g>
      ))}
      {map.parallels.map(({ y, text }) => (
        <g key={text}>
          <line x1={0} x2={width} y1={at(y)} y2={at(y)} />
          <text class="grid" x={4} y={at(y) - 4}>{text}</text>
        </g>
      ))}
      {map.places.map(({ id, x, y }) => (
        <a key={id} href={linkTo("now", { boat: id })}>
          <circle cx={at(x)} cy={at(y)} r={9} />
          <text x={at(x) + 14} y={at(y) + 6}>{id}</text>
        </a>
      ))}
    </svg>
  );
}

/** Newest position of each boat that has one. */
async function placesOf(
  cloud: CloudClient,
  { ids, signal }: { ids: readonly string[]; signal: AbortSignal },
): Promise<Place[]> {
  const places: Place[] = [];
  for (const id of ids) {
    try {
      const devices = await cloud.boat(id).decodedValues({ pgn: POSITION_PGNS }, { signal });
      const newest = devices.flatMap(({ values }) => values).sort((a, b) => a.ts < b.ts ? 1 : -1);
      for (const { decoded: { latitude, longitude } = {} } of newest) {
        if (typeof latitude !== "number" || typeof longitude !== "number") continue;
        places.push({ id, latitude, longitude });
        break;
      }
    } catch {
      if (signal.aborted) break;
    }
  }
  return places;
}

/** How the next boat joins: its commands, made from its id. */
export function AddBoat() {
  const id = useSignal("aurora");
  const host = useSignal(location.hostname);
  const isValid = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(id.value);
  return (
    <>
      <h2>Add a boat</h2>
      <p>Boat and cloud know each other by certificates of your own authority.</p>
      <div class="fleet-form card">
        <label for="fleet-id">Id of the boat</label>
        <input
          id="fleet-id"
          value={id.value}
          aria-invalid={!isValid}
          onInput={({ currentTarget }) => id.value = currentTarget.value}
        />
        <label for="fleet-host">This cloud, as boats reach it</label>
        <input id="fleet-host" value={host.value} onInput={({ currentTarget }) => host.value = currentTarget.value} />
      </div>
      {isValid
        ? (
          <ol>
            <li>
              Where the authority is, make the boat's certificate:
              <Command text={`vbg-cloud ca issue -ca-dir ~/vbg-ca ${id.value}`} />
              It prints the three files and how to install them on the boat.
            </li>
            <li>
              On the boat, add to its settings (/etc/vbg/vbg-boat.conf):
              <Command text={`replication-target = "${host.value}:9443"\nreplication-instance-id = "${id.value}"`} />
              and restart it: <Command text="sudo systemctl restart vbg-boat" />
            </li>
            <li>The boat appears in the fleet when it connects; what it has recorded before is sent, too.</li>
          </ol>
        )
        : (
          <p class="bad" role="alert">
            An id has 1 to 64 letters, digits, points, hyphens and underscores, and begins with a letter or digit.
          </p>
        )}
      <p>
        Sold or lost boats: <code>vbg-cloud ca revoke -ca-dir ~/vbg-ca {isValid ? id.value : "ID"}</code>
      </p>
    </>
  );
}

function Command({ text }: { text: string }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
  };
  return (
    <p class="fleet-command">
      <code>{text}</code>
      {isSecureContext && (
        <button type="button" onClick={() => void copy()}>{isCopied.value ? "Copied" : "Copy"}</button>
      )}
    </p>
  );
}

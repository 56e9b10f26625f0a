import { useEffect } from "preact/hooks";
import type { BoatStore } from "./boat_store.ts";
import { type Theme, theme, THEMES, units } from "./preferences.ts";
import type { Place } from "./router.ts";
import { hasToken, logOut, type Server } from "./server.ts";
import { TimeControl } from "./time_control.tsx";
import { UNIT_SYSTEMS, type UnitSystem } from "@vessel/gateway/units";

const THEME_NAMES: Record<Theme, string> = { auto: "Auto", day: "Day", night: "Night", red: "Red night" };
const UNIT_NAMES: Record<UnitSystem, string> = { nautical: "Nautical", metric: "Metric", si: "SI" };

/** Name, state of the live stream, the time that is shown, units and colours. */
export function Header({ server, boat, place }: { server: Server; boat: BoatStore | undefined; place: Place }) {
  const name = boat?.id ?? (server.cloud ? "Fleet" : server.info.name);
  useEffect(() => {
    document.title = name;
  }, [name]);
  return (
    <header class="top">
      <h1 title={name}>{name}</h1>
      {boat && <LiveState boat={boat} />}
      <span class="space" />
      {boat && place.type === "boat" && <TimeControl boat={boat} place={place} />}
      <label>
        <span class="wide-only">Units</span>
        <select
          aria-label="Units"
          value={units.value}
          onChange={({ currentTarget: { value } }) =>
            units.value = UNIT_SYSTEMS.find((each) => each === value) ?? "nautical"}
        >
          {UNIT_SYSTEMS.map((each) => <option key={each} value={each}>{UNIT_NAMES[each]}</option>)}
        </select>
      </label>
      <label>
        <span class="wide-only">Colours</span>
        <select
          aria-label="Colours"
          value={theme.value}
          onChange={({ currentTarget: { value } }) => theme.value = THEMES.find((each) => each === value) ?? "auto"}
        >
          {THEMES.map((each) => <option key={each} value={each}>{THEME_NAMES[each]}</option>)}
        </select>
      </label>
      {hasToken() && <button type="button" onClick={logOut}>Log out</button>}
    </header>
  );
}

function LiveState({ boat }: { boat: BoatStore }) {
  const state = boat.live.value;
  switch (state.type) {
    case "off":
      return null;
    case "connecting":
      return <span class="live">connecting</span>;
    case "live":
      return <span class="live good">live</span>;
    case "lost":
      return <span class="live bad" role="status" title={state.message}>no connection</span>;
  }
}

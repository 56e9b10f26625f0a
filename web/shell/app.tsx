import { useEffect } from "preact/hooks";
import { Api } from "../views/api.tsx";
import { Bus } from "../views/bus.tsx";
import { Devices } from "../views/devices.tsx";
import { AddBoat, Fleet } from "../views/fleet.tsx";
import { History } from "../views/history.tsx";
import { Now } from "../views/now.tsx";
import { System } from "../views/system.tsx";
import { boatOf, type BoatStore, type ViewProps } from "./boat_store.ts";
import { Header } from "./header.tsx";
import { Login } from "./login.tsx";
import { Navigation } from "./navigation.tsx";
import { ProofLine } from "./proof_line.tsx";
import { type BoatView, type Place, place } from "./router.ts";
import { type Access, access, openServer } from "./server.ts";
import { TimeBanner } from "./time_control.tsx";

const VIEWS = { now: Now, devices: Devices, bus: Bus, history: History, system: System } satisfies Record<
  BoatView,
  (props: ViewProps) => unknown
>;

/** The page. */
export function App() {
  useEffect(() => void openServer(), []);
  const state = access.value;
  switch (state.type) {
    case "connecting":
      return <main class="waiting" aria-busy="true">Connecting…</main>;
    case "login":
      return <Login message={state.message} />;
    case "unreachable":
      return <Unreachable message={state.message} />;
    case "ready":
      return <Shell state={state} />;
  }
}

/** Time between attempts to reach a server. */
const AGAIN_MS = 3000;

function Unreachable({ message }: { message: string }) {
  useEffect(() => {
    const timer = setInterval(() => void openServer(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <main class="waiting">
      <h1>The server cannot be reached</h1>
      <p>{message}. This page tries again every {AGAIN_MS / 1000} seconds.</p>
    </main>
  );
}

function Shell({ state }: { state: Extract<Access, { type: "ready" }> }) {
  const { cloud } = state.server;
  const at = inServer(place.value, cloud !== undefined);
  const boat = at.type === "boat" ? boatOf(state, at.boat) : undefined;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), focusContent())}>Skip to content</a>
      <Header server={state.server} boat={boat} place={at} />
      {boat && <ProofLine key={boat.id ?? ""} boat={boat} />}
      <Navigation server={state.server} place={at} />
      <main id="content" tabIndex={-1}>
        {at.type === "boat" && <TimeBanner {...at} />}
        <View place={at} boat={boat} />
      </main>
    </>
  );
}

function View({ place: at, boat }: { place: Place; boat: BoatStore | undefined }) {
  if (at.type === "api") return <Api />;
  if (at.type === "fleet") return <Fleet />;
  if (at.type === "add boat") return <AddBoat />;
  if (!boat) return null;
  const Chosen = VIEWS[at.view];
  return <Chosen key={`${boat.id} ${at.view} ${at.at === undefined}`} boat={boat} rest={at.rest} at={at.at} />;
}

/** A cloud has boats only by id, a boat server has no fleet. */
function inServer(at: Place, isCloud: boolean): Place {
  if (isCloud && at.type === "boat" && at.boat === undefined) return { type: "fleet" };
  if (!isCloud && at.type !== "api" && at.type !== "boat") {
    return { type: "boat", boat: undefined, view: "now", rest: undefined, at: undefined };
  }
  return at;
}

function focusContent(): void {
  document.getElementById("content")?.focus();
}

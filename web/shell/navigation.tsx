import { BOAT_VIEWS, type BoatView, linkTo, type Place } from "./router.ts";
import type { Server } from "./server.ts";

const NAMES: Record<BoatView, string> = {
  now: "Now",
  devices: "Devices",
  bus: "Bus",
  history: "History",
  system: "System",
};

/** Links to all views; on a phone at the bottom, within reach of the thumb. */
export function Navigation({ server, place }: { server: Server; place: Place }) {
  const { boat, at } = place.type === "boat" ? place : {};
  const isBoat = place.type === "boat" || !server.cloud;
  return (
    <nav class="views" aria-label="Views">
      {server.cloud && <Item href="#/fleet" name="Fleet" isHere={place.type === "fleet"} />}
      {isBoat &&
        BOAT_VIEWS.map((view) => (
          <Item
            key={view}
            href={linkTo(view, { boat, at })}
            name={NAMES[view]}
            isHere={place.type === "boat" && place.view === view}
          />
        ))}
      {!isBoat && <Item href="#/add-boat" name="Add a boat" isHere={place.type === "add boat"} />}
      <Item href="#/api" name="API" isHere={place.type === "api"} isExtra />
    </nav>
  );
}

function Item(
  { href, name, isHere, isExtra = false }: { href: string; name: string; isHere: boolean; isExtra?: boolean },
) {
  return <a href={href} class={isExtra ? "wide-only" : ""} aria-current={isHere ? "page" : undefined}>{name}</a>;
}

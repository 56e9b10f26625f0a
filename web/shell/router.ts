import { computed, signal } from "@preact/signals";

/** The views of a boat, in the order of the navigation. */
export const BOAT_VIEWS = ["now", "devices", "bus", "history", "system"] as const;
export type BoatView = (typeof BOAT_VIEWS)[number];

/** What the part of the URL behind `#` names. */
export type Place =
  | { type: "fleet" }
  | { type: "add boat" }
  | { type: "api" }
  /** `rest`: what a view shows, such as a device. `boat`: id of the boat in a cloud. */
  | { type: "boat"; boat: string | undefined; view: BoatView; rest: string | undefined };

const hash = signal(location.hash);
globalThis.addEventListener("hashchange", () => hash.value = location.hash);

/** Where the page is; a cloud's page without a place is its fleet. */
export const place = computed((): Place => placeOf(hash.value, location.pathname));

/** Reads a place: `#/devices/NAME`, in a cloud `#/boats/ID/devices/NAME`, `#/fleet`, `#/api`. */
export function placeOf(hash: string, path: string): Place {
  const parts = hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (parts[0] === "api" || (path === "/docs" && parts[0] === "")) return { type: "api" };
  if (parts[0] === "add-boat") return { type: "add boat" };
  if (parts[0] === "fleet") return { type: "fleet" };
  const boat = parts[0] === "boats" && parts[1] ? parts[1] : undefined;
  const [name, ...rest] = boat === undefined ? parts : parts.slice(2);
  const view = BOAT_VIEWS.find((each) => each === name) ?? "now";
  return { type: "boat", boat, view, rest: rest.join("/") || undefined };
}

/** Address of a view of a boat. */
export function linkTo(view: BoatView, { boat, rest }: { boat: string | undefined; rest?: string }): string {
  const start = boat === undefined ? "#" : `#/boats/${encodeURIComponent(boat)}`;
  return `${start}/${view}${rest === undefined ? "" : `/${encodeURIComponent(rest)}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

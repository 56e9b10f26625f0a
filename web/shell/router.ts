import { computed, signal } from "@preact/signals";

/** The views of a boat, in the order of the navigation. */
export const BOAT_VIEWS = ["now", "devices", "bus", "history", "system"] as const;
export type BoatView = (typeof BOAT_VIEWS)[number];

/** What the part of the URL behind `#` names. */
export type Place =
  | { type: "fleet" }
  | { type: "add boat" }
  | { type: "api" }
  /**
   * `rest`: what a view shows, such as a device. `boat`: id of the boat in a cloud. `at`: the time that a view shows, RFC 3339
   * if the address is right; undefined: now.
   */
  | BoatPlace;

/** A view of a boat. */
export interface BoatPlace {
  type: "boat";
  boat: string | undefined;
  view: BoatView;
  rest: string | undefined;
  at: string | undefined;
}

const hash = signal(location.hash);
globalThis.addEventListener("hashchange", () => hash.value = location.hash);

/** Where the page is; a cloud's page without a place is its fleet. */
export const place = computed((): Place => placeOf(hash.value, location.pathname));

/**
 * Reads a place: `#/devices/NAME`, `#/devices/NAME?at=2026-11-25T14:03:00Z`, in a cloud `#/boats/ID/devices/NAME`, `#/fleet`,
 * `#/api`.
 */
export function placeOf(hash: string, path: string): Place {
  const [, given = "", at] = /^#?\/?(.*?)(?:\?at=(.*))?$/s.exec(hash) ?? [];
  const parts = given.split("/").map(decoded);
  if (parts[0] === "api" || (path === "/docs" && parts[0] === "")) return { type: "api" };
  if (parts[0] === "add-boat") return { type: "add boat" };
  if (parts[0] === "fleet") return { type: "fleet" };
  const boat = parts[0] === "boats" && parts[1] ? parts[1] : undefined;
  const [name, ...rest] = boat === undefined ? parts : parts.slice(2);
  const view = BOAT_VIEWS.find((each) => each === name) ?? "now";
  return {
    type: "boat",
    boat,
    view,
    rest: rest.join("/") || undefined,
    at: showsPast(view) && at ? decoded(at) : undefined,
  };
}

/** Whether a view can show another time than now. */
export function showsPast(view: BoatView): boolean {
  return view === "now" || view === "devices";
}

/** Address of a view of a boat; of a view that always shows now, without the time. */
export function linkTo(
  view: BoatView,
  { boat, rest, at }: { boat: string | undefined; rest?: string | undefined; at?: string | undefined },
): string {
  const start = boat === undefined ? "#" : `#/boats/${encodeURIComponent(boat)}`;
  const time = at === undefined || !showsPast(view) ? "" : `?at=${encodeURI(at)}`;
  return `${start}/${view}${rest === undefined ? "" : `/${encodeURIComponent(rest)}`}${time}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

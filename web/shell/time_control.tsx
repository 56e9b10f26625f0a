import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inputText, readInput, utcText, zoneText } from "../views/time_text.ts";
import type { BoatStore } from "./boat_store.ts";
import { type BoatPlace, linkTo, showsPast } from "./router.ts";
import "./time_control.css";

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1000, 60_000, 3_600_000];
const STEPS = [
  { name: "−1 h", ms: -HOUR_MS },
  { name: "−10 min", ms: -10 * MINUTE_MS },
  { name: "−1 min", ms: -MINUTE_MS },
  { name: "+1 min", ms: MINUTE_MS },
  { name: "+10 min", ms: 10 * MINUTE_MS },
  { name: "+1 h", ms: HOUR_MS },
];
/** Id of the panel. */
const PANEL = "time-panel";

interface TimeProps {
  boat: BoatStore;
  place: BoatPlace;
}

/** Chooses the time that a view shows: a button with a panel. Without a recording there is only now. */
export function TimeControl({ boat, place }: TimeProps) {
  const { view, at } = place;
  if (!showsPast(view) || !boat.isRecorded) return null;
  return (
    <>
      <button type="button" class="time-button" popovertarget={PANEL}>
        <span class="hidden-text">Time:</span> {at === undefined ? "Now" : clockOf(at)}
        {at !== undefined && <span class="wide-only">&nbsp;UTC</span>}
      </button>
      <Panel boat={boat} place={place} />
    </>
  );
}

/** Hours and minutes, which are enough beside the banner. */
function clockOf(at: string): string {
  return / (\d\d:\d\d)/.exec(utcText(at))?.[1] ?? "?";
}

/** The browser shows and hides it with the button, closes it on Escape, and gives the focus back. */
function Panel({ boat, place }: TimeProps) {
  const { at } = place;
  const { nowMs } = boat.clock;
  const shownMs = shownMsOf(boat, at);
  const text = useSignal(inputText(shownMs));
  // Of now, time has passed since the panel was rendered.
  const fill = () => void (text.value = inputText(shownMsOf(boat, at)));
  useEffect(fill, [at]);
  // A local time may stand for two times, when clocks are set back.
  const ms = text.value === inputText(shownMs) ? shownMs : readInput(text.value);
  const submit = (event: Event) => {
    event.preventDefault();
    if (ms !== undefined) show(place, ms);
  };
  return (
    <form id={PANEL} class="card" popover="auto" aria-label="Time" onBeforeToggle={fill} onSubmit={submit}>
      <label>
        Local time ({zoneText(ms ?? shownMs)})
        <input
          type="datetime-local"
          step={1}
          value={text.value}
          aria-describedby="time-utc"
          aria-invalid={ms === undefined}
          onInput={({ currentTarget: { value } }) => text.value = value}
        />
      </label>
      <button type="submit" disabled={ms === undefined}>Show</button>
      <p id="time-utc" class="quiet num">
        {ms === undefined ? "Date and time are needed" : utcText(new Date(ms).toISOString())}
      </p>
      <div class="time-steps" role="group" aria-label="Steps">
        {STEPS.map(({ name, ms: stepMs }) => (
          <button
            key={name}
            type="button"
            disabled={ms === undefined || ms + stepMs > nowMs}
            onClick={() => ms !== undefined && show(place, ms + stepMs)}
          >
            {name}
          </button>
        ))}
      </div>
      {at !== undefined && (
        <button
          type="button"
          popovertarget={PANEL}
          popovertargetaction="hide"
          onClick={() => location.hash = linkTo(place.view, { ...place, at: undefined })}
        >
          Back to now
        </button>
      )}
    </form>
  );
}

/** The time that is shown; now in whole seconds. */
function shownMsOf({ clock }: BoatStore, at: string | undefined): number {
  const atMs = Date.parse(at ?? "");
  return Number.isNaN(atMs) ? Math.floor(clock.nowMs / SECOND_MS) * SECOND_MS : atMs;
}

/** Goes to a time. All times are one entry of the browser's history: steps would be many. */
function show({ view, at, ...place }: BoatPlace, ms: number): void {
  const address = linkTo(view, { ...place, at: new Date(ms).toISOString().replace(".000", "") });
  if (at === undefined) location.hash = address;
  else location.replace(address);
}

/** Says that what follows is not of now. */
export function TimeBanner({ view, at, ...place }: BoatPlace) {
  if (at === undefined) return null;
  return (
    <div class="time-banner">
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="7" />
        <path d="M8 4v4l3 2" />
      </svg>
      <strong class="num" role="status">{utcText(at)}, from the journal</strong>
      <a href={linkTo(view, place)}>Back to now</a>
    </div>
  );
}

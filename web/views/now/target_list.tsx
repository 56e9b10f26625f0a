import type { Signal } from "@preact/signals";
import type { UnitSystem } from "@vessel/gateway/units";
import { units } from "../../shell/preferences.ts";
import { ageText } from "../plain_text.ts";
import { approachOf, directionOf, vectorBetween } from "./geometry.ts";
import type { OwnShip } from "./model.ts";
import { bearingText, distanceText, speedText, untilText } from "./scale.ts";
import { type ShownTarget, targetTitle } from "./targets.ts";

/** Nearest targets in the list; the plot has all. */
const LISTED = 6;

interface CardProps {
  own: OwnShip;
  shown: ShownTarget;
  onClose: () => void;
}

/** All about a target. */
export function TargetCard({ own, shown, onClose }: CardProps) {
  const { target, ageMs, isStale } = shown;
  const { cpa, tcpa } = approachTexts(own, { shown, system: units.value });
  const bearing = directionOf(vectorBetween(own.position, shown.position));
  const facts: [string, string][] = [
    ["Range", distanceText(shown.rangeM, units.value)],
    ["Bearing", bearingText(bearing, units.value)],
    ["CPA", cpa],
    ["TCPA", tcpa],
    ["SOG", target.sog === undefined ? "–" : speedText(target.sog, units.value)],
    ["COG", target.cog === undefined ? "–" : bearingText(target.cog, units.value)],
    ["Age", `${ageText(ageMs)}${isStale ? ", stale" : ""}`],
    ["MMSI", String(target.mmsi).padStart(9, "0")],
    ["Station", target.station ?? "unknown"],
  ];
  return (
    <div class={isStale ? "card now-card now-stale" : "card now-card"}>
      <div class="now-panel-head">
        <h3>{targetTitle(target)}</h3>
        <button type="button" onClick={onClose}>Close</button>
      </div>
      <dl>
        {facts.map(([what, text]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd class="num">{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** The nearest targets: buttons, so that they are reached by the keyboard. */
export function TargetList({ own, targets, chosen }: {
  own: OwnShip;
  targets: readonly ShownTarget[];
  chosen: Signal<number | undefined>;
}) {
  if (targets.length === 0) return null;
  return (
    <>
      <h3>{targets.length > LISTED ? `Nearest of ${targets.length} AIS targets` : "AIS targets"}</h3>
      <ul class="now-targets">
        {targets.slice(0, LISTED).map((shown) => {
          const { target: { mmsi }, rangeM, ageMs, isStale } = shown;
          const { cpa, tcpa } = approachTexts(own, { shown, system: units.value });
          return (
            <li key={mmsi}>
              <button
                type="button"
                class={isStale ? "now-row now-stale" : "now-row"}
                aria-pressed={chosen.value === mmsi}
                onClick={() => chosen.value = chosen.value === mmsi ? undefined : mmsi}
              >
                <span class="now-row-name">{targetTitle(shown.target)}</span>
                <span class="num">{distanceText(rangeM, units.value)}</span>
                <span class="now-row-more num">
                  {tcpa === "–" ? cpa : `CPA ${cpa} in ${tcpa}`}
                </span>
                <span class="now-row-more num">{isStale && "stale "}{ageText(ageMs)}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** Texts of the closest point of approach. */
function approachTexts({ motion }: OwnShip, { shown, system }: { shown: ShownTarget; system: UnitSystem }) {
  const { position, isStale, target: { sog, cog } } = shown;
  if (!motion || isStale || sog === undefined || cog === undefined) return { cpa: "CPA unknown", tcpa: "–" };
  const approach = approachOf(motion, { position, sog, cog });
  switch (approach.type) {
    case "approaching":
      return { cpa: distanceText(approach.cpaM, system), tcpa: untilText(approach.tcpaS) };
    case "opening":
      return { cpa: "moving away", tcpa: "–" };
    case "constant":
      return { cpa: "same distance", tcpa: "–" };
  }
}

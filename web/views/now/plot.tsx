import { type Signal, useSignal } from "@preact/signals";
import { units } from "../../shell/preferences.ts";
import { moved, type Position, vectorBetween, vectorOf } from "./geometry.ts";
import type { OwnShip } from "./model.ts";
import {
  FIRST_ZOOM,
  isOnPlot,
  onPlot,
  type PlacedText,
  placeNames,
  PLOT_SIZE,
  type Range,
  rangeOf,
  RING_RADIUS,
  ZOOM_STEPS,
} from "./scale.ts";
import { TargetCard, TargetList } from "./target_list.tsx";
import { type ShownTarget, targetTitle } from "./targets.ts";
import type { Track } from "./track.ts";

/** What the plot shows. */
export interface Scene {
  own: OwnShip;
  /** Nearest first. */
  targets: readonly ShownTarget[];
  /** Number of targets that are farther away and left out. */
  notShown: number;
}

/** Length of the vectors of course and speed, seconds. */
const VECTOR_S = 360;
/** A tap this close to a target chooses it, in the units of the plot. */
const TAP_RADIUS = 26;
const MIDDLE = PLOT_SIZE / 2;
/** Half the width of a target's symbol. */
const SYMBOL = 8;
/** Names do not cover the own symbol. */
const OWN_BOXES = [-10, 0, 14].map((y) => ({ left: MIDDLE - 12, right: MIDDLE + 12, y: MIDDLE + y }));

/** Own track, course and AIS targets, north up. */
export function Plot({ scene, track }: { scene: Signal<Scene | undefined>; track: Track }) {
  const step = useSignal(FIRST_ZOOM);
  const chosen = useSignal<number | undefined>(undefined);
  if (!scene.value) return null;
  const { own, targets, notShown } = scene.value;
  const range = rangeOf(step.value, units.value);
  const zoom = (by: number) => step.value = Math.min(Math.max(step.value + by, 0), ZOOM_STEPS - 1);
  const choose = (by: number) => {
    const index = targets.findIndex(({ target }) => target.mmsi === chosen.value);
    chosen.value = targets[(index + by + targets.length) % targets.length]?.target.mmsi;
  };
  const pressed = (event: KeyboardEvent) => {
    const act = actionOf(event.key, { zoom, choose, leave: () => chosen.value = undefined });
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  const selected = targets.find(({ target }) => target.mmsi === chosen.value);
  return (
    <section class="now-around" aria-label="Surroundings">
      <div
        class="now-plot"
        tabIndex={0}
        role="group"
        aria-label={`Plot, north up. ${targets.length} AIS targets. Plus and minus zoom, arrow keys choose a target.`}
        onKeyDown={pressed}
      >
        <Chart {...{ own, targets, range, track }} chosen={chosen} />
      </div>
      <div class="now-under">
        <p class="quiet">
          North up, vectors {VECTOR_S / 60} min
          {own.isStale && <strong class="warn">, own position is stale</strong>}
          {notShown > 0 && `, ${notShown} farther targets are not shown`}
        </p>
        <button type="button" aria-label="Zoom in" disabled={step.value === 0} onClick={() => zoom(-1)}>+</button>
        <button type="button" aria-label="Zoom out" disabled={step.value === ZOOM_STEPS - 1} onClick={() => zoom(1)}>
          −
        </button>
      </div>
      {selected && <TargetCard own={own} shown={selected} onClose={() => chosen.value = undefined} />}
      <TargetList own={own} targets={targets} chosen={chosen} />
    </section>
  );
}

function actionOf(
  key: string,
  { zoom, choose, leave }: { zoom: (by: number) => void; choose: (by: number) => void; leave: () => void },
): (() => void) | undefined {
  switch (key) {
    case "+":
    case "=":
      return () => zoom(-1);
    case "-":
      return () => zoom(1);
    case "ArrowRight":
    case "ArrowDown":
      return () => choose(1);
    case "ArrowLeft":
    case "ArrowUp":
      return () => choose(-1);
    case "Escape":
      return leave;
  }
  return undefined;
}

interface Placed {
  shown: ShownTarget;
  x: number;
  y: number;
}

function Chart({ own, targets, range, track, chosen }: {
  own: OwnShip;
  targets: readonly ShownTarget[];
  range: Range;
  track: Track;
  chosen: Signal<number | undefined>;
}) {
  const place = (position: Position) => onPlot(vectorBetween(own.position, position), range);
  const placed = targets.map((shown): Placed => ({ shown, ...place(shown.position) })).filter(isOnPlot);
  const symbols = placed.map(({ x, y }) => ({ left: x - SYMBOL, right: x + SYMBOL, y: y + SYMBOL / 2 }));
  const texts = placed.map(({ shown, x, y }) => ({ text: targetTitle(shown.target), x, y }));
  const names = placeNames(texts, [...OWN_BOXES, ...symbols]);
  const points = [...track.positions, own.position].map(place).filter(({ x, y }) => Math.hypot(x, y) < 1e5);
  const tapped = ({ clientX, clientY, currentTarget }: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const { left, top, width } = currentTarget.getBoundingClientRect();
    const [x, y] = [clientX - left, clientY - top].map((each) => each * PLOT_SIZE / width);
    const near = placed.map((each) => ({ each, distance: Math.hypot(each.x - (x ?? 0), each.y - (y ?? 0)) }))
      .filter(({ distance }) => distance < TAP_RADIUS).sort((a, b) => a.distance - b.distance)[0];
    chosen.value = near?.each.shown.target.mmsi;
  };
  return (
    <svg viewBox={`0 0 ${PLOT_SIZE} ${PLOT_SIZE}`} aria-hidden="true" onClick={tapped}>
      <Rings range={range} />
      <polyline class="now-track" points={points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
      {placed.map((each, index) => (
        <TargetSymbol
          key={each.shown.target.mmsi}
          {...each}
          place={place}
          name={names[index]}
          isChosen={each.shown.target.mmsi === chosen.value}
        />
      ))}
      <OwnSymbol own={own} place={place} />
    </svg>
  );
}

function Rings({ range }: { range: Range }) {
  const rings = [{ radius: RING_RADIUS, text: range.text }, { radius: RING_RADIUS / 2, text: range.halfText }];
  return (
    <g>
      {rings.map(({ radius, text }) => (
        <g key={radius}>
          <circle class="now-ring" cx={MIDDLE} cy={MIDDLE} r={radius} />
          <text class="now-ring-text" x={MIDDLE} y={MIDDLE + radius - 4} text-anchor="middle">{text}</text>
        </g>
      ))}
      <path class="now-ring" d={`M${MIDDLE} ${MIDDLE - RING_RADIUS - 6}v12`} />
      <text class="now-north" x={MIDDLE} y={14} text-anchor="middle">N</text>
    </g>
  );
}

function OwnSymbol({ own, place }: { own: OwnShip; place: (position: Position) => { x: number; y: number } }) {
  const { position, heading, motion, isStale } = own;
  const direction = heading ?? motion?.cog;
  const bow = heading === undefined ? undefined : vectorOf(heading, RING_RADIUS);
  const tip = motion && place(moved(position, vectorOf(motion.cog, motion.sog * VECTOR_S)));
  return (
    <g class={isStale ? "now-own now-stale" : "now-own"}>
      {bow && <path class="now-heading" d={`M${MIDDLE} ${MIDDLE}l${bow.east.toFixed(1)} ${(-bow.north).toFixed(1)}`} />}
      {tip && <path class="now-vector" d={`M${MIDDLE} ${MIDDLE}L${tip.x.toFixed(1)} ${tip.y.toFixed(1)}`} />}
      {direction === undefined ? <circle class="now-hull" cx={MIDDLE} cy={MIDDLE} r={7} /> : (
        <path
          class="now-hull"
          transform={turned({ x: MIDDLE, y: MIDDLE }, direction)}
          d="M0 -14C6 -6 6 2 5 11H-5C-6 2 -6 -6 0 -14Z"
        />
      )}
    </g>
  );
}

function TargetSymbol({ shown, x, y, place, name, isChosen }: Placed & {
  place: (position: Position) => { x: number; y: number };
  name: PlacedText | undefined;
  isChosen: boolean;
}) {
  const { target: { station, cog, sog, heading }, position, isStale } = shown;
  const direction = heading ?? cog;
  const tip = cog === undefined || sog === undefined || isStale
    ? undefined
    : place(moved(position, vectorOf(cog, sog * VECTOR_S)));
  const isMark = station === "aid to navigation";
  const at = { x, y };
  return (
    <g class={isStale ? "now-target now-stale" : "now-target"}>
      {tip && (
        <path
          class="now-vector"
          d={`M${x.toFixed(1)} ${y.toFixed(1)}L${tip.x.toFixed(1)} ${tip.y.toFixed(1)}`}
        />
      )}
      {isMark || direction === undefined
        ? <path class="now-shape" transform={turned(at, 0)} d={isMark ? "M0 -7L7 0L0 7L-7 0Z" : "M-5 -5H5V5H-5Z"} />
        : <path class="now-shape" transform={turned(at, direction)} d="M0 -10L6 7H-6Z" />}
      {isStale && <path class="now-shape" transform={turned(at, 0)} d="M-9 9L9 -9" />}
      {isChosen && (
        <path class="now-chosen" transform={turned(at, 0)} d="M-14 -8V-14H-8M8 -14H14V-8M14 8V14H8M-8 14H-14V8" />
      )}
      {name && <text class="now-name" x={name.x} y={name.y}>{name.text}</text>}
    </g>
  );
}

function turned({ x, y }: { x: number; y: number }, radians: number): string {
  return `translate(${x.toFixed(1)} ${y.toFixed(1)}) rotate(${(radians / Math.PI * 180).toFixed(1)})`;
}

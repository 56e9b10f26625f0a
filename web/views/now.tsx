import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { BoatStore, ViewProps } from "../shell/boat_store.ts";
import { Painter } from "../shell/painter.ts";
import { usePolled } from "../shell/polled.ts";
import { units } from "../shell/preferences.ts";
import { linkTo } from "../shell/router.ts";
import { access } from "../shell/server.ts";
import { NowFeed } from "./now/feed.ts";
import { NowModel, type ShownQuantity } from "./now/model.ts";
import { readPast } from "./now/past.ts";
import { Plot, type Scene } from "./now/plot.tsx";
import { SourcePanel } from "./now/source_panel.tsx";
import { TileTexts } from "./now/tile_texts.ts";
import { Tiles } from "./now/tile_view.tsx";
import { orderTiles, type TileOrder } from "./now/tiles.ts";
import { NotShown, Since } from "./past.tsx";
import "./now.css";

/** Interval of painting, milliseconds: numbers that change more often cannot be read. */
const PAINT_MS = 200;
/** The plot is drawn at every so many paintings. */
const PLOT_PAINTINGS = 5;
/** Targets on the plot. */
const MAX_TARGETS = 500;

/** The boat now, or at a time: tiles with all that the bus carries, and a plot of what is around. */
export function Now({ boat, at }: ViewProps) {
  return at === undefined ? <Live boat={boat} /> : <Past boat={boat} at={at} />;
}

/** Receives while the view is open. */
function Live({ boat }: { boat: BoatStore }) {
  const model = useMemo(() => new NowModel(), [boat]);
  useEffect(() => new NowFeed(boat, model).open(), [boat, model]);
  return <Readings boat={boat} model={model} />;
}

function Past({ boat, at }: { boat: BoatStore; at: string }) {
  const polled = usePolled((signal) => readPast(boat, { at, signal }), { everyMs: undefined, of: [boat, at] });
  const state = polled.value;
  if (state.type === "failed") return <NotShown detail={state.detail} />;
  if (state.type === "loading") return <p aria-busy="true">Reading the journal…</p>;
  const { value } = state;
  return (
    <div class="then" aria-busy={value.at !== at}>
      <Readings boat={boat} model={value.model} at={value.at} />
      <Since since={value.since} />
    </div>
  );
}

interface ReadingsProps {
  boat: BoatStore;
  model: NowModel;
  /** Time that is shown, RFC 3339; left out: now. */
  at?: string | undefined;
}

function Readings({ boat, model, at }: ReadingsProps) {
  const { order, scene, selected, list } = useModel({ boat, model, at });
  const texts = useMemo(() => new TileTexts(boat), [boat]);
  const paint = useMemo(() => () => {
    const { type } = boat.live.peek();
    texts.paint(list.peek(), { system: units.peek(), isLost: type === "lost" });
  }, [boat]);
  useEffect(() => list.subscribe(paint), [paint]);
  useEffect(() => units.subscribe(paint), [paint]);
  const hasPlot = useComputed(() => scene.value !== undefined);
  const tiles = (keys: readonly string[]) => (
    <Tiles
      keys={keys}
      texts={texts}
      onOpen={(key) => selected.value = key}
      onMount={paint}
    />
  );
  const { main, rest } = order.value;
  return (
    <>
      <h2 class="hidden-text">Now</h2>
      <Connection boat={boat} isEmpty={main.length + rest.length === 0} isPast={at !== undefined} />
      <div class={hasPlot.value ? "now-parts with-plot" : "now-parts"}>
        <section class="now-main" aria-label="Most important values">{tiles(main)}</section>
        {hasPlot.value && <Plot scene={scene} track={model.track} />}
        <div class="now-rest">
          {rest.map(({ title, keys }) => (
            <section key={title} aria-label={title}>
              <h3>{title}</h3>
              {tiles(keys)}
            </section>
          ))}
        </div>
      </div>
      <WebApps boat={boat} />
      {selected.value !== undefined && (
        <SourcePanel
          {...{ boat, model, texts, list, at }}
          name={selected.value}
          onClose={() => selected.value = undefined}
        />
      )}
    </>
  );
}

/** Links to the web apps of a boat's server: instruments and charts are theirs. */
function WebApps({ boat }: { boat: BoatStore }) {
  const state = access.value;
  const apps = state.type === "ready" && boat.cloud === undefined ? state.server.info.web_apps ?? [] : [];
  if (apps.length === 0) return null;
  return (
    <p class="now-apps">
      Instruments and charts: {apps.map(({ title, path }) => <a key={path} href={path}>{title}</a>)}
    </p>
  );
}

/** Reads the model a few times a second: also descriptions of units arrive. */
function useModel({ boat, model, at }: ReadingsProps) {
  const list = useSignal<readonly ShownQuantity[]>(model.list(boat.msAt(at)));
  const order = useSignal<TileOrder>(orderTiles(list.peek()));
  const scene = useSignal<Scene | undefined>(undefined);
  const selected = useSignal<string | undefined>(undefined);
  useEffect(() => {
    let paintings = 0;
    const painter = new Painter(() => {
      const nowMs = boat.msAt(at);
      list.value = model.list(nowMs);
      const next = orderTiles(list.peek());
      if (JSON.stringify(next) !== JSON.stringify(order.peek())) order.value = next;
      const own = model.own(nowMs);
      if (!own) scene.value = undefined;
      else if (paintings++ % PLOT_PAINTINGS === 0 || !scene.peek()) {
        const { shown, notShown } = model.targets.nearest(own.position, { nowMs, max: MAX_TARGETS });
        scene.value = { own, targets: shown, notShown };
      }
    });
    painter.ask();
    const timer = setInterval(() => painter.ask(), PAINT_MS);
    return () => {
      clearInterval(timer);
      painter.stop();
    };
  }, [boat, model]);
  return { order, scene, selected, list };
}

/** Says that there is no connection, which the header announces, or no value. */
function Connection({ boat, isEmpty, isPast }: { boat: BoatStore; isEmpty: boolean; isPast: boolean }) {
  const { type } = boat.live.value;
  if (isPast) return isEmpty ? <p class="card">No value was known then.</p> : null;
  if (type === "lost") {
    return <p class="now-lost">No connection to the server: these are the last values received.</p>;
  }
  if (!isEmpty) return null;
  return (
    <p class="quiet" aria-busy={type === "connecting"}>
      {type === "live"
        ? (
          <>
            No value on the bus yet. <a href={linkTo("bus", { boat: boat.id })}>Bus</a> shows whether messages arrive,
            {" "}
            <a href={linkTo("system", { boat: boat.id })}>System</a> whether the bus is connected.
          </>
        )
        : "Connecting…"}
    </p>
  );
}

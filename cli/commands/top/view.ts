import type { HealthStatus } from "@vessel/gateway/client";
import type { Key } from "../../program/live_screen.ts";
import { cut } from "../../program/table.ts";
import { paint, printable, type Style } from "../../program/terminal.ts";
import type { Picture, ScreenSize, View } from "./picture.ts";
import { rateTexts, sumOf } from "./rates.ts";
import { devicesTable, overview, valuesTable } from "./view_parts.ts";

const TABS = ["Overview", "Devices", "Values"];
const HEAD_ROWS = 3;
const STATUS_STYLES: Readonly<Record<HealthStatus, Style>> = { ok: "green", degraded: "yellow", unhealthy: "red" };

/** The view after a key. */
export function viewAfter(view: View, key: Exclude<Key, "quit">): View {
  const turn = (by: number): View => ({ tab: (view.tab + by + TABS.length) % TABS.length, offset: 0 });
  const move = (by: number): View => ({ ...view, offset: Math.max(0, view.offset + by) });
  switch (key) {
    case "next":
      return turn(1);
    case "previous":
      return turn(-1);
    case "up":
      return move(-1);
    case "down":
      return move(1);
    case "page-up":
      return move(-10);
    case "page-down":
      return move(10);
    default:
      return { tab: key.tab, offset: 0 };
  }
}

/** The view, scrolled up so that the list fills the screen. */
export function clampView(view: View, { sample }: Picture, rows: number): View {
  const count = view.tab === 0
    ? 0
    : view.tab === 1
    ? sample.devices.length
    : sample.values.reduce((sum, { values }) => sum + values.length, 0);
  return { ...view, offset: Math.min(view.offset, Math.max(0, count - (rows - HEAD_ROWS - 1))) };
}

/** Renders the picture as lines that fit the screen. */
export function draw(picture: Picture, frame: ScreenSize): string[] {
  const { view } = picture;
  const available = { ...frame, rows: frame.rows - HEAD_ROWS };
  const body = view.tab === 0
    ? overview(picture, available)
    : scrolled(view.tab === 1 ? devicesTable(picture, available) : valuesTable(picture, available), {
      view,
      rows: available.rows,
    });
  return [...head(picture, frame), ...body].slice(0, frame.rows);
}

function head(picture: Picture, { columns, hasColor }: ScreenSize): string[] {
  const { serverText, time, sample: { devices, health }, rates, problem, view } = picture;
  const [frames, bytes] = rateTexts(sumOf(devices.map((device) => rates.of(device))));
  const count = `${devices.length} device${devices.length === 1 ? "" : "s"}`;
  const facts = `${count}  ${frames} frames/s  ${bytes}  ${time}`;
  const status = health?.status ?? "";
  const title = cut(printable(serverText), Math.max(0, columns - status.length - facts.length - 4));
  const gap = Math.max(2, columns - title.length - status.length - facts.length - 2);
  const first = title.length + status.length + facts.length + 4 <= columns
    ? paint({ hasColor }, "bold", title) + "  " +
      (health ? paint({ hasColor }, STATUS_STYLES[health.status], status) : "") + " ".repeat(gap) + facts
    : cut(facts, columns);
  const tabs = TABS.map((name, index) => index === view.tab ? `[${index + 1} ${name}]` : ` ${index + 1} ${name} `).join(
    " ",
  );
  const second = problem === undefined
    ? paint({ hasColor }, "cyan", cut(`${tabs}  tab: next, j k: move, q: quit`, columns))
    : paint({ hasColor }, "red", cut(printable(problem), columns));
  return [first, second, ""];
}

function scrolled([title = "", ...lines]: readonly string[], { view, rows }: { view: View; rows: number }): string[] {
  return [title, ...lines.slice(view.offset, view.offset + rows - 1)];
}

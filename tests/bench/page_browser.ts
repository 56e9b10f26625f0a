import { Browser, type DebugSession, type Page } from "../support/browser.ts";
import { cpuMs, sleep } from "./process.ts";

/** CPU time in percent of one core. */
export interface BrowserCpu {
  /** Runs the page's script, style and layout. */
  renderer: number;
  /** Draws; in software where there is no graphics card. */
  gpu: number;
}

/** A desktop screen: most rows are seen. */
const SCREEN = { width: 1280, height: 800 };
/** Notes when the first value is seen: the time since the page was asked for. */
const WATCH = `addEventListener("DOMContentLoaded", () => {
  const look = () => {
    const value = document.querySelector(".now-value");
    if (value && /\\d/.test(value.textContent)) globalThis.firstValueMs = performance.now();
    else requestAnimationFrame(look);
  };
  look();
});`;
const LOADED = `new Promise((resolve) => {
  const look = () => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    if (paint && globalThis.firstValueMs) resolve([paint.startTime, globalThis.firstValueMs]);
    else setTimeout(look, 20);
  };
  look();
})`;

/** A page in a browser of its own, with its figures. */
export class MeasuredPage implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #whole: DebugSession;
  readonly #page: Page;
  readonly #debug: DebugSession;
  /** What the console said, and errors. */
  readonly messages: string[] = [];
  /** From the request of the page, milliseconds. */
  readonly firstPaintMs: number;
  /** From the request of the page, milliseconds. */
  readonly firstValueMs: number;

  private constructor(
    parts: { browser: Browser; whole: DebugSession; page: Page; debug: DebugSession; times: number[] },
  ) {
    this.#browser = parts.browser;
    this.#whole = parts.whole;
    this.#page = parts.page;
    this.#debug = parts.debug;
    [this.firstPaintMs = NaN, this.firstValueMs = NaN] = parts.times;
  }

  /** Opens the view Now of the server at an address with an empty cache. */
  static async open(url: string): Promise<MeasuredPage> {
    const browser = await Browser.start();
    const whole = await browser.newDebugSession();
    const page = await browser.newPage();
    await page.setViewportSize(SCREEN);
    await page.addInitScript({ content: WATCH });
    await page.goto(url);
    const times = await page.evaluate(LOADED);
    const debug = await page.context().newCDPSession(page);
    if (!Array.isArray(times)) throw new Error("the page gave no times");
    return new MeasuredPage({ browser, whole, page, debug, times });
  }

  /** Shows another view, such as `bus`. */
  async show(view: string): Promise<void> {
    await this.#page.evaluate(`void (location.hash = "#/${view}")`);
  }

  async click(selector: string): Promise<void> {
    await this.#page.locator(selector).click();
  }

  /** CPU of the browser's processes over a time. */
  async cpu(ms: number): Promise<BrowserCpu> {
    const before = await this.#cpuMs();
    const startMs = performance.now();
    await sleep(ms);
    const after = await this.#cpuMs();
    const share = (type: string) =>
      100 * ((after.get(type) ?? 0) - (before.get(type) ?? 0)) / (performance.now() - startMs);
    return { renderer: share("renderer"), gpu: share("GPU") };
  }

  /** Intervals of animation frames over a time, milliseconds. */
  async frames(ms: number): Promise<number[]> {
    const intervals = await this.#page.evaluate(`new Promise((resolve) => {
      const intervals = [];
      let [first, last] = [undefined, undefined];
      const next = (nowMs) => {
        if (last !== undefined) intervals.push(nowMs - last);
        first ??= nowMs;
        last = nowMs;
        if (nowMs - first < ${ms}) requestAnimationFrame(next);
        else resolve(intervals);
      };
      requestAnimationFrame(next);
    })`);
    return Array.isArray(intervals) ? intervals.map(Number) : [];
  }

  /** JavaScript heap that is in use after a garbage collection, megabytes. */
  async heapMb(): Promise<number> {
    // What the first one finalizes, the second one frees.
    for (let i = 0; i < 2; i++) await this.#debug.send("HeapProfiler.collectGarbage");
    const usage = await this.#debug.send("Runtime.getHeapUsage");
    return Number(memberOf(usage, "usedSize")) / 1e6;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser[Symbol.asyncDispose]();
  }

  /** CPU time of each kind of process. */
  async #cpuMs(): Promise<Map<string, number>> {
    const processes = memberOf(await this.#whole.send("SystemInfo.getProcessInfo"), "processInfo");
    const sums = new Map<string, number>();
    for (const each of Array.isArray(processes) ? processes : []) {
      const type = String(memberOf(each, "type"));
      sums.set(type, (sums.get(type) ?? 0) + cpuMs(Number(memberOf(each, "id"))));
    }
    return sums;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

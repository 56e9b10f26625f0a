import { createRequire } from "node:module";
import { join } from "node:path";
import { allowed, findProgram, type Needs } from "./needs.ts";

/** A page of a browser, as far as tests need it. */
export interface Page {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  /** Runs a script in the page; gives what it resolves with. */
  evaluate(script: string): Promise<unknown>;
  /** Is called for each message of the console, and each error that nobody has caught. */
  on(event: "console", listener: (message: ConsoleMessage) => void): unknown;
  on(event: "pageerror", listener: (error: Error) => void): unknown;
  on(event: "request", listener: (request: { url(): string }) => void): unknown;
  locator(selector: string): Locator;
  screenshot(options: { path: string }): Promise<unknown>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(media: { colorScheme: "light" | "dark" }): Promise<void>;
  /** Runs a script in every document before its own ones. */
  addInitScript(script: { content: string }): Promise<unknown>;
  context(): {
    setOffline(isOffline: boolean): Promise<void>;
    newCDPSession(page: Page): Promise<DebugSession>;
  };
  close(): Promise<void>;
}

/** A message of the console. */
export interface ConsoleMessage {
  text(): string;
  /** `error`, `warning`, `log`, … */
  type(): string;
  /** The script that wrote it, or what could not be loaded. */
  location(): { url: string };
}

/** A connection to the browser's Chrome DevTools Protocol. */
export interface DebugSession {
  send(method: string, params?: Record<string, unknown>): Promise<unknown>;
  detach(): Promise<void>;
}

/** Elements of a page; actions wait until there is one. */
export interface Locator {
  click(): Promise<void>;
  hover(): Promise<void>;
  fill(text: string): Promise<void>;
  press(key: string): Promise<void>;
  count(): Promise<number>;
  /** The texts of all that are there now. */
  allTextContents(): Promise<string[]>;
}

interface Playwright {
  chromium: {
    launch(options: { executablePath: string; args: string[] }): Promise<{
      newPage(): Promise<Page>;
      newBrowserCDPSession(): Promise<DebugSession>;
      close(): Promise<void>;
    }>;
  };
}

const PACKAGE = "playwright-core";
const PROGRAM = "chromium";
/** Where npm installs globally. */
const GLOBAL_FOLDERS = ["/usr/local/lib/node_modules", "/usr/lib/node_modules"];

/** Whether the package is installed with which tests drive a browser. */
export function hasPlaywright(): boolean {
  return packageFolder(PACKAGE) !== undefined;
}

/** What a test in a browser cannot do without. */
export const BROWSER_NEEDS: Needs = {
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: [PROGRAM],
  others: { [`npm package "${PACKAGE}"`]: hasPlaywright() },
};

/** A page that a test opened, with everything that must not happen in one of ours. */
export interface OpenedPage {
  page: Page;
  /** What the console said, and errors that nobody caught. */
  messages: string[];
  /** Addresses of requests to other servers. */
  foreign: string[];
}

/** What a page is looked at with. */
export interface Screen {
  /** CSS pixels. */
  width: number;
  /** CSS pixels. */
  height: number;
  colorScheme: "light" | "dark";
}

/** Opens an address in a new page; on a phone unless told otherwise. */
export async function openPage(
  browser: Browser,
  url: string,
  { width, height, colorScheme }: Screen = { width: 390, height: 844, colorScheme: "light" },
): Promise<OpenedPage> {
  const page = await browser.newPage();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  const messages: string[] = [];
  const foreign: string[] = [];
  const { origin } = new URL(url);
  page.on("console", (said) => messages.push(said.text()));
  page.on("pageerror", (error) => messages.push(String(error)));
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.origin !== origin && asked.protocol !== "data:" && asked.protocol !== "blob:") foreign.push(asked.href);
  });
  await page.goto(url);
  return { page, messages, foreign };
}

/** A real browser without a window. */
export class Browser implements AsyncDisposable {
  /** A page in a profile of its own: nothing is cached. */
  readonly newPage: () => Promise<Page>;
  /** For what the whole browser is asked. */
  readonly newDebugSession: () => Promise<DebugSession>;
  readonly #close: () => Promise<void>;

  private constructor(
    { newPage, newDebugSession, close }: {
      newPage: () => Promise<Page>;
      newDebugSession: () => Promise<DebugSession>;
      close: () => Promise<void>;
    },
  ) {
    this.newPage = newPage;
    this.newDebugSession = newDebugSession;
    this.#close = close;
  }

  /** Starts it; `hosts` are names that it takes for this machine. */
  static async start({ hosts = [] }: { hosts?: readonly string[] } = {}): Promise<Browser> {
    const folder = packageFolder(PACKAGE) ?? "";
    const playwright: unknown = createRequire(join(folder, "noop.js"))(folder);
    if (!isPlaywright(playwright)) throw new Error(`${folder} is no ${PACKAGE}`);
    const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(",");
    const browser = await playwright.chromium.launch({
      executablePath: findProgram(PROGRAM) ?? PROGRAM,
      // Its own sandbox cannot be had by root, nor inside most containers.
      args: ["--no-sandbox", `--host-resolver-rules=${rules}`],
    });
    return new Browser({
      newPage: () => browser.newPage(),
      newDebugSession: () => browser.newBrowserCDPSession(),
      close: () => browser.close(),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** Folder of a package that npm installed globally. */
export function packageFolder(name: string): string | undefined {
  if (!allowed("read")) return undefined;
  return GLOBAL_FOLDERS.map((folder) => join(folder, name)).find((folder) => {
    try {
      return Deno.statSync(folder).isDirectory;
    } catch {
      return false;
    }
  });
}

function isPlaywright(value: unknown): value is Playwright {
  return typeof value === "object" && value !== null && "chromium" in value;
}

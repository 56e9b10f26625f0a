import { createRequire } from "node:module";
import { join } from "node:path";
import { allowed, findProgram } from "./needs.ts";

/** A page of a browser, as far as tests need it. */
export interface Page {
  goto(url: string): Promise<unknown>;
  /** Runs a script in the page; gives what it resolves with. */
  evaluate(script: string): Promise<unknown>;
  close(): Promise<void>;
}

interface Playwright {
  chromium: {
    launch(options: { executablePath: string; args: string[] }): Promise<{
      newPage(): Promise<Page>;
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
  return packageFolder() !== undefined;
}

/** A real browser without a window. */
export class Browser implements AsyncDisposable {
  readonly newPage: () => Promise<Page>;
  readonly #close: () => Promise<void>;

  private constructor({ newPage, close }: { newPage: () => Promise<Page>; close: () => Promise<void> }) {
    this.newPage = newPage;
    this.#close = close;
  }

  /** Starts it; `hosts` are names that it takes for this machine. */
  static async start({ hosts }: { hosts: readonly string[] }): Promise<Browser> {
    const folder = packageFolder() ?? "";
    const playwright: unknown = createRequire(join(folder, "noop.js"))(folder);
    if (!isPlaywright(playwright)) throw new Error(`${folder} is no ${PACKAGE}`);
    const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(",");
    const browser = await playwright.chromium.launch({
      executablePath: findProgram(PROGRAM) ?? PROGRAM,
      // Its own sandbox cannot be had by root, nor inside most containers.
      args: ["--no-sandbox", `--host-resolver-rules=${rules}`],
    });
    return new Browser({ newPage: () => browser.newPage(), close: () => browser.close() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

function packageFolder(): string | undefined {
  if (!allowed("read")) return undefined;
  return GLOBAL_FOLDERS.map((folder) => join(folder, PACKAGE)).find((folder) => {
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

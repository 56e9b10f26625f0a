import { pause } from "@vessel/gateway/base";
import { rowsOf } from "../program/live_screen.ts";
import { cut } from "../program/table.ts";
import { type Output, paint } from "../program/terminal.ts";
import { advised, mayPass } from "./server_advice.ts";
import type { ServerContext } from "./server_command.ts";

/** Time between two requests. */
const WATCH_MS = 1000;
const CLEAR = "\u001b[H\u001b[2J";
const HOME = "\u001b[H";
const ERASE_LINE_END = "\u001b[K";
const ERASE_BELOW = "\u001b[J";

/**
 * Polls the server each second until the command is stopped. Transient failures are reported and retried; the first
 * poll must succeed.
 *
 * @param poll requests and shows the data once
 * @param onFailure gets each transient failure, with advice
 * @param skipsFirst the first poll was done already: begin with the pause
 */
export async function pollServer(
  { signal }: Pick<ServerContext, "signal">,
  { poll, onFailure, skipsFirst = false }: {
    poll: () => Promise<void>;
    onFailure: (error: Error) => Promise<void> | void;
    skipsFirst?: boolean;
  },
): Promise<never> {
  if (!skipsFirst) await poll();
  for (;;) {
    await pause(WATCH_MS, signal);
    try {
      await poll();
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error)) throw error;
      await onFailure(advised(error));
    }
  }
}

/** Shows the text of a function each second; on a terminal it is redrawn in place. */
export async function watch(
  { output, status, signal, environment }: ServerContext,
  makeText: () => Promise<string>,
): Promise<never> {
  let last: string | undefined;
  const show = async (text: string) => {
    if (output.isTerminal) {
      await output.write((last === undefined ? CLEAR : HOME) + fitted(text, { output, rows: rowsOf(environment) }));
    } else if (text !== last) await output.write(`${last === undefined ? "" : "\n"}${text}\n`);
    await output.flush();
  };
  return await pollServer({ signal }, {
    poll: async () => {
      const text = await makeText();
      await show(text);
      last = text;
    },
    onFailure: async (error) => {
      if (output.isTerminal) await show(`${paint(output, "red", cut(error.message, output.columns))}\n${last ?? ""}`);
      else await status.write(`${error.message}\n`);
    },
  });
}

/** The first lines of a text, as many as the terminal has, and the number of hidden ones. */
function fitted(text: string, { output, rows }: { output: Output; rows: number }): string {
  const lines = text.split("\n");
  const available = rows - 1;
  const shown = lines.length <= available ? lines : [
    ...lines.slice(0, available - 1),
    paint(output, "dim", `… and ${lines.length - available + 1} more lines`),
  ];
  return shown.map((line) => `${line}${ERASE_LINE_END}\n`).join("") + ERASE_BELOW;
}

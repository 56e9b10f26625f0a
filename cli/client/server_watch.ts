import { pause } from "@vessel/gateway/base";
import { advised, mayPass } from "./server_advice.ts";
import type { Asking } from "./server_command.ts";
import { cut } from "../program/table.ts";
import { type Output, paint } from "../program/terminal.ts";
import { rowsOf } from "../program/live_screen.ts";

/** Time between two requests. */
const WATCH_MS = 1000;
const CLEAR = "\u001b[H\u001b[2J";
const HOME = "\u001b[H";
const ERASE_LINE_END = "\u001b[K";
const ERASE_BELOW = "\u001b[J";

/**
 * Asks the server again and again until the command is stopped. Failures that may pass are reported and tried again; the
 * first request must succeed.
 *
 * @param look asks once and shows the answer
 * @param lost gets each failure after the first answer, with its reason
 * @param hasLooked true: there was an answer already, and the next request is made after the pause
 */
export async function pollServer(
  { signal }: Pick<Asking, "signal">,
  { look, lost, hasLooked = false }: {
    look: () => Promise<void>;
    lost: (error: Error) => Promise<void> | void;
    hasLooked?: boolean;
  },
): Promise<never> {
  if (!hasLooked) await look();
  for (;;) {
    await pause(WATCH_MS, signal);
    try {
      await look();
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error)) throw error;
      await lost(advised(error));
    }
  }
}

/** Shows what a function tells, on a terminal always in the same place. */
export async function watch(
  { output, status, signal, environment }: Asking,
  tell: () => Promise<string>,
): Promise<never> {
  let last: string | undefined;
  const show = async (text: string) => {
    if (output.isTerminal) {
      await output.write((last === undefined ? CLEAR : HOME) + fitted(text, { output, rows: rowsOf(environment) }));
    } else if (text !== last) await output.write(`${last === undefined ? "" : "\n"}${text}\n`);
    await output.flush();
  };
  return await pollServer({ signal }, {
    look: async () => {
      const text = await tell();
      await show(text);
      last = text;
    },
    lost: async (error) => {
      if (output.isTerminal) await show(`${paint(output, "red", cut(error.message, output.columns))}\n${last ?? ""}`);
      else await status.write(`${error.message}\n`);
    },
  });
}

/** The first lines of a text, as many as the terminal has; what is not shown is told. */
function fitted(text: string, { output, rows }: { output: Output; rows: number }): string {
  const lines = text.split("\n");
  const room = rows - 1;
  const shown = lines.length <= room ? lines : [
    ...lines.slice(0, room - 1),
    paint(output, "dim", `… and ${lines.length - room + 1} more lines`),
  ];
  return shown.map((line) => `${line}${ERASE_LINE_END}\n`).join("") + ERASE_BELOW;
}

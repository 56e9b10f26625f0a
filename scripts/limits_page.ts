import { boatOptions } from "../cli/boat_options.ts";
import { cloudOptions } from "../cli/cloud_options.ts";
import type { Option } from "../cli/options.ts";

/** What the page shows of an option. */
type LimitRow = Pick<Option<unknown>, "name" | "keys" | "help" | "defaultText" | "beyond">;

/** A limit that no setting changes. */
interface FixedLimit {
  what: string;
  limit: string;
  beyond: string;
}

/** Limits of both servers that are constants. */
const FIXED: readonly FixedLimit[] = [
  {
    what: "Entries of a list in a request body, values of a query parameter",
    limit: "256; 64 messages of /send",
    beyond: "400 with the name of the list; entries are not looked at.",
  },
  { what: "Requests for /history that wait for their turn", limit: "32", beyond: "503 with Retry-After." },
  {
    what: "Time that the client of /history may take nothing",
    limit: "30 s",
    beyond: "The reply ends incomplete, and its turn goes to the next request.",
  },
  {
    what: "Buffers of the HTTP server for a stream whose client does not read, counted in stream-memory",
    limit: "512 KiB",
    beyond: "The stream's queue takes what comes; see stream-buffer-bytes and stream-memory.",
  },
  {
    what: "Messages that a WebSocket client has not read",
    limit: "64 frames while it does not read; 256 answers",
    beyond: "Frames wait in the stream's queue; a client that does not read answers is closed with 1008.",
  },
];

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function settingsTable(options: readonly LimitRow[]): string {
  const rows = options.flatMap(({ name, keys, help, defaultText, beyond }) => {
    if (beyond === undefined) return [];
    const setting = keys[0] === name || keys[0] === undefined ? `\`-${name}\`` : `\`-${name}\`, \`${keys[0]}\``;
    return [row([setting, defaultText === "" ? "none" : defaultText, help, beyond])];
  });
  return ["| Flag, key | Default | What it limits | Beyond it |", "|---|---|---|---|", ...rows].join("\n");
}

function fixedTable(): string {
  const rows = FIXED.map(({ what, limit, beyond }) => row([what, limit, beyond]));
  return ["| What | Limit | Beyond it |", "|---|---|---|", ...rows].join("\n");
}

/** The page that lists every limit of both servers. */
export function limitsPage(): string {
  return [
    "<!-- Printed by scripts/docs.ts from the options tables. Do not edit. -->",
    "# Limits",
    "Every limit of the servers: its flag and configuration key, its default, and what happens beyond it. Reaching a limit never ends a server and never affects recording.",
    "## vbg-boat",
    settingsTable(Object.values(boatOptions)),
    "## vbg-cloud",
    settingsTable(Object.values(cloudOptions)),
    "## Fixed limits",
    fixedTable(),
  ].join("\n\n") + "\n";
}

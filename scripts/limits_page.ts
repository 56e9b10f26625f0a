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
    what: "Time of a connection beyond -max-handshakes-per-address to finish TLS and its first request header",
    limit: "2 s",
    beyond: "The connection is closed.",
  },
  {
    what: "Calls under way on one gRPC connection",
    limit: "16",
    beyond: "A further call waits at the client.",
  },
  {
    what: "Messages read of a gRPC call without a valid certificate",
    limit: "0",
    beyond: "The call is answered at its headers and reset; its connection is closed half a second later.",
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

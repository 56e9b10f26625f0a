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
    what: "Digests of a recording that a boat keeps and sends",
    limit: "64 windows of 65 536 numbers; blocks below 256 KiB keep one for each 4 KiB",
    beyond: "The oldest windows are not compared any more",
  },
  {
    what: "Former epochs whose frames a boat offers its cloud",
    limit: "the 16 newest",
    beyond: "Older ones stay on the boat until a newer one is deleted there",
  },
  {
    what: "Former epochs of one boat that a cloud keeps account of",
    limit: "16",
    beyond: "Others are refused, which `former_epochs` of the boat's status says",
  },
  {
    what: "Ranges of one former epoch that a cloud keeps",
    limit: "1024 held, 1024 skipped, 64 lost",
    beyond: "Blocks that would make one more are refused until holes are filled; further gaps stay holes",
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

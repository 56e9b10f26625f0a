import { boatOptions } from "../cli/settings/boat_options.ts";
import { cloudOptions } from "../cli/settings/cloud_options.ts";
import type { Option } from "../cli/settings/options.ts";
import { FIXED_LIMITS } from "./fixed_limits.ts";

/** The part of an option shown on the page. */
type LimitRow = Pick<Option<unknown>, "name" | "keys" | "help" | "defaultText" | "beyond">;

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
  const rows = FIXED_LIMITS.map(({ what, limit, beyond }) => row([what, limit, beyond]));
  return ["| What | Limit | Beyond it |", "|---|---|---|", ...rows].join("\n");
}

/** The page that lists every limit. */
export function limitsPage(): string {
  return [
    "<!-- Printed by scripts/docs.ts from the options tables. Do not edit. -->",
    "# Limits",
    "Every limit of the servers, and of `vbg` where a boat can reach it: its flag and configuration key, its default, and what happens beyond it. Reaching a limit never ends a server. Only the limits of the journal affect recording, and the journal records what is missing.",
    "## vbg-boat",
    settingsTable(Object.values(boatOptions)),
    "## vbg-cloud",
    settingsTable(Object.values(cloudOptions)),
    "## Fixed limits",
    fixedTable(),
  ].join("\n\n") + "\n";
}

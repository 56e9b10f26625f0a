import type { CompletedFlag, CompletedPlace } from "./table.ts";

/** Flags of one command that take the same kind of value. */
type Kind = CompletedFlag["value"]["kind"];

/** For bash 3.2 and later, with or without the package bash-completion. */
export function bashCompletion(places: readonly CompletedPlace[]): string {
  const programs = programsOf(places);
  const words = places.map(({ words, flags, commands, takesFiles }) =>
    `    ${quote(words)}) flags=${quote(names(flags))} commands=${
      quote(commands.map(({ name }) => name).join(" "))
    } files=${takesFiles ? 1 : ""} ;;`
  );
  return `# Completion of ${programs.join(", ")} for bash: eval "$(vbg completion bash)"
_vbg() {
  local at="\${COMP_WORDS[0]##*/}" cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" i
  local flags= commands= files= IFS=$' \\t\\n'
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${commandPatterns(places)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$at \${prev/#--/-}" in
${
    valueCases(places, {
      choices: (list) => `COMPREPLY=($(compgen -W ${quote(list.join(" "))} -- "$cur")); return`,
      files: "_vbg_files; return",
      any: "return",
    })
  }
  esac
  case "$at" in
${words.join("\n")}
  esac
  case "$cur" in
    --*) COMPREPLY=($(compgen -P - -W "$flags" -- "\${cur#-}")) ;;
    -*) COMPREPLY=($(compgen -W "$flags" -- "$cur")) ;;
    *) if [[ -n $files ]]; then _vbg_files; else COMPREPLY=($(compgen -W "$commands" -- "$cur")); fi ;;
  esac
}
_vbg_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _vbg ${programs.join(" ")}
`;
}

/** For zsh. */
export function zshCompletion(places: readonly CompletedPlace[]): string {
  const programs = programsOf(places);
  const described = (rows: readonly { name: string; help: string }[]) =>
    rows.map(({ name, help }) => `\n      ${quote(`${name.replaceAll(":", "\\:")}:${help}`)}`).join("");
  const words = places.map(({ words, flags, commands, takesFiles }) =>
    `    ${quote(words)})
      flags=(${described(flags.map(({ name, help }) => ({ name: `-${name}`, help })))})
      commands=(${described(commands.map(({ name, summary }) => ({ name, help: summary })))})
      files=${takesFiles ? 1 : ""} ;;`
  );
  return `#compdef ${programs.join(" ")}
# Completion of ${programs.join(", ")} for zsh: eval "$(vbg completion zsh)"
_vbg() {
  local at="\${words[1]:t}" prev="\${words[CURRENT-1]}" files=
  local -a flags commands
  integer i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      ${commandPatterns(places)}) at="$at \${words[i]}" ;;
    esac
  done
  case "$at \${prev/#--/-}" in
${
    valueCases(places, {
      choices: (list) => `compadd -- ${list.map(quote).join(" ")}; return`,
      files: "_files; return",
      any: "_message value; return",
    })
  }
  esac
  case "$at" in
${words.join("\n")}
  esac
  if [[ $PREFIX == --* ]]; then
    flags=("-\${^flags[@]}")
    _describe -o flag flags
  elif [[ $PREFIX == -* ]]; then
    _describe -o flag flags
  elif [[ -n $files ]]; then
    _files
  else
    _describe command commands
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _vbg "$@"
else
  compdef _vbg ${programs.join(" ")}
fi
`;
}

/** For fish. */
export function fishCompletion(places: readonly CompletedPlace[]): string {
  const programs = programsOf(places);
  const lines = places.flatMap(({ words, flags, commands, takesFiles }) => {
    const [program = ""] = words.split(" ");
    const start = `complete -c ${program} -n ${fishQuote(`__vbg_at ${fishQuote(words)}`)}`;
    return [
      `${start} ${takesFiles ? "-F" : "-f"}`,
      ...commands.map(({ name, summary }) => `${start} -a ${fishQuote(name)} -d ${fishQuote(summary)}`),
      ...flags.map((flag) => `${start} -o ${fishQuote(flag.name)} -d ${fishQuote(flag.help)}${fishValue(flag)}`),
    ];
  });
  const commands = places.filter(({ words }) => words.includes(" ")).map(({ words }) => fishQuote(words));
  return `# Completion of ${programs.join(", ")} for fish: vbg completion fish | source
set -g __vbg_commands ${commands.join(" ")}
function __vbg_at
    set -l words (commandline -opc)
    set -l at (string replace -r '.*/' '' -- $words[1])
    set -e words[1]
    for word in $words
        contains -- "$at $word" $__vbg_commands; and set at "$at $word"
    end
    test "$at" = "$argv[1]"
end
${lines.join("\n")}
`;
}

function fishValue({ value }: CompletedFlag): string {
  switch (value.kind) {
    case "none":
      return "";
    case "any":
      return " -x";
    case "files":
      return " -r -F";
    case "choices":
      return ` -x -a ${fishQuote(value.choices.join(" "))}`;
  }
}

function programsOf(places: readonly CompletedPlace[]): string[] {
  return places.map(({ words }) => words).filter((words) => !words.includes(" "));
}

function names(flags: readonly CompletedFlag[]): string {
  return flags.map(({ name }) => `-${name}`).join(" ");
}

function commandPatterns(places: readonly CompletedPlace[]): string {
  return places.map(({ words }) => words).filter((words) => words.includes(" ")).map(quote).join(" | ");
}

/** Rows of a `case` over a command and the flag before the cursor: the values that may follow. */
function valueCases(
  places: readonly CompletedPlace[],
  actions: { choices: (list: readonly string[]) => string; files: string; any: string },
): string {
  return places.flatMap(({ words, flags }) => {
    const patterns = (kind: Kind) =>
      flags.filter(({ value }) => value.kind === kind).map(({ name }) => quote(`${words} -${name}`)).join(" | ");
    const chosen = flags.flatMap(({ name, value }) =>
      value.kind === "choices" ? [`    ${quote(`${words} -${name}`)}) ${actions.choices(value.choices)} ;;`] : []
    );
    const others = ([["files", actions.files], ["any", actions.any]] as const)
      .filter(([kind]) => patterns(kind) !== "")
      .map(([kind, action]) => `    ${patterns(kind)}) ${action} ;;`);
    return [...chosen, ...others];
  }).join("\n");
}

/** Quotes a word for bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a word for fish. */
function fishQuote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

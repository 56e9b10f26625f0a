/** Style of the page. */
export const STYLE = `
:root { color-scheme: light dark; --ground: #f3f6f9; --card: #fff; --text: #0d1b2a; --quiet: #4a5a6a; --line: #c9d3dd; --good: #0f6b35; --warn: #8a4b00; --bad: #b01212; }
@media (prefers-color-scheme: dark) { :root { --ground: #0a131d; --card: #122130; --text: #f1f6fb; --quiet: #a9bac9; --line: #2b3f52; --good: #5fd38a; --warn: #ffb454; --bad: #ff8d85; } }
@media print { :root { --ground: #fff; --card: #fff; --text: #000; } section { break-inside: avoid-page; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem 3rem; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 0 0 0.6rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: 0.4rem 0; }
header p, .quiet { color: var(--quiet); }
.note { border-left: 4px solid var(--warn); padding-left: 0.7rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1rem; margin-top: 1rem; }
article { border-left: 4px solid var(--line); padding-left: 0.8rem; margin: 0.8rem 0; }
article.bad { border-color: var(--bad); }
article.warn { border-color: var(--warn); }
.tag { display: inline-block; border: 1px solid; border-radius: 0.3rem; padding: 0 0.4rem; font-size: 0.85rem; font-weight: 600; overflow-wrap: normal; white-space: nowrap; }
.good { color: var(--good); }
.warn > h3 .tag, .tag.warn { color: var(--warn); }
.bad > h3 .tag, .tag.bad { color: var(--bad); }
.tag.quiet { color: var(--quiet); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
td { overflow-wrap: normal; }
.number { font-variant-numeric: tabular-nums; }
`;

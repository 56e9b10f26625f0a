import { functionsOf, importsOf, lineAt, type Source } from "./source.ts";

/** A house rule that is judged file by file. */
export interface Rule {
  claim: string;
  /** Files it holds for. */
  where: (path: string) => boolean;
  /** Sources that break it. */
  find: (source: Source) => Iterable<Finding>;
  /** `path: text` of files that break it once each, and of files that do not. The rule's own test. */
  bad: [path: string, text: string][];
  good: [path: string, text: string][];
}

/** A place that breaks a rule. */
export interface Finding {
  line: number;
  what: string;
}

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;
/** Packages that touch the environment when they load: only by `await import()`, where they are configured. */
const LAZY =
  /^(?:@grpc\/grpc-js|mqtt|ws|acme-client|@aws-sdk\/.*|@modelcontextprotocol\/.*|@pushcorn\/hocon-parser|playwright-core)$/;

const anywhere = () => true;
const isTest = (path: string) => path.startsWith("tests/");
const isLibrary = (path: string) => path.startsWith("src/") || path === "mod.ts";
const isData = (path: string) => /\.gen\.|\boverlay/.test(path);

/** Finds what `pattern` (with flag g) matches in the code, without comments and strings. */
function inCode(pattern: RegExp): Rule["find"] {
  return ({ code }) => places(code, pattern);
}

function* places(text: string, pattern: RegExp): Iterable<Finding> {
  for (const { 0: what, index } of text.matchAll(pattern)) yield { line: lineAt(text, index), what: what.trim() };
}

/** Finds what `pattern` matches in comments. */
function inComments(pattern: RegExp): Rule["find"] {
  return function* ({ text, comments }) {
    for (const comment of comments) {
      for (const what of comment.text.match(pattern) ?? []) yield { line: lineAt(text, comment.at), what: what.trim() };
    }
  };
}

const lines = (count: number) => Array.from({ length: count }, () => "x();").join("\n");
/** Words that must not stand in this file in one piece. */
const glue = (...parts: string[]) => parts.join("");

/** The house rules of the architecture that one file can break on its own. */
export const RULES: readonly Rule[] = [
  {
    claim: `a file has at most ${MAX_FILE_LINES} lines`,
    where: (path) => !isData(path),
    find: function* ({ text }) {
      const count = text.trimEnd().split("\n").length;
      if (count > MAX_FILE_LINES) yield { line: count, what: `${count} lines` };
    },
    bad: [["src/a/b.ts", lines(401)]],
    good: [["src/a/b.ts", lines(400) + "\n"]],
  },
  {
    claim: `a function has at most ${MAX_FUNCTION_LINES} lines`,
    where: (path) => !isData(path),
    find: function* (source) {
      for (const { line, lines } of functionsOf(source)) {
        if (lines > MAX_FUNCTION_LINES) yield { line, what: `${lines} lines` };
      }
    },
    bad: [["src/a/b.ts", `function f(): void {\n${lines(69)}\n}`], ["tests/b.ts", `t("x", () => {\n${lines(69)}\n});`]],
    good: [["src/a/b.ts", `function f(): void {\n${lines(68)}\n}`], ["src/a/b.ts", `class C {\n${lines(100)}\n}`]],
  },
  {
    claim: "nothing has type any",
    where: anywhere,
    find: inCode(/(?<![.\w$-])any\b(?!\s*[(:=,])/g),
    bad: [["src/a/b.ts", "let a: any;"], ["src/a/b.ts", "f(a as any);"], ["tests/b.ts", "let a: Map<string, any[]>;"]],
    good: [["src/a/b.ts", "await Promise.any(list); // any\nconst many = 'any';"]],
  },
  {
    claim: "no type is forced through unknown",
    where: anywhere,
    find: inCode(/\bas\s+unknown\s+as\b/g),
    bad: [["tests/b.ts", "f(a as unknown as B);"]],
    good: [["src/a/b.ts", "f(a as unknown);"]],
  },
  {
    claim: "no comment puts work off",
    where: anywhere,
    find: inComments(/\b(?:FIXME|TODO|XXX|HACK)\b/g),
    bad: [["src/a/b.ts", "// TODO later"], ["src/a/b.ts", "/* a HACK */"], ["scripts/b.ts", "f(); // FIXME"]],
    good: [["src/a/b.ts", "const TODO = 'XXX';"]],
  },
  {
    claim: "no code is commented out",
    where: anywhere,
    find: inComments(
      /^\/\/\s*(?:(?:const|let|import|export|return|await|throw|if|for|while)\b.*[;{]|[\w.#]+\(.*\);|\}.*)\s*$/g,
    ),
    bad: [["src/a/b.ts", "// const a = 1;"], ["tests/b.ts", "// assert.equal(a, b);"], ["src/a/b.ts", "// if (a) {"]],
    good: [["src/a/b.ts", "// if it is late; for us\n/** `const a = 1;` */"], ["src/a/b.ts", "// return to sender"]],
  },
  {
    claim: "what is private is #private",
    where: anywhere,
    find: inCode(/\b(?:private|protected)\s+(?!constructor\b)[\w#]+/g),
    bad: [["src/a/b.ts", "class C { private a = 1; }"], ["src/a/b.ts", "class C { protected readonly a = 1; }"]],
    good: [["src/a/b.ts", "class C { #a = 1; private constructor() {} } // private part"]],
  },
  {
    claim: "no file has a default export",
    where: anywhere,
    find: inCode(/\bexport\s+default\b|\bas\s+default\b/g),
    bad: [["src/a/b.ts", "export default 1;"], ["src/a/b.ts", "export { a as default };"]],
    good: [["src/a/b.ts", "export const defaults = 1;"]],
  },
  {
    claim: "only the logger and programs print",
    where: (path) => isLibrary(path) && path !== "src/base/log.ts",
    find: inCode(/\bconsole\./g),
    bad: [["src/http/b.ts", "console.log(1);"], ["mod.ts", "f(console.error);"]],
    good: [["cli/b.ts", "console.log(1);"], ["src/base/log.ts", "console.error(1);"]],
  },
  {
    claim: "only the CAN drivers open libraries",
    where: (path) => isLibrary(path) && !path.startsWith("src/can/"),
    find: inCode(/\bDeno\s*\.\s*dlopen\b/g),
    bad: [["src/http/b.ts", "Deno.dlopen(a, b);"]],
    good: [["src/can/b.ts", "Deno.dlopen(a, b);"]],
  },
  {
    claim: "only programs read arguments and environment",
    where: (path) => isLibrary(path),
    find: inCode(/\bDeno\s*\.\s*(?:args|env)\b|\bprocess\s*\.\s*(?:argv|env)\b/g),
    bad: [["src/http/b.ts", "Deno.env.get(a);"], ["src/boat/boat.ts", "f(Deno.args);"]],
    good: [["cli/b.ts", "f(Deno.args);"], ["tests/b.ts", "Deno.env.get(a);"]],
  },
  {
    claim: "nothing outside the tests is declared non-null",
    where: (path) => !isTest(path),
    find: inCode(/[\w)\]>]!(?!=)/g),
    bad: [["src/a/b.ts", "f(a!);"], ["cli/b.ts", "a[0]!.b();"], ["src/a/b.ts", "class C { a!: string; }"]],
    good: [["src/a/b.ts", "if (!a || a !== b || !(c)) f('a!');"], ["tests/b.ts", "f(a!);"]],
  },
  {
    claim: "packages that touch the environment are loaded where they are used",
    // A file of this name does nothing but import a package, and is loaded by its address.
    where: (path) => !path.endsWith("_package.ts"),
    find: function* (source) {
      for (const { at, specifier, kind } of importsOf(source)) {
        if (kind === "static" && (LAZY.test(specifier) || specifier.endsWith("_package.ts"))) {
          yield { line: lineAt(source.text, at), what: specifier };
        }
      }
    },
    bad: [["src/outlets/b.ts", `import { connect } from "mqtt";`], [
      "src/a/b.ts",
      `import { c } from "./c_package.ts";`,
    ]],
    good: [["src/outlets/b.ts", `import type { A } from "mqtt";\nconst { connect } = await import("mqtt");`]],
  },
  {
    claim: "nothing is imported from jsr: or by URL",
    where: anywhere,
    find: function* (source) {
      for (const { at, specifier } of importsOf(source)) {
        if (/^(?:jsr|https?):/.test(specifier)) yield { line: lineAt(source.text, at), what: specifier };
      }
    },
    bad: [["tests/b.ts", `import a from "jsr:@std/assert";`], [
      "src/a/b.ts",
      `const a = await import("https://a.b/c");`,
    ]],
    good: [["tests/b.ts", `import assert from "node:assert/strict";\nfetch("https://a.b");`]],
  },
  {
    claim: "mod.ts holds documentation and exports only",
    where: (path) => path.startsWith("src/") && path.endsWith("/mod.ts"),
    find: function* ({ code, comments }) {
      const rest = code.replace(/\bexport\s+(?:type\s+)?(?:\*|\{[^}]*\})\s*from\s*"[^"]*"\s*;/g, "").trim();
      if (rest !== "") yield { line: lineAt(code, code.indexOf(rest)), what: rest.slice(0, 60) };
      if (!comments[0]?.text.includes("@module")) yield { line: 1, what: "no documentation with @module" };
    },
    bad: [["src/a/mod.ts", `/** A. @module */\nexport const a = 1;`], ["src/a/mod.ts", `export * from "./b.ts";`]],
    good: [["src/a/mod.ts", `/** A.\n * @module */\nexport * from "./b.ts";\nexport { type A, b } from "./c.ts";\n`]],
  },
  {
    claim: "files have names in snake_case",
    where: anywhere,
    find: function* ({ path }) {
      const name = path.split("/").at(-1) ?? "";
      if (!/^[a-z0-9]+(?:_[a-z0-9]+)*(?:\.gen)?\.tsx?$/.test(name)) yield { line: 1, what: name };
    },
    bad: [["src/a/fooBar.ts", ""], ["src/a/foo-bar.ts", ""]],
    good: [["src/a/foo_bar2.ts", ""], ["src/a/c.gen.ts", ""]],
  },
  {
    claim: "the page makes no markup from text",
    where: (path) => path.startsWith("web/"),
    find: inCode(/\b(?:dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write)\b/g),
    bad: [["web/a.tsx", "a.innerHTML = b;"], ["web/a.tsx", "<p dangerouslySetInnerHTML={b} />"]],
    good: [["web/a.tsx", "a.textContent = b;"]],
  },
  {
    claim: "no test is switched off or alone",
    where: (path) => isTest(path) && path !== "tests/support/needs.ts",
    find: inCode(/\.only\s*\(|\bonly\s*:\s*true\b|\bignore\s*:\s*true\b|\bDeno\.test\.ignore\b/g),
    bad: [["tests/b.ts", "Deno.test.only('a', f);"], ["tests/b.ts", "Deno.test({ ignore: true, fn });"]],
    good: [["tests/b.ts", "Deno.test('a', needs({}), f);"]],
  },
  {
    claim: "no file names a path of one machine",
    where: anywhere,
    // A sailor's home is nobody's, and what lies under /root/. is everybody's.
    find: ({ text }) => places(text, /(?<![\w.)\]}])\/(?:home\/(?!sailor\b)|Users\/|root\/(?!\.)|work\/)[\w.-]+/g),
    bad: [["tests/b.ts", `const a = "${glue("/ho", "me/me/a")}";`], ["src/a/b.ts", `// ${glue("/wo", "rk/main")}`]],
    good: [["src/a/b.ts", `const a = "https://a.b/home/c"; // ~/.local/state`], ["tests/b.ts", "f('/home/sailor/a');"]],
  },
];

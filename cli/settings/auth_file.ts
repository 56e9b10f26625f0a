import { errorText } from "@vessel/gateway/base";
import { nearest } from "@vessel/gateway/units";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type AccessToken, type Scope, SCOPES } from "@vessel/gateway/boat";

const KEYS = ["name", "sha256", "scopes", "instances"];
const INSTANCE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Name of the API key in log lines. */
const API_KEY_NAME = "api-key";

/** Settings of tokens. */
export interface TokenSettings {
  /** Empty: none. */
  authFile: string;
  /** Empty: none. */
  apiKey: string;
}

/**
 * The tokens of the file, and the API key with all scopes. An empty list: every request is allowed.
 *
 * @throws {RangeError} the file cannot be read or used; the message names file and position and contains no secret
 */
export function readTokens({ authFile, apiKey }: TokenSettings): AccessToken[] {
  const tokens = authFile === "" ? [] : readAuthFile(authFile);
  if (apiKey === "") return tokens;
  const sha256 = createHash("sha256").update(apiKey).digest("hex");
  return [...tokens, { name: API_KEY_NAME, sha256, scopes: SCOPES }];
}

/** Names of the settings whose tokens differ, for the log. */
export function changedTokens(before: readonly AccessToken[], now: readonly AccessToken[]): string[] {
  return isDeepStrictEqual(before, now) ? [] : ["auth-file"];
}

/** True if the group may write the file, or others may access it. */
export function isWideOpen(path: string): boolean {
  return ((Deno.statSync(path).mode ?? 0) & 0o037) !== 0;
}

function readAuthFile(path: string): AccessToken[] {
  const inFile = (reason: string) => new RangeError(`${path}: ${reason}`);
  try {
    return parseTokens(JSON.parse(Deno.readTextFileSync(path)));
  } catch (error) {
    // The parser's message quotes the file.
    if (error instanceof SyntaxError) throw inFile("is not JSON");
    throw inFile(errorText(error));
  }
}

/**
 * Reads a list of tokens, or `{tokens: [...]}`.
 *
 * @throws {RangeError} naming the position
 */
export function parseTokens(value: unknown): AccessToken[] {
  const list = isSection(value) ? only(value, { known: ["tokens"], place: "the file" }).tokens : value;
  if (!Array.isArray(list)) throw new RangeError("expected a list of tokens, or { tokens: [...] }");
  if (list.length === 0) throw new RangeError("has no token: omit the setting to allow every request");
  const tokens = list.map((each: unknown, index) => parseToken(each, `tokens[${index}]`));
  for (const key of ["name", "sha256"] as const) {
    const twice = tokens.findIndex((token, index) => tokens.findIndex((each) => each[key] === token[key]) < index);
    if (twice >= 0) throw new RangeError(`tokens[${twice}].${key}: duplicate`);
  }
  return tokens;
}

function parseToken(value: unknown, place: string): AccessToken {
  if (!isSection(value)) throw new RangeError(`${place}: expected an object with ${KEYS.join(", ")}`);
  if ("token" in value) {
    throw new RangeError(`${place}.token: give its digest as sha256, made by: printf %s TOKEN | sha256sum`);
  }
  const { name, sha256, scopes, instances } = only(value, { known: KEYS, place });
  if (typeof name !== "string" || name.trim() === "") throw new RangeError(`${place}.name: expected a text`);
  if (typeof sha256 !== "string" || !/^[\da-f]{64}$/i.test(sha256)) {
    throw new RangeError(`${place}.sha256: expected 64 hex digits, made by: printf %s TOKEN | sha256sum`);
  }
  return {
    name,
    sha256: sha256.toLowerCase(),
    scopes: parseScopes(scopes, `${place}.scopes`),
    ...(instances !== undefined && { instances: parseInstances(instances, `${place}.instances`) }),
  };
}

function parseScopes(value: unknown, place: string): Scope[] {
  const words = `expected a list of ${SCOPES.join(", ")}`;
  if (!Array.isArray(value) || value.length === 0) throw new RangeError(`${place}: ${words}`);
  return value.map((each: unknown, index) => {
    const scope = SCOPES.find((known) => known === each);
    if (scope === undefined) throw new RangeError(`${place}[${index}]: cannot use ${JSON.stringify(each)}: ${words}`);
    return scope;
  });
}

function parseInstances(value: unknown, place: string): string[] {
  if (!Array.isArray(value)) throw new RangeError(`${place}: expected a list of instance ids`);
  return value.map((each: unknown, index) => {
    if (typeof each === "string" && INSTANCE_ID.test(each)) return each;
    throw new RangeError(`${place}[${index}]: cannot use ${JSON.stringify(each)}: expected an instance id`);
  });
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The section, if all its keys are known. */
function only(
  section: Record<string, unknown>,
  { known, place }: { known: readonly string[]; place: string },
): Record<string, unknown> {
  const unknown = Object.keys(section).find((key) => !known.includes(key));
  if (unknown === undefined) return section;
  throw new RangeError(`${place}: unknown key "${unknown}": did you mean "${nearest(unknown, known)}"?`);
}

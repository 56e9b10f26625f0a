import { createHash, timingSafeEqual } from "node:crypto";
import { type ListenAddress, type Logger, silentLogger } from "../base/mod.ts";
import { maySend, mayUseSession } from "./origin.ts";
import { ApiError } from "./reply.ts";

/** Scopes that a token may have. */
export const SCOPES = ["read", "send", "admin"] as const;

/** One scope of a token. No scope includes another. */
export type Scope = typeof SCOPES[number];

/** An access token. The server stores only its digest. */
export interface AccessToken {
  /** Name of the token, for the log. */
  name: string;
  /** SHA-256 of the token in UTF-8, 64 hex digits. */
  sha256: string;
  /** Scopes that the token grants. */
  scopes: readonly Scope[];
  /** Instances of a cloud that the token may access; default all. A boat ignores it. */
  instances?: readonly string[];
}

/** Which clients may do what. */
export interface AccessRules {
  /** Without tokens every client has every scope. */
  tokens?: readonly AccessToken[];
  /** Other origins whose pages may send and use sessions, `scheme://host[:port]` in lower case; `*`: all. */
  allowOrigins?: readonly string[];
}

/** The client of a request. */
export interface Caller {
  /** Name of the token; undefined when the server has no tokens. */
  name: string | undefined;
  /** Address of the client; empty when the request did not come over a network. */
  address: string;
  /** Scopes under the current rules; empty when the token has been removed. */
  readonly scopes: readonly Scope[];
  /** Visible instances of a cloud under the current rules; undefined: all. */
  readonly instances: readonly string[] | undefined;
  /** False for a page of another origin, which may read but not send; under the current rules. */
  readonly originAllowed: boolean;
}

/** Why a request was refused: no token, an unknown token, a token without the scope, or a page of another origin. */
export type AccessFailure = "missing" | "unknown" | "scope" | "origin";

/** Error text for a page of another origin that sends. */
export const FOREIGN_ORIGIN = "send from another origin is not allowed";

/** Error text for a page that may not use a session. */
const FOREIGN_SESSION =
  "sessions are closed to pages of other origins, and to GET by a public name over plain HTTP: send the token in a " +
  "header, or see -allow-origins";

/** Query parameter for the token, for browser APIs that cannot set headers: EventSource, WebSocket. */
export const TOKEN_PARAMETER = "access_token";
/** The same as clients of Signal K name it, below a path of Signal K only. */
const SIGNALK_TOKEN_PARAMETER = "token";
const SIGNALK_PATH = /\/signalk\/v[12]\//;

interface AccessOptions {
  log?: Logger;
  isOverTls?: boolean;
}

/** What a request needs to be admitted. */
interface Need {
  scope: Scope;
  /** No token is needed; default false. */
  isOpen?: boolean;
  /** The request uses a session: see {@linkcode mayUseSession}. A known token in a header admits every page. */
  ofSession?: boolean;
  /** The client; undefined when the request did not come over a network. */
  from: ListenAddress | undefined;
}

/** Access control: checks the token, scope and origin of every request. */
export class Access {
  #tokens: readonly KnownToken[] = [];
  #allowOrigins: readonly string[] = [];
  readonly #failures = { missing: 0, unknown: 0, scope: 0, origin: 0 };
  readonly #log: Logger;
  readonly #isOverTls: boolean;

  /**
   * @param options.log receives an audit line for each refused send; default silent
   * @param options.isOverTls true when every request arrives over TLS; default false
   */
  constructor(rules: AccessRules = {}, { log = silentLogger, isOverTls = false }: AccessOptions = {}) {
    this.#log = log;
    this.#isOverTls = isOverTls;
    this.reload(rules);
  }

  /** Requests refused so far. */
  get failures(): Readonly<Record<AccessFailure, number>> {
    return this.#failures;
  }

  /** Replaces the given rules from the next request on; a member left out keeps its value. */
  reload({ tokens, allowOrigins }: AccessRules): void {
    if (tokens) this.#tokens = tokens.map(({ sha256, ...rest }) => ({ ...rest, digest: Uint8Array.fromHex(sha256) }));
    if (allowOrigins) this.#allowOrigins = allowOrigins;
  }

  /**
   * Admits a request before anything else of it is evaluated.
   *
   * @throws {ApiError} 401 without a known token; 403 without the scope, or when a page of another origin sends or uses
   * a session
   */
  admit(request: Request, { scope, isOpen = false, ofSession = false, from }: Need): Caller {
    const url = new URL(request.url);
    const address = from?.hostname ?? "";
    const identified = this.#identify(request.headers, url);
    const token = isOpen && typeof identified === "string" ? NOBODY : identified;
    if (typeof token === "string") throw this.#refuse(token, { scope, address, via: url.pathname });
    const { name, scopes, isInHeader } = token;
    // A copy: after a WebSocket upgrade the request can no longer be read.
    const headers = new Headers(request.headers);
    const originAllowed = maySend(headers, this.#allowOrigins);
    const about = { scope, address, via: url.pathname, name };
    if (!isOpen && !scopes.includes(scope)) throw this.#refuse("scope", about);
    if (scope === "send" && !originAllowed) throw this.#refuse("origin", about);
    const originRules = { allowOrigins: this.#allowOrigins, isOverTls: this.#isOverTls };
    if (ofSession && !isInHeader && !mayUseSession(request, originRules)) throw this.#refuse("origin", about);
    const knownNow = () => {
      const known = this.#identify(headers, url);
      return typeof known === "string" ? NOBODY : known;
    };
    const originAllowedNow = () => maySend(headers, this.#allowOrigins);
    return {
      name,
      address,
      get scopes() {
        return knownNow().scopes;
      },
      get instances() {
        return knownNow().instances;
      },
      get originAllowed() {
        return originAllowedNow();
      },
    };
  }

  /** Whether a text is a token; counted as a failure if not. Without tokens every text is one. */
  isToken(text: string): boolean {
    const isKnown = this.#tokens.length === 0 || this.#find(text) !== undefined;
    if (!isKnown) this.#failures.unknown++;
    return isKnown;
  }

  /** Whether clients need a token. */
  get hasTokens(): boolean {
    return this.#tokens.length > 0;
  }

  /** The token of a request, or why there is none. */
  #identify(headers: Headers, url: URL): Known | "missing" | "unknown" {
    if (this.#tokens.length === 0) return ANONYMOUS;
    const given = givenTokens(headers, url);
    if (given.length === 0) return "missing";
    for (const { secret, isInHeader } of given) {
      const token = this.#find(secret);
      if (token) return { ...token, isInHeader };
    }
    return "unknown";
  }

  /** Compares all tokens in constant time. */
  #find(given: string): KnownToken | undefined {
    const digest = createHash("sha256").update(given).digest();
    return this.#tokens.filter((each) => timingSafeEqual(each.digest, digest))[0];
  }

  /** Counts the refusal. A refused send gets an audit line, as every send does. */
  #refuse(reason: AccessFailure, { scope, address, via, name }: RefusedRequest): ApiError {
    this.#failures[reason]++;
    const error = refusal(reason, { scope, name });
    if (scope === "send") {
      const token = name !== undefined && { token: name };
      this.#log.info("audit", {
        component: "audit",
        outcome: reason,
        via,
        client: address,
        ...token,
        why: error.message,
      });
    }
    return error;
  }
}

interface RefusedRequest {
  scope: Scope;
  address: string;
  /** Path. */
  via: string;
  name?: string | undefined;
}

function refusal(reason: AccessFailure, { scope, name }: Pick<RefusedRequest, "scope" | "name">): ApiError {
  const headers = { "WWW-Authenticate": "Bearer" };
  switch (reason) {
    case "missing": {
      const ways = `"Authorization: Bearer TOKEN", "X-API-Key: TOKEN" or ?${TOKEN_PARAMETER}=TOKEN`;
      return new ApiError(401, `This request needs a token: ${ways}`, { headers });
    }
    case "unknown":
      return new ApiError(401, "The token is unknown", { headers });
    case "scope":
      return new ApiError(403, `The token "${name}" does not have the scope "${scope}"`);
    case "origin":
      return new ApiError(403, scope === "send" ? `${FOREIGN_ORIGIN}: see -allow-origins` : FOREIGN_SESSION);
  }
}

type KnownToken = Omit<AccessToken, "sha256"> & { digest: Uint8Array };

/** An identified client. */
interface Known extends Pick<Caller, "name" | "scopes"> {
  instances?: readonly string[];
  /** A known token came in a header, which a page of another origin cannot forge. */
  isInHeader: boolean;
}

/** The client where no token is needed. */
const ANONYMOUS: Known = { name: undefined, scopes: SCOPES, isInHeader: false };
/** A client without a token where one is needed, or whose token has been removed. */
const NOBODY: Known = { name: undefined, scopes: [], instances: [], isInHeader: false };

/** The tokens of a request: at most one of each source, headers first. */
function givenTokens(headers: Headers, { pathname, searchParams }: URL): { secret: string; isInHeader: boolean }[] {
  // Clients of Signal K say JWT.
  const [, bearer] = /^(?:bearer|jwt) +(\S+)$/i.exec(headers.get("Authorization") ?? "") ?? [];
  const inHeaders = [bearer, headers.get("X-API-Key")].map((secret) => ({ secret, isInHeader: true }));
  const names = SIGNALK_PATH.test(pathname) ? [TOKEN_PARAMETER, SIGNALK_TOKEN_PARAMETER] : [TOKEN_PARAMETER];
  const sources = [...inHeaders, ...names.map((name) => ({ secret: searchParams.get(name), isInHeader: false }))];
  return sources.flatMap(({ secret, isInHeader }) => secret ? [{ secret, isInHeader }] : []);
}

/** The URL of a request without its token parameter. */
export function urlWithoutToken(request: Request): URL {
  const url = new URL(request.url);
  if (url.searchParams.has(TOKEN_PARAMETER)) url.searchParams.delete(TOKEN_PARAMETER);
  return url;
}

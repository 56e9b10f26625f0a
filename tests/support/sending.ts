import { createHash } from "node:crypto";
import { Logger } from "../../src/base/mod.ts";
import type { AccessToken } from "../../src/http/mod.ts";

/** What came back of a POST. */
export interface PostReply {
  status: number;
  headers: Headers;
  /** The whole body. */
  text: string;
  /** What is wrong, where the body is a problem. */
  detail?: string;
  /** Which field is wrong. */
  field?: string;
}

/** Posts a value as JSON, or a text as it is. */
export async function postTo(
  url: string,
  { body, headers = {} }: { body: unknown; headers?: Record<string, string> },
): Promise<PostReply> {
  const request = { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await fetch(url, request);
  const text = await response.text();
  const isProblem = response.headers.get("Content-Type") === "application/problem+json";
  const { detail, field }: Pick<PostReply, "detail" | "field"> = isProblem ? JSON.parse(text) : {};
  return {
    status: response.status,
    headers: response.headers,
    text,
    ...(detail !== undefined && { detail }),
    ...(field !== undefined && { field }),
  };
}

/** A line of the audit log. */
export interface AuditLine {
  outcome: string;
  via: string;
  client: string;
  token?: string;
  bus?: string;
  pgn?: number;
  src?: number;
  dst?: number;
  data?: string;
  why?: string;
}

/** A logger, and what it has written to the audit log. */
export function auditLog(): { log: Logger; lines: AuditLine[] } {
  const lines: AuditLine[] = [];
  const write = (text: string) => {
    const line: AuditLine & { component?: string } = JSON.parse(text);
    if (line.component === "audit") lines.push(line);
  };
  return { log: new Logger({ format: "json", write }), lines };
}

/** A token as the settings give it. */
export function accessToken(name: string, secret: string, scopes: AccessToken["scopes"]): AccessToken {
  return { name, sha256: createHash("sha256").update(secret).digest("hex"), scopes };
}

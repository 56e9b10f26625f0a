import { once } from "node:events";
import { createReadStream } from "node:fs";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/** A signed request to a store. */
export interface S3Request {
  method: "HEAD" | "PUT";
  url: URL;
  headers: Headers;
  /** File to send as the body. */
  body?: { path: string; bytes: number } | undefined;
  /** Longest time without progress, milliseconds. */
  stallMs: number;
}

/** Response of a store. */
export interface S3Answer {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
}

const CHUNK_BYTES = 64 * 1024;
/** A server that does not support `100-continue` gets the body after this time, milliseconds. */
const CONTINUE_WAIT_MS = 1000;
const MAX_ANSWER_CHARS = 64 * 1024;

/**
 * Sends a request and reads its response. Streams the file. (`fetch` would use chunked transfer encoding,
 * which stores refuse.)
 *
 * @throws {Error} no response came, or the file cannot be read
 */
export async function exchange({ method, url, headers, body, stallMs }: S3Request): Promise<S3Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<S3Answer>();
  const send = url.protocol === "http:" ? httpRequest : httpsRequest;
  // A server that refuses while the body is being sent closes the connection, and the reason is lost: ask first.
  const announced = body && { "content-length": String(body.bytes), expect: "100-continue" };
  // No agent: a kept-alive connection would delay the program's exit.
  const request = send(url, { method, headers: { ...Object.fromEntries(headers), ...announced }, agent: false });
  let stall: ReturnType<typeof setTimeout> | undefined;
  const stir = () => {
    clearTimeout(stall);
    stall = setTimeout(() => reject(new Error(`nothing moved for ${stallMs / 1000} s`)), stallMs);
  };
  let isSending = false;
  const goAhead = () => {
    if (!isSending) sendFile(request, { body, stir }).catch(reject);
    isSending = true;
  };
  request.on("error", reject);
  request.once("continue", goAhead);
  request.once("response", (response: IncomingMessage) => void readAnswer(response, stir).then(resolve, reject));
  stir();
  const waiting = body && setTimeout(goAhead, CONTINUE_WAIT_MS);
  if (body) request.flushHeaders();
  else request.end();
  try {
    return await promise;
  } finally {
    clearTimeout(stall);
    clearTimeout(waiting);
    // With an error, so that a writer waiting for `drain` does not wait forever.
    request.destroy(new Error("done with"));
  }
}

async function sendFile(
  request: ClientRequest,
  { body, stir }: { body: S3Request["body"]; stir: () => void },
): Promise<void> {
  if (body !== undefined && body.bytes > 0) {
    // If the file grows meanwhile, only the announced length is sent.
    for await (const chunk of createReadStream(body.path, { highWaterMark: CHUNK_BYTES, end: body.bytes - 1 })) {
      if (!request.write(chunk)) await once(request, "drain");
      stir();
    }
  }
  request.end();
}

async function readAnswer(response: IncomingMessage, stir: () => void): Promise<S3Answer> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response) {
    stir();
    if (text.length < MAX_ANSWER_CHARS) text += decoder.decode(chunk, { stream: true });
  }
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

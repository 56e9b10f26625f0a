import { once } from "node:events";
import { createReadStream } from "node:fs";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/** A request to a store, signed already. */
export interface S3Request {
  method: "HEAD" | "PUT";
  url: URL;
  headers: Headers;
  /** File that is the body. */
  body?: { path: string; bytes: number } | undefined;
  /** Longest time in which nothing moves, milliseconds. */
  stallMs: number;
}

/** What a store answers. */
export interface S3Answer {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
}

const CHUNK_BYTES = 64 * 1024;
/** Who does not know `100-continue` gets the body after this time. */
const CONTINUE_WAIT_MS = 1000;
const MAX_ANSWER_CHARS = 64 * 1024;

/**
 * Makes a request and reads its answer. A file is sent as it is read. (`fetch` would send it in chunks of unknown number,
 * which stores refuse.)
 *
 * @throws {Error} no answer came, or the file cannot be read
 */
export async function exchange({ method, url, headers, body, stallMs }: S3Request): Promise<S3Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<S3Answer>();
  const send = url.protocol === "http:" ? httpRequest : httpsRequest;
  // Asked first: who refuses a file that comes already closes the connection, and the reason is lost.
  const announced = body && { "content-length": String(body.bytes), expect: "100-continue" };
  // No agent: a kept connection would hold up the end of the program.
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
    // With an error, so that whoever waits for the request to take more does not wait for ever.
    request.destroy(new Error("done with"));
  }
}

async function sendFile(
  request: ClientRequest,
  { body, stir }: { body: S3Request["body"]; stir: () => void },
): Promise<void> {
  if (body !== undefined && body.bytes > 0) {
    // A file that grows meanwhile is sent as long as it was said to be.
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

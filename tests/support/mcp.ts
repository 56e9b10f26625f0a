import type { Client } from "@modelcontextprotocol/sdk/client";
import assert from "node:assert/strict";
import { taskArgs } from "./task.ts";

/** What a tool answered. */
export interface ToolAnswer {
  isError: boolean;
  text: string;
  lines: string[];
}

/** Deno's arguments that run `vbg mcp` as users do. */
export function mcpArgs(...words: string[]): string[] {
  return taskArgs("cli", "mcp", ...words);
}

/** `vbg mcp` as a process, with the SDK's own client at the other end of its pipes. */
export class McpProgram implements AsyncDisposable {
  readonly client: Client;
  readonly #decoder = new TextDecoder();
  /** What it has written on standard error. */
  log = "";

  private constructor(client: Client) {
    this.client = client;
  }

  static async start(words: string[], env: Record<string, string> = {}): Promise<McpProgram> {
    const { Client, StdioClientTransport } = await import("./mcp_client_package.ts");
    const program = new McpProgram(new Client({ name: "test", version: "1.0.0" }));
    const transport = new StdioClientTransport({
      command: Deno.execPath(),
      args: mcpArgs(...words),
      env: { ...Deno.env.toObject(), ...env },
      stderr: "pipe",
    });
    transport.stderr?.on(
      "data",
      (chunk: Uint8Array) => program.log += program.#decoder.decode(chunk, { stream: true }),
    );
    await program.client.connect(transport);
    return program;
  }

  /** Calls a tool. */
  async call(name: string, input: Record<string, unknown> = {}): Promise<ToolAnswer> {
    const { content, isError = false } = await this.client.callTool({ name, arguments: input });
    assert.ok(Array.isArray(content) && content.length === 1 && typeof isError === "boolean");
    const { type, text } = content[0];
    assert.ok(type === "text" && typeof text === "string");
    return { isError, text, lines: text.split("\n") };
  }

  /** Calls a tool that must answer. */
  async read(name: string, input: Record<string, unknown> = {}): Promise<string[]> {
    const { isError, text, lines } = await this.call(name, input);
    assert.equal(isError, false, text);
    return lines;
  }

  /** The one sentence of a tool that cannot answer. */
  async failure(name: string, input: Record<string, unknown> = {}): Promise<string> {
    const { isError, text, lines } = await this.call(name, input);
    assert.deepEqual([isError, lines.length], [true, 1], text);
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

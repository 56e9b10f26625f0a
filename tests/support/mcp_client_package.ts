/** The client of the package that speaks MCP; loaded when a test needs it, because it reads the environment. */
export { Client } from "@modelcontextprotocol/sdk/client";
// The package names its types without the extension that its modules need.
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
export { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

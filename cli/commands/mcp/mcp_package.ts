/** The package that speaks MCP; loaded with `importLate`, because only `vbg mcp` needs it. */
export { Server } from "@modelcontextprotocol/sdk/server";
// The package names its types without the extension that its modules need.
// @ts-types="@modelcontextprotocol/sdk/server/stdio"
export { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/types"
export { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import project from "../deno.json" with { type: "json" };

/** Version of this release. */
export const VERSION: string = project.version;

import { errorText } from "@vessel/gateway/base";
import { z } from "zod";
import { readWhen, timeOf, type When } from "../../client/time_option.ts";
import type { ServerContext } from "../../client/server_command.ts";
import type { Answer } from "./answer.ts";

/** What a tool reads: the chosen server; `signal` is that of the call. */
export type Boat = Pick<ServerContext, "address" | "client" | "clock" | "cloud" | "serverText" | "signal">;

/** A tool as it is listed and called. */
export interface Tool {
  name: string;
  description: string;
  inputSchema: { type: "object"; [key: string]: unknown };
  /** Checks the arguments. Returns the call. @throws {InputError} */
  prepare(input: Record<string, unknown>): (boat: Boat) => Promise<Answer>;
}

/** The arguments of a call are wrong, or there is no such tool. */
export class InputError extends Error {
  override readonly name = "InputError";
}

/** Makes a tool from its row. */
export function tool<Shape extends z.ZodRawShape>(
  { name, description, input, answer }: {
    name: string;
    /** One sentence, with the units of the values. */
    description: string;
    input: Shape;
    answer: (input: z.output<z.ZodObject<Shape, z.core.$strict>>, boat: Boat) => Promise<Answer>;
  },
): Tool {
  const schema = z.strictObject(input);
  return {
    ...{ name, description },
    inputSchema: { ...z.toJSONSchema(schema, { io: "input" }), type: "object" },
    prepare: (given) => {
      const parsed = schema.safeParse(given);
      if (!parsed.success) throw new InputError(`Cannot call ${name}: ${problemOf(parsed.error)}`);
      return (boat) => answer(parsed.data, boat);
    },
  };
}

/** The first problem of the arguments. */
function problemOf({ issues: [issue] }: z.ZodError): string {
  return [...issue?.path ?? [], issue?.message ?? "invalid arguments"].join(": ");
}

/** A time as an argument: RFC 3339, or how long ago. */
export function timeInput(description: string) {
  const forms = "RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago, such as 2h";
  return z.string().transform((text, context): When => {
    try {
      return readWhen(text);
    } catch (error) {
      context.addIssue({ code: "custom", message: errorText(error) });
      return z.NEVER;
    }
  }).describe(`${description}: ${forms}`);
}

/** A time of an argument, RFC 3339 in UTC; undefined if it was not given. */
export function utcOf(when: When, boat: Boat): string;
export function utcOf(when: When | undefined, boat: Boat): string | undefined;
export function utcOf(when: When | undefined, { clock }: Boat): string | undefined {
  return when && new Date(timeOf(when, clock.wallUs() / 1000)).toISOString();
}

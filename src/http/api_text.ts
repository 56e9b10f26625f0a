import { z } from "zod";

/** What the API description says of a schema beside its type: keys of an OpenAPI 3.1 schema. */
export interface ApiText {
  /** Name under `components`; left out: the schema is written where it is used. */
  refId?: string;
  description?: string;
  [key: string]: unknown;
}

/** Collects the texts: the library that prints them is loaded when somebody asks for the description. */
class ApiTexts extends z.core.$ZodRegistry<ApiText> {
  readonly schemas: z.core.$ZodType[] = [];

  override add(...[schema, ...text]: Parameters<z.core.$ZodRegistry<ApiText>["add"]>): this {
    this.schemas.push(schema);
    return super.add(schema, ...text);
  }
}

/** Texts of all schemas. */
export const apiText: ApiTexts = new ApiTexts();

/** A copy of a schema with a description, or further members, in the API description. */
export function described<T extends z.ZodType>(schema: T, text: string | ApiText): T {
  const copy = schema.clone();
  apiText.add(copy, typeof text === "string" ? { description: text } : text);
  return copy;
}

/** An object schema with a name in the API description. */
export function named<T extends z.core.$ZodLooseShape>(refId: string, shape: T): z.ZodObject<T, z.core.$strip> {
  return described(z.object(shape), { refId });
}

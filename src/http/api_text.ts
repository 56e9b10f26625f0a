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

/** Texts of all schemas: `schema.clone().register(apiText, {…})`. */
export const apiText: ApiTexts = new ApiTexts();

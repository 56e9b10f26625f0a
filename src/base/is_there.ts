import { FileError } from "./file_error.ts";

/** Whether something has this name, whatever it is. @throws {FileError} nobody can tell */
export async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw new FileError("look at", { path, cause: error });
  }
}

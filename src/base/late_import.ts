import { errorText } from "./file_error.ts";

/**
 * Loads a file that imports a package which few users need. Deno downloads the packages of every import that it finds in the
 * sources before it starts a program; it does not find this one, so the package is downloaded when it is first used.
 *
 * @throws {Error} the file cannot be loaded, for example because its package cannot be downloaded
 */
export async function importLate<Module>(file: URL): Promise<Module> {
  try {
    return await import(file.href);
  } catch (error) {
    const [reason] = errorText(error).split("\n");
    throw new Error(`${reason}; run "deno install" once with a connection to the internet, then restart`, {
      cause: error,
    });
  }
}

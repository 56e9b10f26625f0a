/** The package that writes zip files; loaded with `importLate`. */
export { Zip, ZipDeflate, ZipPassThrough } from "fflate";

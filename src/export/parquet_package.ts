/** The package that writes Parquet; loaded with `importLate`. */
export { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
export { writeMetadata } from "hyparquet-writer/src/metadata.js";

/** The package that speaks ACME; loaded with `importLate`. */
export { axios, Client, crypto } from "acme-client";

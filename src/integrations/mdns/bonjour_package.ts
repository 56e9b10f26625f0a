/** The package that speaks mDNS; loaded with `importLate`. */
export { Bonjour } from "bonjour-service";

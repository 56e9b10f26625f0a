/** Common aliases of manufacturers in addition to the names in the definitions. Lower case → code. */
export const MANUFACTURER_ALIASES: Readonly<Record<string, number>> = {
  victron: 358,
  "b&g": 381,
  volvo: 174,
};

/** Words of Signal K for our labels and codes. `*` stands for all others, `{}` in it for the value. */
export type Words = Readonly<Record<string, string>>;

const temperature: Words = {
  sea: "environment.water.temperature",
  outside: "environment.outside.temperature",
  inside: "environment.inside.{instance}.temperature",
  engine_room: "environment.inside.engineRoom.temperature",
  main_cabin: "environment.inside.mainCabin.temperature",
  live_well: "tanks.liveWell.{instance}.temperature",
  bait_well: "tanks.baitWell.{instance}.temperature",
  refrigeration: "environment.inside.refrigerator.temperature",
  heating_system: "environment.inside.heating.temperature",
  dew_point: "environment.outside.dewPointTemperature",
  apparent_wind_chill: "environment.outside.apparentWindChillTemperature",
  theoretical_wind_chill: "environment.outside.theoreticalWindChillTemperature",
  heat_index: "environment.outside.heatIndexTemperature",
  freezer: "environment.inside.freezer.temperature",
  exhaust_gas: "propulsion.{instance}.exhaustTemperature",
  "*": "generic.temperatures.userDefined{}.{instance}.temperature",
};

const pressure: Words = {
  atmospheric: "environment.outside.pressure",
  water: "water.{instance}.pressure",
  steam: "steam.{instance}.pressure",
  compressed_air: "compressedAir.{instance}.pressure",
  hydraulic: "hydraulic.{instance}.pressure",
  filter: "filter.{instance}.pressure",
  altimeter: "altimetersetting.{instance}.pressure",
  oil: "oil.{instance}.pressure",
  fuel: "fuel.{instance}.pressure",
};

/** Tables of words. In a path: `{field|table}`; as a conversion: the name of the table. */
export const WORDS = {
  temperature,
  pressure,
  humidity: {
    inside: "environment.inside.{instance}.relativeHumidity",
    outside: "environment.outside.humidity",
    "*": "environment.userDefined{}.{instance}.relativeHumidity",
  },
  engine: {
    0: "port",
    1: "starboard",
    "Single Engine or Dual Engine Port": "port",
    "Dual Engine Starboard": "starboard",
    "*": "{}",
  },
  engineTitle: {
    0: "Port",
    1: "Starboard",
    "Single Engine or Dual Engine Port": "Port",
    "Dual Engine Starboard": "Starboard",
    "*": "{}",
  },
  reference: { true: "True", magnetic: "Magnetic", True: "True", Magnetic: "Magnetic" },
  phase: { "Line 1": "A", "Line 2": "B", "Line 3": "C", "*": "A" },
  tank: { 0: "fuel", 1: "freshWater", 2: "wasteWater", 3: "liveWell", 4: "lubrication", 5: "blackWater" },
  chargingAlgorithm: {
    trickle: "trickle",
    constant_voltage_current: "constant voltage / constant current",
    two_stage: "2 stage (no float)",
    three_stage: "3 stage",
  },
  chemistry: {
    lead: "pb (lead)",
    lithium: "li",
    nickel_cadmium: "nicd",
    zinc_oxide: "zno",
    nickel_metal_hydride: "nimh",
  },
  speedType: {
    paddle_wheel: "Paddle wheel",
    pitot_tube: "Pitot tube",
    doppler: "Doppler",
    correlation: "Correlation (ultra sound)",
    electromagnetic: "Electro Magnetic",
  },
  gnssType: {
    0: "GPS",
    1: "GLONASS",
    2: "Combined GPS/GLONASS",
    3: "GPS+SBAS/WAAS",
    4: "GPS+SBAS/WAAS+GLONASS",
    5: "Chayka",
    6: "Integrated navigation system",
    7: "Surveyed",
    8: "Galileo",
  },
  gnssMethod: {
    0: "no GPS",
    1: "GNSS Fix",
    2: "DGNSS fix",
    3: "Precise GNSS",
    4: "RTK fixed integer",
    5: "RTK float",
    6: "Estimated (DR) mode",
    7: "Manual input",
    8: "Simulator mode",
  },
  gnssIntegrity: { 0: "no Integrity checking", 1: "Safe", 2: "Caution", 3: "Unsafe" },
  navigationState: {
    under_way_using_engine: "motoring",
    at_anchor: "anchored",
    not_under_command: "not under command",
    restricted_manoeuverability: "restricted manouverability",
    constrained_by_draught: "constrained by draft",
    moored: "moored",
    aground: "aground",
    engaged_in_fishing: "fishing",
    under_way_sailing: "sailing",
    9: "hazardous material high speed",
    10: "hazardous material wing in ground",
    ais_sart: "ais-sart",
  },
  pilotMode: {
    Standby: "standby",
    "Auto, compass commanded": "auto",
    "Vane, Wind Mode": "wind",
    "Track Mode": "route",
    "No Drift, COG referenced (In track, course changes)": "route",
    // SeaTalk 1 behind a converter.
    Auto: "auto",
    Wind: "wind",
    Track: "route",
  },
  hullType: {
    Power: "power",
    Sail: "sail",
    "Sail Catamaran": "sailCatamaran",
    "Sail (slow turn)": "sailSlowTurn",
    "Power (fast turn)": "powerFastTurn",
    "Power (slow turn)": "powerSlowTurn",
    "*": "unknown",
  },
  nightColor: { 0: "red", 1: "green", 2: "blue", 3: "white", 4: "magenta", "*": "unknown" },
} as const satisfies Record<string, Words>;

/** Name of a table of words. */
export type WordsName = keyof typeof WORDS;

/** Whether a table has this name. */
export function isWordsName(name: string): name is WordsName {
  return Object.hasOwn(WORDS, name);
}

/** Word for a label or code; undefined: none, and the table has no `*`. */
export function wordFor(table: WordsName, value: string | number): string | undefined {
  const words: Words = WORDS[table];
  // Some layouts have canboat's labels instead of ours: "Sea Temperature" for "sea".
  const short = () => String(value).toLowerCase().replace(/ temperature$/, "").replaceAll(" ", "_");
  return words[value] ?? words[short()] ?? words["*"]?.replace("{}", String(value));
}

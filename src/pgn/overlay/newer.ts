import type { DefinitionSpec, FieldSpec, LabelTable } from "../spec.ts";

/** Labels that these layouts use beside canboat's; only those that were seen in a recording. */
export const NEWER_TABLES: Readonly<Record<string, LabelTable>> = {
  FUSION_MENU_ACTION: { 2: "Select", 4: "Close" },
  FUSION_NEWER_STATUS_MESSAGE_ID: {
    32783: "Menu Action",
    32784: "Menu Count",
    32786: "Menu Lock ID",
    32824: "Multiroom",
    32825: "Multiroom Status",
    32859: "Ignition Switch State",
    32862: "Mono",
    32863: "Speed Volume Current Speed",
  },
  GARMIN_AUTOPILOT_FIELD: { 10: "Mode State" },
  GARMIN_AUTOPILOT_MANEUVER: { 2: "Increase Heading 1 Degree" },
  GARMIN_AUTOPILOT_MODE_STATE: { 2: "Standby" },
  GARMIN_SUB_PROTOCOL: { 5904: "Autopilot transport" },
  MERCURY_OPCODE: { 4: "Cruise Control", 6: "Active Trim Command" },
  NAVICO_DATA_TYPE: { 1: "Position", 4: "VDOP" },
  SIMNET_AP_MODE_CLASS: { 0: "Standby" },
  SIMNET_AP_MODE_OF_CLASS: { 0: "Standby" },
  SIMNET_DATA_TYPE: {
    0: "Heading",
    1: "Navigation",
    3: "Apparent Wind",
    4: "True Wind",
    5: "Speed Through Water",
    6: "Sea Temperature",
    7: "Distance Log",
    8: "Depth",
    9: "Rudder Feedback",
    19: "Monitor Compass",
    28: "Barometric Pressure",
    30: "Heel Angle",
    34: "Sailing Navigation",
    35: "Trim Angle",
    54: "Autopilot",
    104: "Autopilot Control",
  },
  SIMNET_EVENT_TYPE: { 23: "Timer", 255: "Alarm" },
  SIMNET_KEY_OPERATION: { 0: "Read", 1: "Set", 2: "Reply" },
  SIMNET_TIMER_EVENT: { 61: "Race Timer Start", 64: "Race Timer Reset" },
  SLEIPNER_DEVICE_STATE: { 1: "Off", 10: "Ready" },
};

/** What every message of this manufacturer's own starts with. */
const from = (manufacturer: number): FieldSpec[] => [
  { name: "manufacturer_code", type: "enum", table: "MANUFACTURER_CODE", bits: 11, match: manufacturer },
  { bits: 2 },
  { name: "industry_code", type: "enum", table: "INDUSTRY_CODE", bits: 3, match: 4 },
];

const LOWRANCE = from(140);
const MERCURY = from(144);
const YANMAR = from(172);
const GARMIN = from(229);
const NAVICO = from(275);
const SLEIPNER = from(306);
const FURUNO = from(1855);
const SIMRAD = from(1857);

const fusionCommand = (code: number): FieldSpec[] => [
  ...from(419),
  { name: "proprietary_id", type: "enum", table: "FUSION_MESSAGE_ID", bits: 16, match: code },
];
const fusionStatus = (code: number): FieldSpec[] => [
  ...from(419),
  { name: "message_id", type: "enum", table: "FUSION_NEWER_STATUS_MESSAGE_ID", bits: 16, match: code },
];

const garminAutopilot = (group: number): FieldSpec[] => [
  ...GARMIN,
  { name: "sub_protocol_id", type: "enum", table: "GARMIN_SUB_PROTOCOL", bits: 16, match: 5904 },
  { name: "wrapper_byte1", bits: 8, match: 4 },
  { name: "wrapper_byte2", bits: 8, match: 4 },
  { name: "field_group", bits: 8, match: group },
];

/** Start of Simrad's commands, events and replies. */
const simnetEvent: FieldSpec[] = [
  ...SIMRAD,
  { name: "address", bits: 8 },
  { bits: 8 },
  { name: "network_group", type: "enum", table: "SIMNET_DISPLAY_GROUP", bits: 8 },
];
const simnetAutopilot = (type: number): FieldSpec[] => [
  ...simnetEvent,
  { name: "command_type", type: "enum", table: "SIMNET_AP_COMMAND_TYPE", bits: 8, match: type },
];
const simnetAutopilotEvent = (event: number, type = 10): FieldSpec[] => [
  ...simnetAutopilot(type),
  { name: "event", type: "enum", table: "SIMNET_AP_EVENTS", bits: 8, match: event },
  { bits: 8, zeros: true },
];
const changeOfCourse: FieldSpec[] = [
  { name: "direction", type: "enum", table: "SIMNET_DIRECTION", bits: 8 },
  { name: "angle", bits: 16, per: 10_000, unit: "rad" },
  { bits: 8 },
];

/** Start of what Simrad tells of its settings. */
const simnetSetting: FieldSpec[] = [
  ...SIMRAD,
  { name: "address", bits: 8 },
  { name: "instance", bits: 8 },
  { name: "network_group", type: "enum", table: "SIMNET_DISPLAY_GROUP", bits: 8 },
  { name: "source", bits: 8 },
];
const operation: FieldSpec = { name: "operation", type: "enum", table: "SIMNET_KEY_OPERATION", bits: 8 };

const yanmarEngine: FieldSpec[] = [
  ...YANMAR,
  { name: "unknown_selector", bits: 5 },
  { name: "engine_instance", type: "enum", table: "ENGINE_INSTANCE", bits: 3 },
];

/** Thrusters by Sleipner: temperatures in degrees Celsius, by what is usual of motors. */
const sleipnerThruster = (deviceType: number): FieldSpec[] => [
  ...SLEIPNER,
  { name: "device_type", bits: 8, match: deviceType },
  { name: "a", bits: 8 },
  { name: "status", type: "binary", bits: 16 },
  { name: "motor_temperature", bits: 8 },
  { name: "power_temperature", bits: 8 },
  { name: "b", bits: 8 },
  { name: "motor_voltage", bits: 16, per: 100, unit: "V" },
  { name: "c", type: "binary", bits: 16 },
  { name: "motor_current", bits: 16, per: 10, unit: "A" },
  { name: "output_thrust", bits: 8, signed: true, unit: "%" },
  { name: "d", bits: 8 },
];

const lowranceTanks: FieldSpec[] = [
  ...LOWRANCE,
  { name: "number_of_engines", bits: 4 },
  { name: "number_of_fuel_tanks", bits: 4 },
  { name: "total_fuel_capacity", bits: 16, per: 10, unit: "L" },
  { bits: 24 },
];

/** What Navico's devices ask and tell of their common database. */
const navicoDatabase = (command: number): FieldSpec[] => [
  ...NAVICO,
  { name: "marker", bits: 8 },
  { name: "command", bits: 8, match: command },
];

/** Thousandths of a degree in a second. */
const milliDegrees: FieldSpec = {
  bits: 32,
  signed: true,
  times: 1_745_329,
  per: 100_000_000_000,
  unit: "rad/s",
};

/** Where a layout comes from: names from the analyzer's output, bits from the payloads that it read. */
const workedOut = (payloads: number, more = ""): string =>
  `names as canboat's analyzer of 2026-08 gives them, bits worked out from ${payloads} recorded payload${
    payloads === 1 ? "" : "s"
  }${more}`;
const SIBLING = "as the recorded commands of its kind, whose group no longer tells them apart; not recorded itself";

/** Layouts that canboat describes, or describes otherwise, since its package of definitions was published. */
export const NEWER_LAYOUTS: readonly DefinitionSpec[] = [
  {
    pgn: 65280,
    id: "yanmarEngineDataA",
    description: "Yanmar: Engine Data A",
    why: workedOut(2, "; where the throttle ends and the gear begins is as in Yanmar's 65284"),
    fields: [
      ...yanmarEngine,
      { name: "throttle_position", bits: 10, per: 10, unit: "%" },
      { name: "transmission_gear", type: "enum", table: "GEAR_STATUS", bits: 6 },
      { name: "engine_speed", bits: 16, unit: "rpm" },
      { name: "unknown_data", type: "binary", bits: 8 },
    ],
  },
  {
    pgn: 65284,
    id: "yanmarThrottleControl",
    description: "Yanmar: Throttle Control",
    why: workedOut(3),
    fields: [
      ...yanmarEngine,
      { name: "transmission_gear", type: "enum", table: "GEAR_STATUS", bits: 2 },
      { name: "unknown_control_flag", bits: 1 },
      { bits: 5 },
      { name: "throttle_position", bits: 10, per: 10, unit: "%" },
      { bits: 6 },
      { name: "unknown_data", type: "binary", bits: 16 },
    ],
  },
  {
    pgn: 65301,
    id: "bepMarineCzone65301",
    replaces: "bepMarineProprietaryPgn65301",
    description: "BEP Marine: CZone 65301",
    why: workedOut(2),
    fields: [
      ...from(295),
      { name: "field1", bits: 8 },
      { name: "field2", bits: 5 },
      { name: "field3", bits: 3 },
      { name: "status_bitmap", type: "binary", bits: 32 },
    ],
  },
  {
    pgn: 65302,
    id: "simnetApUnknown1",
    description: "Simnet: AP Unknown 1",
    why: workedOut(2),
    fields: [...SIMRAD, { name: "type", bits: 8 }, { name: "value", bits: 32 }, { bits: 8 }],
  },
  {
    pgn: 65303,
    id: "lowranceVesselSetupEngineAndTankConfiguration",
    description: "Lowrance: Vessel Setup Engine and Tank Configuration",
    why: workedOut(1, "; its two counts may be of other widths"),
    fields: lowranceTanks,
  },
  {
    pgn: 65304,
    id: "lowranceVesselSetupEngineAndTankConfigurationBroadcast",
    description: "Lowrance: Vessel Setup Engine and Tank Configuration (broadcast)",
    why: workedOut(1, "; its two counts may be of other widths"),
    fields: lowranceTanks,
  },
  {
    pgn: 65304,
    id: "sleipnerDeviceStatus",
    description: "Sleipner: Device Status",
    complete: true,
    why: workedOut(3),
    fields: [
      ...SLEIPNER,
      { name: "device_type", bits: 8 },
      { name: "device_index", bits: 4 },
      { name: "a", bits: 4 },
      { name: "unique_number", bits: 24 },
      { name: "b", bits: 8 },
    ],
  },
  {
    pgn: 65309,
    id: "navicoWirelessBatteryStatus",
    description: "Navico: Wireless Battery Status",
    why: workedOut(11, ", all without the last value"),
    fields: [
      ...NAVICO,
      { name: "status", bits: 8 },
      { name: "battery_status", bits: 8, unit: "%" },
      { name: "battery_charge_status", bits: 8, unit: "%" },
      { name: "a", bits: 24, signed: true },
    ],
  },
  {
    pgn: 65312,
    id: "navicoWirelessSignalStatus",
    description: "Navico: Wireless Signal Status",
    why: workedOut(18, ", all without the last value"),
    fields: [
      ...NAVICO,
      { name: "unknown", bits: 8 },
      { name: "signal_strength", bits: 8, unit: "%" },
      { name: "a", bits: 8, signed: true },
      { bits: 24 },
    ],
  },
  {
    pgn: 65313,
    id: "navicoDepthQuality",
    replaces: "navicoProprietary",
    description: "Navico: Depth Quality",
    why: workedOut(2),
    fields: [
      ...NAVICO,
      { name: "instance", bits: 8 },
      { name: "depth_quality", bits: 8, signed: true },
      { bits: 32 },
    ],
  },
  {
    pgn: 65323,
    id: "simnetDataSourceSelectionRequest",
    description: "Simnet: Data Source Selection Request",
    why: workedOut(2),
    fields: [
      ...SIMRAD,
      { bits: 8 },
      { name: "data_type", type: "enum", table: "SIMNET_DATA_TYPE", bits: 8 },
      { name: "source_class", bits: 8 },
      { bits: 24 },
    ],
  },
  {
    pgn: 65340,
    id: "simnetAutopilotModeState",
    replaces: "simnetApUnknown2",
    description: "Simnet: Autopilot Mode State",
    why: workedOut(1, "; d may be narrower"),
    fields: [
      ...SIMRAD,
      { name: "mode_class", type: "enum", table: "SIMNET_AP_MODE_CLASS", bits: 8 },
      { name: "mode", type: "enum", table: "SIMNET_AP_MODE_OF_CLASS", bits: 8 },
      { name: "c", bits: 8 },
      { name: "d", bits: 16 },
      { name: "flags", bits: 8 },
    ],
  },
  {
    pgn: 65350,
    id: "simnetMagneticField",
    description: "Simnet: Magnetic Field",
    complete: true,
    why: workedOut(20),
    fields: [
      { name: "field_x", bits: 16, signed: true, per: 10_000 },
      { name: "field_y", bits: 16, signed: true, per: 10_000 },
      { name: "field_z", bits: 16, signed: true, per: 10_000 },
      { name: "marker", bits: 8 },
      { bits: 8 },
    ],
  },
  {
    pgn: 65420,
    id: "simnetApUnknown3",
    description: "Simnet: AP Unknown 3",
    why: workedOut(20),
    fields: [
      ...SIMRAD,
      { name: "value", bits: 16 },
      { name: "c", bits: 8 },
      { name: "d", bits: 8 },
      { name: "sub_index", bits: 4 },
      { bits: 4 },
      { bits: 8 },
    ],
  },
  {
    pgn: 126720,
    id: "fusionMenuActionCommand",
    description: "Fusion: Menu Action Command",
    why: workedOut(1),
    fields: [
      ...fusionCommand(9),
      { name: "source_id", bits: 8 },
      { name: "item_index", bits: 32 },
      { name: "action", type: "enum", table: "FUSION_MENU_ACTION", bits: 8 },
      { name: "lock_id", bits: 8 },
    ],
  },
  {
    pgn: 126720,
    id: "fusionRequestMenuCount",
    description: "Fusion: Request Menu Count",
    why: workedOut(1),
    fields: [...fusionCommand(10), { name: "source_id", bits: 8 }, { name: "lock_id", bits: 8 }],
  },
  {
    pgn: 126720,
    id: "garminAutopilotModeState",
    description: "Garmin Autopilot: Mode State",
    why: workedOut(1),
    fields: [
      ...garminAutopilot(5),
      { name: "field", type: "enum", table: "GARMIN_AUTOPILOT_FIELD", bits: 16, match: 10 },
      { name: "mode_state", type: "enum", table: "GARMIN_AUTOPILOT_MODE_STATE", bits: 16 },
    ],
  },
  {
    pgn: 126720,
    id: "garminAutopilotManeuver",
    description: "Garmin Autopilot: Maneuver",
    why: workedOut(1),
    fields: [
      ...garminAutopilot(38),
      { name: "maneuver_code", type: "enum", table: "GARMIN_AUTOPILOT_MANEUVER", bits: 16 },
    ],
  },
  {
    pgn: 130817,
    id: "sleipnerThrusterStatusPpc520",
    description: "Sleipner: Thruster Status PPC520",
    why: workedOut(6, ", none with a current: its scale is the PPC820's"),
    fields: sleipnerThruster(24),
  },
  {
    pgn: 130817,
    id: "sleipnerThrusterStatusPpc820",
    description: "Sleipner: Thruster Status PPC820",
    complete: true,
    why: workedOut(13),
    fields: sleipnerThruster(25),
  },
  {
    pgn: 130819,
    id: "furunoDeadReckoningConfiguration",
    description: "Furuno: Dead Reckoning Configuration",
    why: workedOut(2, "; how f4 to f8 share two bytes is open"),
    fields: [
      ...FURUNO,
      { name: "f4", bits: 4 },
      { name: "f5", bits: 4 },
      { name: "f6", bits: 4 },
      { name: "f7", bits: 2 },
      { name: "f8", bits: 2 },
      { name: "dead_reckoning_time", bits: 4 },
      { name: "f10", bits: 4 },
      { name: "f11", bits: 8 },
    ],
  },
  {
    pgn: 130820,
    id: "fusionMenuActionStatus",
    description: "Fusion: Menu Action Status",
    why: workedOut(1),
    fields: [
      ...fusionStatus(32783),
      { name: "source_id", bits: 8 },
      { name: "item_index", bits: 32 },
      { name: "action", type: "enum", table: "FUSION_MENU_ACTION", bits: 8 },
      { name: "lock_id", bits: 8 },
    ],
  },
  {
    pgn: 130820,
    id: "fusionMenuCount",
    description: "Fusion: Menu Count",
    why: workedOut(1),
    fields: [
      ...fusionStatus(32784),
      { name: "source_id", bits: 8 },
      { name: "count", bits: 32 },
      { name: "lock_id", bits: 8 },
    ],
  },
  {
    pgn: 130820,
    id: "fusionMenuLockId",
    description: "Fusion: Menu Lock ID",
    why: workedOut(1),
    fields: [...fusionStatus(32786), { name: "lock_id", bits: 32 }, { name: "flags", bits: 8 }],
  },
  {
    pgn: 130820,
    id: "fusionMultiroom",
    description: "Fusion: Multiroom",
    why: workedOut(1),
    fields: [
      ...fusionStatus(32824),
      { name: "enabled", type: "enum", table: "YES_NO", bits: 8 },
      { name: "ip_address1", bits: 8, always: true },
      { name: "ip_address2", bits: 8, always: true },
      { name: "ip_address3", bits: 8, always: true },
      { name: "ip_address4", bits: 8, always: true },
    ],
  },
  {
    pgn: 130820,
    id: "fusionMultiroomStatus",
    description: "Fusion: Multiroom Status",
    why: workedOut(1),
    fields: [...fusionStatus(32825), { name: "available", type: "enum", table: "YES_NO", bits: 8 }],
  },
  {
    pgn: 130820,
    id: "fusionIgnitionSwitchState",
    description: "Fusion: Ignition Switch State",
    why: workedOut(1),
    fields: [...fusionStatus(32859), { name: "state", bits: 8 }],
  },
  {
    pgn: 130820,
    id: "fusionMono",
    description: "Fusion: Mono",
    why: workedOut(1),
    fields: [
      ...fusionStatus(32862),
      { name: "zone", bits: 8 },
      { name: "enabled", type: "enum", table: "YES_NO", bits: 8 },
    ],
  },
  {
    pgn: 130820,
    id: "fusionSpeedVolumeCurrentSpeed",
    description: "Fusion: Speed Volume Current Speed",
    why: workedOut(1, ", without a scale of the speed"),
    fields: [
      ...fusionStatus(32863),
      { name: "source_id", bits: 8 },
      { name: "speed", bits: 16 },
      { name: "enabled", bits: 8 },
    ],
  },
  {
    pgn: 130822,
    id: "navicoUdbDatabaseSourceReport",
    description: "Navico: UDB Database Source Report",
    why: workedOut(14),
    fields: [
      ...navicoDatabase(1),
      { name: "address", bits: 8 },
      { name: "source_setting_id", bits: 8 },
      { name: "item", bits: 8 },
      { name: "object_value", bits: 16 },
      { name: "instance", bits: 4 },
      { name: "source_selection_master", bits: 4 },
      { name: "sub", type: "binary", bits: 24 },
      { name: "token", bits: 16 },
    ],
  },
  {
    pgn: 130822,
    id: "navicoUdbDatabaseObjectDump",
    description: "Navico: UDB Database Object Dump",
    why: workedOut(1, "; the width of the address and what its list holds are open"),
    fields: [
      ...navicoDatabase(6),
      { bits: 4 },
      { name: "address", bits: 4 },
      { name: "section", bits: 8 },
      { name: "item", bits: 8 },
      { name: "object_value", bits: 16 },
      { name: "sub", type: "binary", bits: 24 },
      { name: "token", bits: 16 },
      {
        group: "list",
        fields: [
          { name: "length", bits: 8 },
          { name: "class", bits: 8 },
          { name: "data_type", type: "enum", table: "NAVICO_DATA_TYPE", bits: 16 },
          { name: "value", type: "binary" },
        ],
      },
    ],
  },
  {
    pgn: 130823,
    id: "navicoDataTypeSourceDirectory",
    description: "Navico: Data Type Source Directory",
    why: workedOut(1, ", a later part of several: its list starts amid an entry"),
    fields: [
      ...NAVICO,
      { bits: 8 },
      { bits: 8, zeros: true },
      { name: "report_type", bits: 8 },
      { name: "part", bits: 16 },
      {
        group: "list",
        fields: [
          { name: "length", bits: 8 },
          { name: "type", bits: 8 },
          { name: "data_type", type: "enum", table: "NAVICO_DATA_TYPE", bits: 16 },
          { name: "value", type: "binary" },
        ],
      },
    ],
  },
  {
    pgn: 130824,
    id: "maretronAnnunciator",
    description: "Maretron: Annunciator",
    why: workedOut(1),
    fields: [
      ...from(137),
      { name: "annunciator_instance", bits: 8 },
      { name: "annunciator_state", bits: 8 },
      { name: "pattern", bits: 16 },
      { name: "field7", bits: 8 },
      { name: "alert_id", bits: 16 },
    ],
  },
  {
    pgn: 130825,
    id: "mercuryCruiseControlData",
    description: "Mercury: Cruise Control Data",
    why: workedOut(1, " that says nearly nothing: places and scales of its values are open"),
    fields: [
      ...MERCURY,
      { name: "opcode", type: "enum", table: "MERCURY_OPCODE", bits: 8, match: 4 },
      { name: "engine_instance", bits: 8 },
      { bits: 8 },
      { name: "cruise_state", bits: 8 },
      { name: "cruise_rpm_setpoint", bits: 16 },
      { name: "cruise_speed_setpoint", bits: 16 },
      { bits: 24 },
    ],
  },
  {
    pgn: 130825,
    id: "mercuryCommandResponse",
    description: "Mercury: Command Response",
    why: workedOut(1),
    fields: [
      ...MERCURY,
      { name: "opcode", type: "enum", table: "MERCURY_OPCODE", bits: 8, match: 6 },
      { name: "data", type: "binary" },
    ],
  },
  {
    pgn: 130828,
    id: "sleipnerDeviceStatusFast",
    description: "Sleipner: Device Status Fast",
    complete: true,
    why: workedOut(6),
    fields: [
      ...SLEIPNER,
      { name: "device_type", bits: 8 },
      { name: "device_index", bits: 4 },
      { name: "state", type: "enum", table: "SLEIPNER_DEVICE_STATE", bits: 4 },
      { name: "unique_number", bits: 24 },
      { name: "a", bits: 8 },
    ],
  },
  {
    pgn: 130829,
    id: "mercuryEngineStatus",
    description: "Mercury: Engine Status",
    why: workedOut(1),
    fields: [
      ...MERCURY,
      { bits: 4 },
      { name: "field_a", type: "binary", bits: 4 },
      { name: "sub_helm", type: "binary", bits: 4 },
      { name: "helm", type: "binary", bits: 4 },
      { name: "capabilities", type: "binary" },
    ],
  },
  {
    pgn: 130833,
    id: "furunoShipParametersAndAntennaPosition",
    description: "Furuno: Ship Parameters and Antenna Position",
    why: workedOut(3, "; the sign of the positions y and z is open"),
    fields: [
      ...FURUNO,
      { name: "equipment_identification", bits: 8 },
      { name: "antenna_position_x", bits: 16, signed: true, per: 100, unit: "m" },
      { name: "antenna_position_y", bits: 16, signed: true, per: 10, unit: "m" },
      { name: "antenna_position_z", bits: 16, signed: true, per: 10, unit: "m" },
      { name: "ship_s_width", bits: 16, per: 10, unit: "m" },
      { name: "ship_s_length", bits: 16, per: 10, unit: "m" },
      { name: "ship_s_height", bits: 16, per: 10, unit: "m" },
    ],
  },
  {
    pgn: 130834,
    id: "furunoSpeedCalculationPosition",
    description: "Furuno: Speed Calculation Position",
    why: workedOut(4, "; the sign of its positions is open"),
    fields: [
      ...FURUNO,
      { name: "point_index", bits: 8 },
      { bits: 16, zeros: true },
      { name: "position_y", bits: 16, signed: true, per: 10, unit: "m" },
      { name: "position_z", bits: 16, signed: true, per: 10, unit: "m" },
    ],
  },
  {
    pgn: 130840,
    id: "simnetDataSourceSelection",
    replaces: "simnetDataUserGroupConfiguration",
    description: "Simnet: Data Source Selection",
    complete: true,
    why: workedOut(20),
    fields: [
      ...SIMRAD,
      { bits: 8 },
      { name: "data_type", type: "enum", table: "SIMNET_DATA_TYPE", bits: 8 },
      { name: "source_class", bits: 8 },
      { name: "source_address", bits: 8 },
      { bits: 8 },
      { name: "change_counter", bits: 8 },
      { name: "source", type: "hex", bits: 64 },
      { bits: 8 },
    ],
  },
  {
    pgn: 130842,
    id: "furunoSixDegreesOfFreedomMovement",
    description: "Furuno: Six Degrees Of Freedom Movement",
    why: workedOut(20, "; the rates are sent in thousandths of a degree in a second"),
    fields: [
      ...FURUNO,
      { name: "a", bits: 32, signed: true },
      { name: "b", bits: 32, signed: true },
      { name: "c", bits: 32, signed: true },
      { name: "d", bits: 8, signed: true },
      { name: "roll_rate", ...milliDegrees },
      { name: "pitch_rate", ...milliDegrees },
      { name: "yaw_rate", ...milliDegrees },
      { name: "i", bits: 16, signed: true },
    ],
  },
  {
    pgn: 130843,
    id: "furunoHeelAngleRollInformation",
    description: "Furuno: Heel Angle, Roll Information",
    why: workedOut(20),
    fields: [
      ...FURUNO,
      { name: "heel", bits: 16, signed: true, per: 10_000, unit: "rad" },
      { name: "field4", bits: 16, signed: true, per: 10_000, unit: "rad" },
      { name: "field6", bits: 16, signed: true, per: 10_000, unit: "rad" },
      { name: "field8", bits: 16, signed: true, per: 10_000, unit: "rad" },
    ],
  },
  {
    pgn: 130845,
    id: "simnetKeyValue",
    description: "Simnet: Key Value",
    why: workedOut(20),
    fields: [
      ...simnetSetting,
      { name: "key", type: "key", table: "SIMNET_KEY_VALUE", bits: 16 },
      { bits: 8, zeros: true },
      operation,
      { name: "value", type: "value" },
    ],
  },
  {
    pgn: 130846,
    id: "simnetParameterSet",
    description: "Simnet: Parameter Set",
    why: workedOut(2),
    fields: [
      ...simnetSetting,
      { name: "key", type: "key", table: "SIMNET_KEY_VALUE", bits: 24 },
      operation,
      { name: "length", type: "length", bits: 8 },
      { name: "value", type: "value" },
    ],
  },
  {
    pgn: 130846,
    id: "furunoMotionSensorStatusExtended",
    description: "Furuno: Motion Sensor Status Extended",
    why: workedOut(2),
    fields: [...FURUNO, { name: "status", bits: 8 }, { name: "data", type: "binary" }],
  },
  {
    pgn: 130847,
    id: "navicoAsciiIdentifier",
    description: "Navico: ASCII Identifier",
    why: workedOut(4),
    fields: [...NAVICO, { name: "identifier", type: "lz" }],
  },
  {
    pgn: 130850,
    id: "simnetCommandApStandby",
    description: "Simnet: Command AP Standby",
    why: workedOut(1),
    fields: [...simnetAutopilotEvent(6), { bits: 32 }],
  },
  {
    pgn: 130850,
    id: "simnetCommandApNodrift",
    description: "Simnet: Command AP NoDrift",
    why: SIBLING,
    fields: [...simnetAutopilotEvent(12), { bits: 32 }],
  },
  {
    pgn: 130850,
    id: "simnetCommandApWind",
    description: "Simnet: Command AP Wind",
    why: SIBLING,
    fields: [...simnetAutopilotEvent(15), { bits: 32 }],
  },
  {
    pgn: 130850,
    id: "simnetCommandApNav",
    description: "Simnet: Command AP Nav",
    why: SIBLING,
    fields: [...simnetAutopilotEvent(10), { bits: 32 }],
  },
  {
    pgn: 130850,
    id: "simnetCommandApHeading",
    description: "Simnet: Command AP Heading",
    why: workedOut(1),
    fields: [...simnetAutopilotEvent(9), { bits: 32 }],
  },
  {
    pgn: 130850,
    id: "simnetCommandApTack",
    description: "Simnet: Command AP Tack",
    why: SIBLING,
    fields: [
      ...simnetAutopilot(10),
      { name: "event", type: "enum", table: "SIMNET_AP_EVENTS", bits: 8, match: 17 },
      { name: "unknown_a", bits: 8 },
      { name: "unknown_b", bits: 8 },
      { bits: 24 },
    ],
  },
  {
    pgn: 130850,
    id: "simnetCommandApFollowUp",
    description: "Simnet: Command AP Follow Up",
    why: SIBLING,
    fields: [...simnetAutopilotEvent(14, 2), { bits: 32 }],
  },
  {
    pgn: 130850,
    id: "simnetCommandApChangeCourse",
    description: "Simnet: Command AP Change Course",
    why: workedOut(5),
    fields: [...simnetAutopilotEvent(26), ...changeOfCourse],
  },
  {
    pgn: 130850,
    id: "simnetAlarm",
    description: "Simnet: Alarm",
    why: workedOut(1, " without an alarm's number"),
    fields: [
      ...simnetEvent,
      { name: "event_type", type: "enum", table: "SIMNET_EVENT_TYPE", bits: 8, match: 255 },
      { name: "command", bits: 8 },
      { bits: 8, zeros: true },
      { name: "alarm_id", type: "enum", table: "SIMNET_ALARM", bits: 16 },
      { name: "f", bits: 8 },
      { name: "g", bits: 8 },
    ],
  },
  {
    pgn: 130850,
    id: "simnetEventCommandTimer",
    description: "Simnet: Event Command Timer",
    why: workedOut(2, " without parameters: their widths are open"),
    fields: [
      ...simnetEvent,
      { name: "event_type", type: "enum", table: "SIMNET_EVENT_TYPE", bits: 8, match: 23 },
      { name: "event", type: "enum", table: "SIMNET_TIMER_EVENT", bits: 8 },
      { bits: 8, zeros: true },
      { name: "parameter1", bits: 8 },
      { name: "parameter2", bits: 16 },
      { name: "parameter3", bits: 8 },
    ],
  },
  {
    pgn: 130850,
    id: "simnetApCommand",
    description: "Simnet: AP command",
    why: workedOut(1),
    fields: [
      ...simnetAutopilot(10),
      { name: "event", type: "enum", table: "SIMNET_AP_EVENTS", bits: 8 },
      { bits: 8, zeros: true },
      { bits: 32 },
    ],
  },
  {
    pgn: 130850,
    id: "simnetEvent",
    description: "Simnet: Event",
    why: workedOut(1, ", of the kinds that nothing above names"),
    fields: [...simnetEvent, { bits: 56 }],
  },
  {
    pgn: 130851,
    id: "simnetApCommandReplyChangeCourse",
    description: "Simnet: AP Command Reply Change Course",
    why: workedOut(4),
    fields: [...simnetAutopilotEvent(26), ...changeOfCourse],
  },
  {
    pgn: 130851,
    id: "simnetApCommandReply",
    description: "Simnet: AP Command Reply",
    why: workedOut(3, ", all without a value"),
    fields: [
      ...simnetAutopilot(10),
      { name: "event", type: "enum", table: "SIMNET_AP_EVENTS", bits: 8 },
      { bits: 8, zeros: true },
      { name: "d", bits: 8 },
      { name: "value", bits: 16 },
      { bits: 8 },
    ],
  },
  {
    pgn: 130852,
    id: "navicoDiagnosticData",
    replaces: "navicoProprietary2Fp",
    description: "Navico: Diagnostic Data",
    why: workedOut(6),
    fields: [
      ...NAVICO,
      { name: "instance", bits: 8 },
      {
        group: "list",
        fields: [
          { name: "field_id", type: "key", table: "NAVICO_DIAGNOSTIC", bits: 8 },
          { name: "length", type: "length", bits: 8 },
          { name: "value", type: "value" },
        ],
      },
    ],
  },
];

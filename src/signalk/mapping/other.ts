import type { PgnMapping } from "./types.ts";

const RAYMARINE_DISPLAY = "electrical.displays.raymarine.{group|camel}";
const NAVICO_DISPLAY = "electrical.displays.navico.{network_group|camel}";
const FUSION = "entertainment.device.fusion1";
const SOURCE = `${FUSION}.avsource.source{playing!}`;

/** The same value in the four zones of an entertainment system. */
const ZONES = [1, 2, 3, 4] as const;

/** Alerts, and PGNs of makers: autopilots, displays, entertainment. */
export const OTHER: readonly PgnMapping[] = [
  { pgn: 126985, prepare: "alertText", rows: [] },
  {
    pgn: 126983,
    prepare: "alert",
    rows: [[
      "notifications.nmea.{type_in_path}.{category_in_path}.{alert_system}.{alert_id}",
      {
        state: "state",
        method: "method",
        message: "text",
        alertType: "alert_type?",
        alertCategory: "alert_category?",
        alertSystem: "alert_system?",
        alertId: "alert_id?",
        dataSourceNetworkIDNAME: "data_source_network_id_name?",
        dataSourceInstance: "data_source_instance?",
        "dataSourceIndex-Source": "data_source_index_source?",
        occurrence: "alert_occurrence_number?",
        temporarySilenceStatus: "temporary_silence_status?",
        acknowledgeStatus: "acknowledge_status?",
        escalationStatus: "escalation_status?",
        temporarySilenceSupport: "temporary_silence_support?",
        acknowledgeSupport: "acknowledge_support?",
        escalationSupport: "escalation_support?",
        acknowledgeSourceNetworkIDNAME: "acknowledge_source_network_id_name?",
        triggerCondition: "trigger_condition?",
        thresholdStatus: "threshold_status?",
        alertPriority: "alert_priority?",
        alertState: "alert_state?",
      },
    ]],
  },
  {
    pgn: 65288,
    when: { manufacturer_code: "Raymarine" },
    rows: [["notifications.{alarm_group|joined}.{alarm_id|alarm}", ["alarm_status", "alarm_id?"], {
      as: "seatalkAlarm",
    }]],
  },
  { pgn: 65345, rows: [["steering.autopilot.target.windAngleApparent", "wind_datum", { as: "signedAngle" }]] },
  {
    pgn: 65359,
    rows: [["navigation.headingTrue", "heading_true"], ["navigation.headingMagnetic", "heading_magnetic"]],
  },
  {
    pgn: 65360,
    rows: [
      ["steering.autopilot.target.headingTrue", "target_heading_true"],
      ["steering.autopilot.target.headingMagnetic", "target_heading_magnetic"],
    ],
  },
  { pgn: 65379, rows: [["steering.autopilot.state", "pilot_mode", { as: "pilotMode" }]] },
  {
    pgn: 126720,
    when: { manufacturer_code: "Raymarine" },
    rows: [
      [`${RAYMARINE_DISPLAY}.brightness`, "brightness", { as: "ratio" }],
      [`${RAYMARINE_DISPLAY}.color`, "color", { as: "camel" }],
      ["steering.autopilot.state", "pilot_mode", { as: "pilotMode", when: { sub_mode: [0, 4, 8, 12] } }],
      ["steering.autopilot.hullType", "hull_type", { as: "hullType" }],
      ["steering.autopilot.autoTurn.state", "enabled", { as: "isOn", when: { command: "Auto Turn" } }],
    ],
  },
  { pgn: 65305, rows: [["steering.autopilot.state", "mode", { as: "simnetMode" }]] },
  {
    pgn: 65341,
    rows: [
      ["steering.autopilot.target.headingMagnetic", "angle", { when: { mode: ["Heading", "Nav", "No Drift"] } }],
      ["steering.autopilot.target.windAngleApparent", "angle", { when: { mode: "Wind" } }],
    ],
  },
  {
    pgn: 130845,
    when: { manufacturer_code: "Simrad" },
    rows: [
      [`${NAVICO_DISPLAY}.brightness`, "value", { when: { key: "Backlight level" }, as: "ratio" }],
      [`${NAVICO_DISPLAY}.nightMode.state`, "value", { when: { key: "Night mode" }, as: "nightMode" }],
      [`${NAVICO_DISPLAY}.nightModeColor`, "value", { when: { key: "Night mode color" }, as: "nightColor" }],
    ],
  },
  { pgn: 130850, rows: [["notifications.{alarm_id|camelAlarm}", "alarm_id", { as: "simnetAlarm" }]] },
  {
    pgn: 130820,
    when: { manufacturer_code: "Fusion Electronics" },
    prepare: "fusion",
    rows: [
      [`${FUSION}.name`, "name", { when: { message_id: "Unit Name" } }],
      [`${FUSION}.state`, "state", { when: { message_id: "Power" }, as: "fusionState" }],
      [`${SOURCE}.track.artistName`, "artist"],
      [`${SOURCE}.track.albumName`, "album"],
      [`${SOURCE}.track.name`, "track", { when: { message_id: ["Track Title", "Tuner"] } }],
      [`${SOURCE}.track.name`, "title"],
      [`${SOURCE}.track.elapsedTime`, "progress"],
      [`${SOURCE}.track.genre`, "genre"],
      [`${SOURCE}.track.length`, "length"],
      [`${SOURCE}.track.number`, "track", { when: { message_id: "Track Info" } }],
      [`${SOURCE}.track.totalTracks`, "track_count"],
      [`${SOURCE}.playbackState`, "flags", { when: { message_id: "Track Info" }, as: "fusionPlayback" }],
      [`${SOURCE}.tuner.stationName`, "channel", { when: { message_id: "SiriusXM Channel" } }],
      [`${SOURCE}.tuner.frequency`, ["frequency", "source_id"], { as: "tunerFrequency" }],
      [`${SOURCE}.tuner.signalStrength`, "signal_strength", { when: { message_id: "Tuner" } }],
      [`${FUSION}.output.zone{zone_number!}.name`, "name", { when: { message_id: "Zone Name" } }],
      [`${FUSION}.avsource.source{source_id!}.name`, "source"],
      ...ZONES.flatMap((zone) =>
        [
          [`${FUSION}.output.zone${zone}.volume.master`, `zone${zone}`, { when: { message_id: "Volume" } }],
          [`${FUSION}.output.zone${zone}.source`, "current_source_id", { as: "fusionSource" }],
          [`${FUSION}.output.zone${zone}.isMuted`, "mute", { as: "isMuted" }],
          [`${FUSION}.output.zone${zone}.equalizer`, { bass: "bass", mid: "mid", treble: "treble" }],
        ] as const
      ),
    ],
  },
];

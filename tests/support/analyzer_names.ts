/** Names of overlay fields by snake_case of canboat's id, where they are not the same. */
export const RENAMED: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  59904: {
    pgn: "requested_pgn",
  },
  60928: {
    device_instance_lower: "device_instance",
    arbitrary_address_capable: "arbitrary_address",
  },
  61184: {
    register_id: "register",
  },
  61444: {},
  64520: {},
  65011: {
    line_line_ac_rms_voltage: "line_line_voltage",
    line_neutral_ac_rms_voltage: "line_neutral_voltage",
  },
  65014: {
    line_line_ac_rms_voltage: "line_line_voltage",
    line_neutral_ac_rms_voltage: "line_neutral_voltage",
  },
  65237: {},
  126208: {
    number_of_parameters: "number_of_pairs",
    priority: "priority_setting",
    transmission_interval_offset: "transmission_offset",
    transmission_interval_priority_error_code: "control_error_code",
    parameter: "field",
  },
  126992: {
    source: "time_source",
    date: "days_since_1970",
    time: "seconds_today",
  },
  126993: {
    controller1_state: "controller_1_state",
    controller2_state: "controller_2_state",
  },
  126996: {
    nmea2000_version: "nmea_version",
    software_version_code: "software_version",
    model_serial_code: "model_serial",
    certification_level: "cert_level",
    load_equivalency: "load_equiv",
  },
  127245: {},
  127250: {
    reference: "heading_reference",
  },
  127258: {
    age_of_service: "days_since_1970",
  },
  127488: {
    instance: "engine_instance",
    speed: "engine_speed",
    boost_pressure: "engine_boost",
    tilt_trim: "engine_tilt_trim",
  },
  127489: {
    instance: "engine_instance",
    discrete_status1: "discrete_status_1",
    discrete_status2: "discrete_status_2",
    engine_load: "percent_engine_load",
    engine_torque: "percent_engine_torque",
  },
  127500: {
    sequence_id: "sid",
    timeon: "time_on",
    timeoff: "time_off",
  },
  127501: {
    indicator1: "indicators",
  },
  127502: {
    switch1: "indicators",
  },
  127505: {
    type: "fluid_type",
  },
  127506: {
    remaining_capacity: "capacity_remaining",
  },
  127507: {
    enabled: "charger_enable",
    equalization_time_remaining: "equalization_time",
  },
  127508: {},
  127510: {
    charger_enable_disable: "charger_enable",
    equalize_one_time_enable_disable: "equalize_one_time",
    over_charge_enable_disable: "over_charge_enable",
  },
  127513: {
    supports_equalization: "supports_equal",
    peukert_exponent: "temperature_coeff",
    charge_efficiency_factor: "peukert_exponent",
  },
  128259: {
    speed_water_referenced: "speed_water",
    speed_ground_referenced: "speed_ground",
    speed_water_referenced_type: "speed_type",
  },
  128275: {
    date: "days_since_1970",
    time: "seconds_today",
  },
  129029: {
    date: "days_since_1970",
    time: "seconds_today",
    method: "gnss_method",
    number_of_svs: "num_svs",
    geoidal_separation: "geoidal_sep",
    reference_stations: "num_ref_stations",
  },
  129038: {
    ais_transceiver_information: "ais_transceiver_info",
    spare18: "sid",
  },
  129039: {
    ais_transceiver_information: "ais_transceiver_info",
    regional_application_b: "regional_flags",
    dsc: "dsc_flag",
    ais_communication_state: "ais_comm_state",
  },
  129041: {
    length_diameter: "aton_structure_length",
    beam_diameter: "aton_structure_beam",
    position_reference_from_starboard_edge: "position_ref_starboard",
    position_reference_from_true_north_facing_edge: "position_ref_true_north",
    position_fixing_device_type: "position_fix_type",
    ais_transceiver_information: "ais_transceiver_info",
  },
  129283: {
    navigation_terminated: "nav_term",
  },
  129284: {
    distance_to_waypoint: "distance_to_wp",
    course_bearing_reference: "bearing_reference",
    perpendicular_crossed: "perp_crossed",
    calculation_type: "calc_type",
    bearing_origin_to_destination_waypoint: "bearing_origin_to_dest",
    bearing_position_to_destination_waypoint: "bearing_position_to_dest",
    origin_waypoint_number: "origin_wp_number",
    destination_waypoint_number: "dest_wp_number",
    destination_latitude: "dest_latitude",
    destination_longitude: "dest_longitude",
    waypoint_closing_velocity: "wp_closing_velocity",
  },
  129285: {
    nitems: "items",
    navigation_direction_in_route: "navigation_direction",
    supplementary_route_wp_data_available: "supplementary_data",
    wp_id: "id",
    wp_name: "name",
    wp_latitude: "latitude",
    wp_longitude: "longitude",
  },
  129540: {},
  129793: {
    ais_transceiver_information: "ais_transceiver_info",
  },
  129794: {
    type_of_ship: "ship_type",
    length: "ship_length",
    beam: "ship_beam",
    position_reference_from_starboard: "position_ref_starboard",
    position_reference_from_bow: "position_ref_bow",
    draft: "draught",
    ais_transceiver_information: "ais_transceiver_info",
  },
  129810: {
    type_of_ship: "ship_type",
    length: "ship_length",
    beam: "ship_beam",
    position_reference_from_starboard: "position_ref_starboard",
    position_reference_from_bow: "position_ref_bow",
    mothership_user_id: "mothership_mmsi",
    spare13: "spare",
  },
  130306: {
    reference: "wind_reference",
  },
  130310: {
    outside_ambient_air_temperature: "outside_temperature",
  },
  130312: {
    source: "temperature_source",
  },
  130313: {
    source: "humidity_source",
  },
  130314: {
    source: "pressure_source",
  },
  130316: {
    source: "temperature_source",
    temperature: "actual_temperature",
  },
  130723: {},
  130762: {},
  130969: {},
  131015: {},
};

/** The package that speaks MQTT; loaded with `importLate`. */
export { connect } from "mqtt";

/** Flags that `-h` of a server shows: those that people change. `-h all` shows the others, too. By name of the program. */
export const COMMON_FLAGS: Readonly<Record<string, readonly string[]>> = {
  "vbg-boat": [
    ...["interface", "discovery", "listen", "auth-file", "tls-cert", "tls-key", "send-enabled", "send-rules"],
    ...[
      "virtual-device",
      "mqtt-broker",
      "gateway-listen",
      "nmea0183-listen",
      "web-apps",
      "alert-webhook-url",
      "journal-dir",
      "journal-retention-max-size",
    ],
    ...["replication-target", "replication-instance-id"],
    ...[
      "replication-tls-cert",
      "replication-tls-key",
      "replication-tls-ca",
      "config",
      "validate-config",
      "version",
      "help",
    ],
  ],
  "vbg-cloud": [
    ...[
      "grpc-listen",
      "http-listen",
      "listen",
      "tls-cert",
      "tls-key",
      "tls-client-ca",
      "tls-revoked",
      "data-dir",
      "store",
    ],
    ...["acme-domain", "acme-email", "auth-file", "allow-origins", "broker-idle-timeout", "journal-retention-max-age"],
    ...["journal-retention-max-size", "journal-archive-command", "journal-archive-trigger", "log-level", "config"],
    ...["validate-config", "version", "help"],
  ],
};

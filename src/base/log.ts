/** Severities of log lines, in ascending order. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** Severity of a log line. */
export type LogLevel = (typeof LOG_LEVELS)[number];
/** `json`: one object per line; `text`: human-readable. */
export type LogFormat = "json" | "text";
/** Data fields of a log line. */
export type LogFields = Record<string, string | number | boolean | undefined>;

/** Writes structured log lines. */
export class Logger {
  /** Lines below this severity are not written. Can be changed at run time. */
  level: LogLevel;
  readonly #format: LogFormat;
  readonly #write: (line: string) => void;
  readonly #now: () => Date;

  /**
   * Creates a logger.
   *
   * @param options.level lowest severity written, default `info`
   * @param options.format default `text`
   * @param options.write writes a formatted line, default to stderr
   * @param options.now returns the current time, default the system's
   */
  constructor(
    { level = "info", format = "text", write = (line) => console.error(line), now = () => new Date() }: {
      level?: LogLevel;
      format?: LogFormat;
      write?: (line: string) => void;
      now?: () => Date;
    } = {},
  ) {
    this.level = level;
    this.#format = format;
    this.#write = write;
    this.#now = now;
  }

  /** Details for troubleshooting. */
  debug(message: string, fields: LogFields = {}): void {
    this.#line("debug", message, fields);
  }
  /** Normal operation. */
  info(message: string, fields: LogFields = {}): void {
    this.#line("info", message, fields);
  }
  /** A fault that the program handles without loss. */
  warn(message: string, fields: LogFields = {}): void {
    this.#line("warn", message, fields);
  }
  /** Data was lost or an operation failed. */
  error(message: string, fields: LogFields = {}): void {
    this.#line("error", message, fields);
  }

  #line(level: LogLevel, message: string, fields: LogFields): void {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(this.level)) return;
    const time = this.#now().toISOString();
    if (this.#format === "json") {
      const head = { time, level, message };
      this.#write(JSON.stringify({ ...head, ...fields, ...head }));
      return;
    }
    const rest = Object.entries(fields).filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${key}=${typeof value === "string" ? quoteIfNeeded(value) : value}`).join("");
    this.#write(`${time} ${level.toUpperCase().padEnd(5)} ${message}${rest}`);
  }
}

function quoteIfNeeded(text: string): string {
  return /^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text);
}

/** A logger that writes nothing, for tests and embedding. */
export const silentLogger: Logger = new Logger({ level: "error", write: () => {} });

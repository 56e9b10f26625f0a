/** Severity of a log line, least first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** Severity of a log line. */
export type LogLevel = (typeof LOG_LEVELS)[number];
/** `json`: one object a line; `text`: for people. */
export type LogFormat = "json" | "text";
/** Named values of a log line. */
export type LogFields = Record<string, string | number | boolean | undefined>;

/** Structured log lines. One logger is made at start and handed to every part. */
export class Logger {
  /** Lines below this severity are not written. May be changed while running. */
  level: LogLevel;
  readonly #format: LogFormat;
  readonly #write: (line: string) => void;
  readonly #now: () => Date;

  /**
   * Makes a logger.
   *
   * @param options.level least severity written, default `info`
   * @param options.format default `text`
   * @param options.write where a finished line goes, default stderr
   * @param options.now the clock, default the machine's
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

  /** For whoever looks for a fault. */
  debug(message: string, fields: LogFields = {}): void {
    this.#line("debug", message, fields);
  }
  /** Normal life. */
  info(message: string, fields: LogFields = {}): void {
    this.#line("info", message, fields);
  }
  /** Something is wrong and the program copes. */
  warn(message: string, fields: LogFields = {}): void {
    this.#line("warn", message, fields);
  }
  /** Something is lost or given up. */
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

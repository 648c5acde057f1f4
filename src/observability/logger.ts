import { type DestinationStream, pino } from 'pino';
import type { Log } from '../core/work/log.js';
import { flatFieldsText, isoTimeText } from './flat-line.js';
import { redactedFields } from './redacted-fields.js';
import { standardOutput } from './standard-output.js';

/** The severity of a log line, in ascending order. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** The options of a logger. */
export interface LoggerOptions {
  /** The minimum level; lower lines are not written. */
  readonly level: LogLevel;
  /** Default: standard output. */
  readonly destination?: DestinationStream;
}

/** Makes a log of JSON lines: `level` as a word, `time` in ISO 8601, the fields without secrets (`redactedFields`), `msg`. */
export function createLogger({ level, destination = standardOutput() }: LoggerOptions): Log {
  const log = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTimeText(Date.now())}"`,
      formatters: { level: (label: string) => ({ level: label }), log: redactedFields },
      // `redactedFields` has already converted errors to plain objects.
      serializers: { err: (value: unknown) => value },
    },
    destination,
  );

  function info(fields: object, message: string): void {
    const text = flatFieldsText(fields);
    if (text === null) log.info(fields, message);
    else destination.write(`{"level":"info","time":"${isoTimeText(Date.now())}"${text},"msg":${JSON.stringify(message)}}\n`);
  }

  return {
    debug: (fields, message) => log.debug(fields, message),
    info: log.isLevelEnabled('info') ? info : () => undefined,
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
  };
}

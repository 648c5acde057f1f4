import { stat } from 'node:fs/promises';
import { type DestinationStream, pino } from 'pino';
import type { AuditLog } from '../core/work/log.js';
import { flatFieldsText, isoTimeText } from './flat-line.js';
import { perTurn, standardOutput } from './standard-output.js';
import { withoutSecrets } from './without-secrets.js';

/**
 * Opens the audit log: JSON lines with the level `audit`, which no log level switches off. They are appended to the file, readable by its
 * owner only, or are in the log if `file` is null. Throws if the file cannot be opened, or is a pipe.
 */
export async function openAuditLog(file: string | null, destination: DestinationStream = standardOutput()): Promise<AuditLog> {
  const output = file === null ? destination : perTurn(await openFile(file));
  return {
    isAuditInLog: file === null,
    audit(fields) {
      const start = `{"level":"audit","time":"${isoTimeText(Date.now())}"`;
      const text = flatFieldsText(fields);
      if (text === null) output.write(`${start},${JSON.stringify({ ...withoutSecrets(fields), msg: 'audit' }).slice(1)}\n`);
      else output.write(`${start}${text},"msg":"audit"}\n`);
    },
  };
}

async function openFile(dest: string): Promise<DestinationStream> {
  // Opening a pipe waits for its reader, and writing to it for a slow one: the whole service would wait.
  const found = await stat(dest).catch(() => undefined);
  if (found?.isFIFO() || found?.isSocket()) throw new Error(`AUDIT_LOG_FILE ${dest} is a pipe or a socket; must be a file`);
  return new Promise((resolve, reject) => {
    // A line is written before the next turn of the loop, so that a kill loses at most the lines of one turn.
    const stream = pino.destination({ dest, append: true, sync: true, mode: 0o600 });
    stream.once('ready', () => resolve(stream));
    stream.once('error', (cause: unknown) => reject(new Error(`cannot open AUDIT_LOG_FILE ${dest}`, { cause })));
  });
}

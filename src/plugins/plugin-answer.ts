import type { Warning } from '../core/errors/errors.js';
import { type PluginAnswer, ProcessFailure } from '../core/ports/plugin-process.js';
import type { Plugin } from '../core/records/plugin.js';
import { outsideText } from '../core/text/safe-text.js';
import { memberText } from '../json/json-reader.js';

/** The answer of a process as HTTP has it. */
export interface HttpAnswer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** The type of an answer with `result` and `logs`, so that no result can be mistaken for one. */
const answerType = /^application\/vnd\.relayer\.plugin\+json(?:[\t ]*;|$)/i;
const jsonType = /^application\/(?:[\w.-]+\+)?json(?:[\t ]*;|$)/i;
/** Headers of answers that callers get. */
const passedOn = ['payment-required', 'payment-response', 'retry-after', 'x-payment-response'];
const maxLogs = 100;
const levels: readonly Warning['level'][] = ['log', 'info', 'error', 'warn', 'debug', 'result'];

/** Reads the answer of a plugin's process. Throws ProcessFailure if it cannot be passed on. */
export function pluginAnswerFrom({ rawResponse, forwardLogs }: Plugin, { status, headers, body }: HttpAnswer): PluginAnswer {
  if (status < 200 || (status >= 300 && status < 400)) throw new ProcessFailure(`answered ${status}, and redirects are not followed`);
  if (status > 599) throw new ProcessFailure(`answered with the unknown status ${status}`);
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') throw new ProcessFailure('gave an answer that is compressed');
  const names = rawResponse ? [...passedOn, 'content-type'] : passedOn;
  const shown = names.flatMap((name) => {
    const value = headers.get(name);
    return value === undefined ? [] : [{ name, value }];
  });
  const none = { status, data: null, error: null, logs: [], headers: shown, rawBody: null };
  if (rawResponse) return { ...none, rawBody: body };
  const type = headers.get('content-type') ?? '';
  const isAnswer = answerType.test(type);
  const text = textOf(body);
  const value = jsonOf(text, isAnswer || jsonType.test(type));
  const logs = forwardLogs && isAnswer ? logsOf(value?.parsed) : [];
  if (status >= 400) return { ...none, ...refusalOf(status, value), logs };
  if (!isAnswer) return { ...none, data: value?.text ?? (text === '' ? null : JSON.stringify(text)), logs };
  if (value === null || !isObject(value.parsed)) throw new ProcessFailure('gave an answer that is no JSON object');
  return { ...none, data: memberText(value.text, 'result'), logs };
}

/** A JSON text and its value. */
interface Json {
  readonly text: string;
  readonly parsed: unknown;
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new ProcessFailure('gave an answer that is not UTF-8; set raw_response to pass it on');
  }
}

function jsonOf(text: string, isJson: boolean): Json | null {
  if (!isJson || text === '') return null;
  try {
    return { text, parsed: JSON.parse(text) };
  } catch {
    throw new ProcessFailure('gave an answer that is not JSON, although its type says so');
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the error of a plugin. A process that fails answers 500 without one: that is no answer of a plugin. */
function refusalOf(status: number, json: Json | null): Pick<PluginAnswer, 'data' | 'error'> {
  const value = isObject(json?.parsed) ? json.parsed : {};
  const said = [value.message, value.error].find((one) => typeof one === 'string' && one !== '');
  if (typeof said !== 'string' && status >= 500) throw new ProcessFailure(`answered ${status} without a message`);
  const { code, details } = value;
  const data = code === undefined && details === undefined ? null : JSON.stringify({ code: code ?? null, details: details ?? null });
  return { data, error: typeof said === 'string' ? outsideText(said) : `the plugin answered ${status}` };
}

function logsOf(value: unknown): readonly Warning[] {
  const list = isObject(value) && Array.isArray(value.logs) ? (value.logs as readonly unknown[]) : [];
  return list.slice(0, maxLogs).flatMap((entry) => {
    if (!isObject(entry) || typeof entry.message !== 'string') return [];
    const level = levels.find((one) => one === entry.level) ?? 'log';
    return [{ level, message: outsideText(entry.message) }];
  });
}

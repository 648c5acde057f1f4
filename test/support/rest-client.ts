import { apiKey } from './service.js';

/** An answer of REST. */
export interface RestResult {
  readonly status: number;
  /** `X-Error-Reason`; null with a success. */
  readonly reason: string | null;
  /** The whole body. */
  readonly body: ReturnType<typeof JSON.parse>;
}

/** Calls REST under `/api/v1` with the bootstrap key, or with another. */
export type RestClient = (verb: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<RestResult>;

/** Makes the client of a service. */
export function restClient(baseUrl: () => string, key: string = apiKey): RestClient {
  return async (verb, path, body, headers = {}) => {
    const answer = await fetch(`${baseUrl()}/api/v1${path}`, {
      method: verb,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, reason: answer.headers.get('x-error-reason'), body: text === '' ? null : JSON.parse(text) };
  };
}

import { rest } from './callers.js';

/** The REST fields of every network's record. */
export interface CommonRecord {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly hash: string | null;
  readonly sent_at: string | null;
  readonly confirmed_at: string | null;
  readonly failure_reason: string | null;
  readonly block_number: number | null;
  readonly gas_used: number | null;
  readonly fee_paid: string | null;
  readonly valid_until: string | null;
}

/** The fields of an EVM record that tests read. */
export interface TransactionRecord extends CommonRecord {
  readonly nonce: number | null;
  readonly from: string;
  readonly to: string | null;
  readonly value: string;
  readonly data: string | null;
  readonly is_canceled: boolean;
}

/** The REST fields of every network's attempt. */
export interface CommonAttempt {
  readonly version: number;
  readonly purpose: string;
  readonly hash: string;
  readonly is_mined: boolean;
}

/** The fields of an EVM attempt that tests read. */
export interface AttemptRecord extends CommonAttempt {
  readonly nonce: number;
  readonly to: string | null;
  readonly value: string;
}

/** The answer to a call that changes something. */
export interface Answer<R extends CommonRecord = TransactionRecord> {
  readonly status: number;
  /** `X-Error-Reason`; null on success. */
  readonly reason: string | null;
  readonly text: string;
  /** The record; null on failure. */
  readonly record: R | null;
}

/** Calls one relayer by REST. A read fails unless it is answered 200. */
export interface RelayerClient<R extends CommonRecord = TransactionRecord, A extends CommonAttempt = AttemptRecord> {
  send(body: object): Promise<Answer<R>>;
  replace(id: string, body: object): Promise<Answer<R>>;
  cancel(id: string): Promise<Answer<R>>;
  get(id: string): Promise<R>;
  /** Every record, of all pages, newest first. */
  list(): Promise<readonly R[]>;
  /** Newest first. */
  attempts(id: string): Promise<readonly A[]>;
}

/** Makes the client of a relayer of a service; the records are those of its network. */
export function createRelayerClient<R extends CommonRecord = TransactionRecord, A extends CommonAttempt = AttemptRecord>(
  baseUrl: string,
  relayerId = 'r1',
): RelayerClient<R, A> {
  const path = `/relayers/${relayerId}/transactions`;

  async function change(verb: string, suffix: string, body?: object): Promise<Answer<R>> {
    const { status, headers, text, body: answer } = await rest(baseUrl, verb, path + suffix, body);
    return { status, reason: headers.get('x-error-reason'), text, record: status === 200 ? answer.data : null };
  }

  async function read(suffix: string): Promise<{ readonly data: never; readonly pagination: { readonly total_items: number } }> {
    const { status, text, body } = await rest(baseUrl, 'GET', path + suffix);
    if (status !== 200) throw new Error(`GET ${path}${suffix} was answered ${status}: ${text}`);
    return body;
  }

  return {
    send: (body) => change('POST', '', body),
    replace: (id, body) => change('PUT', `/${id}`, body),
    cancel: (id) => change('DELETE', `/${id}`),
    get: async (id) => (await read(`/${id}`)).data,
    async list() {
      const byId = new Map<string, R>();
      for (let page = 1; ; page++) {
        const { data, pagination } = await read(`?per_page=100&page=${page}`);
        // New transactions shift the pages, so a record may come twice.
        for (const record of data as readonly R[]) byId.set(record.id, record);
        if (page * 100 >= pagination.total_items) return [...byId.values()];
      }
    },
    attempts: async (id) => (await read(`/${id}/attempts?per_page=100`)).data,
  };
}

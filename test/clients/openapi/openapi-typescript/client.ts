// A client of the service with openapi-fetch, typed by openapi-typescript.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import createClient from 'openapi-fetch';
import type { components, paths } from './relayer.js';

type EvmTransaction = components['schemas']['EvmTransaction'];

const { RELAYER_URL: baseUrl = '', RELAYER_API_KEY: apiKey = '', RECORDS_FOLDER: recordsFolder = '', RELAYER_STELLAR_URL: stellarUrl = '' } = process.env;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${apiKey}` } });
const ofRelayer = { relayer_id: 'r1' };

const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1000000000000000001' };
const answer = await client.POST('/api/v1/relayers/{relayer_id}/transactions', {
  params: { path: ofRelayer, header: { 'Idempotency-Key': 'openapi-typescript' } },
  body,
});
if (answer.data === undefined) throw new Error(answer.error.error);
const sent = answer.data.data as EvmTransaction;
expect(sent.value === body.value, 'send', sent);

const deadline = Date.now() + 60_000;
let got = sent;
while (got.status !== 'confirmed' && Date.now() < deadline) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  const path = { ...ofRelayer, transaction_id: sent.id };
  const { data } = await client.GET('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { params: { path } });
  got = data?.data as EvmTransaction;
}
expect(got.status === 'confirmed' && got.nonce !== null && got.signature !== null, 'get', got);

const page = await client.GET('/api/v1/relayers/{relayer_id}/transactions', {
  params: { path: ofRelayer, query: { per_page: 100, status: ['confirmed'] } },
});
expect(page.data?.data.some(({ id }) => id === sent.id) === true && page.data.pagination.total_items >= 1, 'list', page.data);

const hash = '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f';
const signed = await client.POST('/api/v1/relayers/{relayer_id}/sign-typed-data', {
  params: { path: ofRelayer },
  body: { domain_separator: hash, hash_struct_message: hash },
});
expect(signed.data?.data.sig.length === 130 && [27, 28].includes(signed.data.data.v), 'sign', signed.data);

const id = 'from-openapi-typescript';
const created = await client.POST('/api/v1/notifications', { body: { id, url: 'https://example.com/hook' } });
const listed = await client.GET('/api/v1/notifications');
await client.DELETE('/api/v1/notifications/{notification_id}', { params: { path: { notification_id: id } } });
expect(created.data?.data.id === id && listed.data?.data[0]?.id === id, 'notifications', listed.data);

const { error, response } = await client.GET('/api/v1/relayers/{relayer_id}', { params: { path: { relayer_id: 'missing' } } });
expect(error?.message === 'Not found' && response.headers.get('x-error-reason') === 'RELAYER_NOT_FOUND', 'error', error);

const event = record('transaction-update-event') as components['schemas']['TransactionUpdateEvent'];
const stellar = record('stellar-transaction') as components['schemas']['StellarTransaction'];
expect(event.payload.payload_type === 'transaction' && stellar.source_account === 'G', 'records', event);

// A JSON number is a floating-point number in JavaScript; the status has the balance as a text, too.
const status = await client.GET('/api/v1/relayers/{relayer_id}/status', { params: { path: { relayer_id: 'r2' } } });
console.log('status_balance', status.data?.data.balance);

const onStellar = createClient<paths>({ baseUrl: stellarUrl, headers: { authorization: `Bearer ${apiKey}` } });
const destination = 'GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT';
for (const value of ['ff'.repeat(32), Array.from({ length: 32 }, (_, index) => index)]) {
  const sent = await onStellar.POST('/api/v1/relayers/{relayer_id}/transactions', {
    params: { path: ofRelayer },
    body: {
      network: 'local',
      operations: [{ type: 'payment', destination, amount: '1', asset: { type: 'native' } }],
      memo: { type: 'hash', value },
    },
  });
  if (sent.data === undefined) throw new Error(sent.error.error);
}
expect(true, 'memos', null);

function record(name: string): unknown {
  return JSON.parse(readFileSync(join(recordsFolder, `${name}.json`), 'utf8'));
}

function expect(is: boolean, step: string, shown: unknown): void {
  if (!is) throw new Error(`${step}: ${JSON.stringify(shown)}`);
  console.log('done', step);
}

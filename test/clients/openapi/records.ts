import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AttemptPurpose, AttemptSchema, TransactionSchema, TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';
import { CodecCompiler } from '../../../src/codec/message-codec.js';
import { writeObject } from '../../../src/codec/object-codec.js';

const compiler = new CodecCompiler();
const createdAt = timestampFromMs(Date.parse('2026-01-15T09:30:00Z'));
const common = {
  id: '019a9f3c-52d1-7c0e-9d3b-2f6a1c8e4b70',
  relayerId: 'r1',
  status: TransactionStatus.CONFIRMED,
  createdAt,
  revision: 5n,
  updatedAt: createdAt,
};

/** One record of each network. The fee is not exact as a floating-point number. */
const transactions = {
  evm: create(TransactionSchema, {
    ...common,
    network: { case: 'evm', value: { fromAddress: '0x00', value: '1', nonce: 7n, isCanceled: false } },
  }),
  stellar: create(TransactionSchema, {
    ...common,
    network: { case: 'stellar', value: { sourceAccount: 'G', fee: '9007199254740993', sequenceNumber: '1' } },
  }),
  solana: create(TransactionSchema, { ...common, network: { case: 'solana', value: { transaction: 'AAAA' } } }),
};

const attempt = create(AttemptSchema, {
  version: 1,
  purpose: AttemptPurpose.CONTENT,
  hash: '00',
  createdAt,
  network: { case: 'stellar', value: { sourceAccount: 'G', sequenceNumber: '1', fee: '100', envelopeXdr: 'AAAA' } },
});

/** Writes records and an event into this folder as the service does, and as a later version with another field may. */
export async function writeRecords(folder: string): Promise<void> {
  const write = (name: string, text: string) => writeFile(join(folder, `${name}.json`), text);
  for (const [network, record] of Object.entries(transactions))
    await write(`${network}-transaction`, later(textOf(TransactionSchema, record)));
  await write('stellar-attempt', later(textOf(AttemptSchema, attempt)));
  const payload = later(textOf(TransactionSchema, transactions.evm)).replace('{', '{"payload_type":"transaction",');
  await write(
    'transaction-update-event',
    `{"id":"1","event":"transaction_update","payload":${payload},"timestamp":"2026-01-15T09:30:00.000Z"}`,
  );
}

function textOf(schema: Parameters<typeof compiler.object>[0], record: object): string {
  return writeObject(compiler.object(schema), record as never);
}

function later(text: string): string {
  return text.replace('{', '{"field_of_a_later_version":{"x":1},');
}

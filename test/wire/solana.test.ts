import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type JsonValue, toJson } from '@bufbuild/protobuf';
import { address } from '@solana/kit';
import { SigningService, type SignTransactionResponse, SignTransactionResponseSchema } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import type { SolanaRequest } from '../../src/core/records/solana.js';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { transferOf } from '../../src/sandbox/solana/instructions.js';
import { rest } from '../support/callers.js';
import { pendingRecord } from '../support/pending-record.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';
import { createEd25519Home, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { transferInstruction } from '../support/solana.js';
import { solanaRefusals, strictRefusals, strictSolanaPolicies } from '../support/solana-refusals.js';
import { builtTransaction, rawTransaction } from '../support/solana-samples.js';

const to = (await signerOf(8)).address;
const other = await signerOf(7);

let home: ServiceHome;
let service: RunningService;
let askers: readonly RpcAsker[];

before(async () => {
  // No node listens there, so accepted transactions stay pending.
  home = await createEd25519Home({
    network: 'solana',
    rpcUrls: ['http://127.0.0.1:9'],
    policies: {
      allowed_programs: strictSolanaPolicies.allowedPrograms,
      disallowed_accounts: strictSolanaPolicies.disallowedAccounts,
      max_signatures: strictSolanaPolicies.maxSignatures,
      max_tx_data_size: strictSolanaPolicies.maxTxDataSizeBytes,
      max_allowed_fee_lamports: Number(strictSolanaPolicies.maxAllowedFeeLamports),
    },
  });
  service = await startService(home);
  askers = rpcAskers(service.baseUrl);
});

after(async () => {
  for (const asker of askers ?? []) asker.close();
  await service?.stop();
  await home?.remove();
});

/** The request as REST has it; protobuf JSON reads the same. */
function bodyOf({ transaction, instructions = [], validUntilMs }: Partial<SolanaRequest>): Record<string, JsonValue> {
  return {
    ...(transaction === undefined ? {} : { transaction }),
    ...(instructions.length === 0
      ? {}
      : {
          instructions: instructions.map(({ programId, accounts, data }) => ({
            program_id: programId,
            accounts: accounts.map(({ pubkey, isSigner, isWritable }) => ({ pubkey, is_signer: isSigner, is_writable: isWritable })),
            data,
          })),
        }),
    ...(validUntilMs === undefined ? {} : { valid_until: new Date(validUntilMs).toISOString() }),
  };
}

const send = (body: unknown) => rest(service.baseUrl, 'POST', '/relayers/r1/transactions', body);
const sign = (body: unknown) => rest(service.baseUrl, 'POST', '/relayers/r1/sign-transaction', body);
const transfer = () => transferInstruction(home.address, to, 5n);

/** A refusal by REST: reason, sentence and the specification's text. */
async function restRefusal(asked: ReturnType<typeof send>): Promise<readonly string[]> {
  const { status, headers, body } = await asked;
  return [`${status} ${headers.get('x-error-reason')}`, body.error, body.message];
}

/** The same refusal by every RPC protocol, without the name of the union's case in the path of a violation. */
async function rpcRefusal(method: Parameters<RpcAsker['ask']>[0], message: JsonValue): Promise<readonly string[]> {
  const answers = await Promise.all(
    askers.map(async ({ ask }) => {
      const answer = await ask(method, message);
      assert.ok(!answer.ok);
      const [field] = answer.fields;
      assert.ok(field === undefined || answer.sentence === `${field.field} ${field.description}`);
      assert.ok(field === undefined || field.field.startsWith('solana.'), field?.field);
      return [`${answer.code} ${answer.info?.reason}`, answer.sentence.replace(/^solana\./, ''), answer.info?.metadata.message ?? ''];
    }),
  );
  const [first = []] = answers;
  for (const answer of answers) assert.deepEqual(answer, first);
  return first;
}

describe('refused Solana requests', () => {
  it('Solana request: REST and every RPC protocol state what is wrong', async () => {
    const refusals = [...(await solanaRefusals(home.address)), ...(await strictRefusals(home.address))];
    assert.ok(refusals.length > 50);
    for (const { what, request, sentence, reason = 'FIELD_INVALID' } of refusals) {
      const body = bodyOf(request);
      assert.deepEqual(await restRefusal(send(body)), [`400 ${reason}`, sentence, 'Bad Request'], what);
      const rpc = await rpcRefusal(TransactionService.method.sendTransaction, { relayerId: 'r1', solana: body });
      assert.deepEqual(rpc, [`InvalidArgument ${reason}`, sentence, 'Bad Request'], what);
    }
  });

  it('Solana request: a wrong replacement is refused and changes nothing', async () => {
    const { body: sent } = await send(bodyOf({ instructions: [transfer()] }));
    const put = (body: unknown) => rest(service.baseUrl, 'PUT', `/relayers/r1/transactions/${sent.data.id}`, body);
    assert.deepEqual(await restRefusal(put({})), ['400 FIELD_INVALID', 'transaction is required if instructions is empty', 'Bad Request']);
    const { body: after } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${sent.data.id}`);
    assert.deepEqual(after.data.instructions, sent.data.instructions);
  });

  it('Solana request: a JSON value of a wrong type is named by its path', async () => {
    const instruction = bodyOf({ instructions: [transfer()] }).instructions as JsonValue[];
    const [whole] = instruction as Record<string, JsonValue>[];
    const [first, second] = (whole?.accounts ?? []) as Record<string, JsonValue>[];
    const cases: readonly (readonly [JsonValue, string])[] = [
      [{ transaction: 7 }, '400 FIELD_INVALID: transaction must be a string'],
      [{ instructions: {} }, '400 FIELD_INVALID: instructions must be an array'],
      [{ instructions: ['x'] }, '400 FIELD_INVALID: instructions[0] must be an object'],
      // Only Stellar takes Unix seconds.
      [
        { instructions: instruction, valid_until: '1893456000' },
        '400 FIELD_INVALID: valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
      ],
      [{ instructions: instruction, valid_until: 1893456000 }, '400 FIELD_INVALID: valid_until must be a string'],
      [{ instructions: [{ ...whole, data: '====' }] }, '400 FIELD_INVALID: instructions[0].data must be base64'],
      [{ instructions: [{ ...whole, data: [1, 2] }] }, '400 FIELD_INVALID: instructions[0].data must be base64'],
      [
        { instructions: [{ ...whole, accounts: [first ?? null, { ...second, is_writable: 'yes' }] }] },
        '400 FIELD_INVALID: instructions[0].accounts[1].is_writable must be true or false',
      ],
      [
        { instructions: [{ ...whole, account: [] }] },
        '400 FIELD_UNKNOWN: instructions[0].account is not a known field; did you mean `accounts`?',
      ],
    ];
    for (const [body, said] of cases) {
      const [status, sentence] = await restRefusal(send(body));
      assert.equal(`${status}: ${sentence}`, said);
    }
  });

  it('Solana request: the shape of another network is refused over RPC', async () => {
    const evm = { relayerId: 'r1', evm: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' } };
    assert.deepEqual(await rpcRefusal(TransactionService.method.sendTransaction, evm), [
      'InvalidArgument WRONG_NETWORK_SHAPE',
      "transaction has the evm shape, but the relayer's network type is solana",
      'Bad Request',
    ]);
  });
});

describe('a Solana transaction', () => {
  it('Solana transaction: the record has valid_until', async () => {
    const validUntil = '2099-01-31T12:00:00.000Z';
    const { body } = await send({ ...bodyOf({ instructions: [transfer()] }), valid_until: validUntil });
    assert.equal(body.data.valid_until, validUntil);
  });

  it('Solana transaction: the record has the common fields and those of Solana', async () => {
    const { status, body } = await send(bodyOf({ instructions: [transfer()] }));
    assert.equal(status, 200);
    const { id, status_reason, created_at, updated_at, ...record } = body.data;
    assert.ok(id && created_at && updated_at);
    assert.match(String(status_reason), /^waiting: queued for signing: /);
    assert.deepEqual(record, {
      ...pendingRecord,
      transaction: '',
      instructions: bodyOf({ instructions: [transfer()] }).instructions,
    });
  });

  it('Solana transaction: the record shows the content of the caller before it is signed', async () => {
    const transaction = await builtTransaction(home.address, [transferOf(other.address, to, 5n)], { version: 0, signers: [other] });
    const { body } = await send({ transaction });
    assert.deepEqual([body.data.transaction, body.data.instructions], [transaction, []]);
    for (const asker of askers) {
      const answer = await asker.ask(TransactionService.method.getTransaction, { relayerId: 'r1', transactionId: body.data.id });
      assert.ok(answer.ok, asker.protocol);
    }
  });

  it('Solana transaction: fields of other networks are ignored with a warning', async () => {
    const { status, body } = await send({
      ...bodyOf({ instructions: [transfer()] }),
      to: 'x',
      value: 1,
      network: 'testnet',
      fee_bump: true,
    });
    assert.equal(status, 200);
    assert.deepEqual(
      body.metadata.logs.map(({ level, message }: { level: string; message: string }) => `${level}: ${message}`),
      [
        'warn: to is ignored: it is a field of evm, not of solana',
        'warn: value is ignored: it is a field of evm, not of solana',
        'warn: network is ignored: it is a field of stellar, not of solana',
        'warn: fee_bump is ignored: it is a field of stellar, not of solana',
      ],
    );
  });

  it('Solana transaction: an unsigned one can be replaced and canceled', async () => {
    const { body: sent } = await send(bodyOf({ instructions: [transfer()] }));
    const path = `/relayers/r1/transactions/${sent.data.id}`;
    const transaction = await builtTransaction(home.address, [transferOf(address(home.address), to, 6n)]);
    const { status, body: replaced } = await rest(service.baseUrl, 'PUT', path, { transaction });
    assert.equal(status, 200);
    assert.deepEqual([replaced.data.id, replaced.data.transaction, replaced.data.instructions], [sent.data.id, transaction, []]);
    const { body: canceled } = await rest(service.baseUrl, 'DELETE', path);
    assert.equal(canceled.data.status, 'canceled');
  });

  it('Solana transaction: cannot be found by a nonce', async () => {
    const { status } = await rest(service.baseUrl, 'GET', '/relayers/r1/transactions/by-nonce/1');
    assert.equal(status, 501);
  });
});

describe('signing on a Solana relayer', () => {
  it("Solana signing: REST and every RPC protocol add the relayer's signature to a transaction", async () => {
    const transaction = await builtTransaction(home.address, [transferOf(other.address, to, 5n)]);
    const { status, body } = await sign({ transaction });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body.data), ['transaction', 'signature']);
    assert.match(body.data.signature, /^[1-9A-HJ-NP-Za-km-z]{80,88}$/);
    assert.notEqual(body.data.transaction, transaction);
    for (const asker of askers) {
      const answer = await asker.ask(SigningService.method.signTransaction, { relayerId: 'r1', solana: { transaction } });
      assert.ok(answer.ok, asker.protocol);
      const { result } = toJson(SignTransactionResponseSchema, answer.response as SignTransactionResponse) as { result: object };
      assert.deepEqual(result, { solana: body.data });
    }
  });

  it('Solana signing: a refusal states what is wrong', async () => {
    const tables = [{ table: to, writable: [0], readonly: [] }];
    const refusals = [
      ...(await strictRefusals(home.address)).filter(({ request }) => request.transaction !== undefined),
      { request: { transaction: '' }, sentence: 'transaction is required' },
      {
        request: { transaction: rawTransaction(home.address, to, { version: 0, tables }) },
        sentence: "transaction uses address lookup tables, so the relayer's account policies cannot be checked here; send it instead",
      },
    ];
    for (const { request, sentence } of refusals) {
      const body = bodyOf(request);
      assert.equal((await restRefusal(sign(body)))[1], sentence);
      assert.equal((await rpcRefusal(SigningService.method.signTransaction, { relayerId: 'r1', solana: body }))[1], sentence);
    }
  });

  it('Solana signing: only transactions can be signed', async () => {
    for (const [path, body] of [
      ['sign', { message: 'x' }],
      ['sign-typed-data', { domain_separator: '00'.repeat(32), hash_struct_message: '00'.repeat(32) }],
    ] as const) {
      const said = await restRefusal(rest(service.baseUrl, 'POST', `/relayers/r1/${path}`, body));
      assert.deepEqual(said, [
        '400 NOT_SUPPORTED_ON_NETWORK',
        'relayer r1 is of network type solana; only evm relayers sign data',
        'Bad Request',
      ]);
    }
  });
});

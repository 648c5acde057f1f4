import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { getOption } from '@bufbuild/protobuf';
import { address } from '@solana/kit';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { method as methodOption, Scope } from '../../gen/relayer/rest/v1/options_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { transferOf } from '../../src/sandbox/solana/instructions.js';
import { rest, rpcCallers } from '../support/callers.js';
import { type SolanaService, type StellarService, startSolanaService, startStellarService } from '../support/network-service.js';
import { type RunningService, type ServiceHome, startService } from '../support/service.js';
import { transactionBody } from '../support/solana-body.js';
import { createWallet } from '../support/stellar-wallet.js';

/** What the code does with a signature, for each file that asks a key for one. */
const uses: Readonly<
  Record<string, 'the service sends it' | 'a caller gets it' | 'it is over a fixed text' | 'asks the provider of the key'>
> = {
  'api/services/signing/signing-service.ts': 'a caller gets it',
  'app/open-hosted-keys.ts': 'asks the provider of the key',
  'chains/evm/sign-foreign.ts': 'a caller gets it',
  'chains/evm/sign.ts': 'the service sends it',
  'chains/solana/sign-foreign.ts': 'a caller gets it',
  'chains/solana/sign.ts': 'the service sends it',
  // `sign-foreign.ts` adds its signature to a caller's envelope, and `sign` to an attempt.
  'chains/stellar/sign.ts': 'the service sends it',
  'core/signer/sign-data.ts': 'a caller gets it',
  'core/signer/signers.ts': 'it is over a fixed text',
  'core/transaction/sign-attempt.ts': 'the service sends it',
};

const kinds = ['message', 'typed data', 'transaction'] as const;
type Kind = (typeof kinds)[number];

/** A call by which a caller gets a signature. */
interface Door {
  readonly name: string;
  readonly method: 'SignData' | 'SignTypedData' | 'SignTransaction';
  readonly kind: Kind;
  body(): Promise<object> | object;
}

const paths = { SignData: 'sign', SignTypedData: 'sign-typed-data', SignTransaction: 'sign-transaction' } as const;
const checks = { SignData: 'sign_data', SignTypedData: 'sign_typed_data', SignTransaction: 'sign_transaction' } as const;
const dataDoors: readonly Door[] = [
  { name: 'a message', method: 'SignData', kind: 'message', body: () => ({ message: 'hello' }) },
  {
    ...{ name: 'typed data', method: 'SignTypedData', kind: 'typed data' },
    body: () => ({ domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) }),
  },
];

const rules = [{ id: 'all', effect: 'allow' }];
/** Policies, and what a relayer signs with them. */
const states: readonly { readonly name: string; readonly policies: object; readonly signs: readonly Kind[] }[] = [
  { name: 'neither rules nor signing', policies: { rules: null, signing: null }, signs: ['transaction'] },
  { name: 'rules', policies: { rules, signing: null }, signs: [] },
  { name: 'rules, and signing of transactions', policies: { rules, signing: { transactions: 'allow' } }, signs: ['transaction'] },
  { name: 'rules, and signing of messages', policies: { rules, signing: { messages: 'allow', transactions: 'deny' } }, signs: [] },
  { name: 'signing of nothing', policies: { rules: null, signing: {} }, signs: [] },
];

/** JSON-RPC methods that sign or send. */
const callMethods = {
  stellar: ['sendTransaction', 'signTransaction', 'signAndSubmitTransaction'],
  solana: ['sendTransaction', 'signTransaction', 'signAndSendTransaction', 'transferTransaction', 'prepareTransaction', 'requestAirdrop'],
} as const;

interface Rig {
  readonly service: RunningService;
  readonly home: ServiceHome;
}

const path = ({ home }: Rig) => `/relayers/${home.relayerId}`;

async function setPolicies(rig: Rig, policies: object, relayer = path(rig)) {
  const { status, text, body } = await rest(rig.service.baseUrl, 'PATCH', relayer, { policies });
  assert.equal(status, 200, text);
  return body;
}

/** What a door answers: signed, or the reason of the error. */
async function answerOf(rig: Rig, { method }: Door, body: object, relayer = path(rig)): Promise<string> {
  const { status, headers } = await rest(rig.service.baseUrl, 'POST', `${relayer}/${paths[method]}`, body);
  return status === 200 ? 'signed' : `${status} ${headers.get('x-error-reason')}`;
}

/** The tests of the doors of a network. Only EVM relayers sign data at all. */
function testDoors(network: 'stellar' | 'solana', rigOf: () => Rig, transactions: readonly Door[]): void {
  const doors = [...dataDoors, ...transactions];
  const expected = ({ kind }: Door, signs: readonly Kind[]): string => {
    if (kind !== 'transaction') return '400 NOT_SUPPORTED_ON_NETWORK';
    return signs.includes(kind) ? 'signed' : '403 POLICY_DENIED';
  };

  for (const { name, policies, signs } of states) {
    it(`${network}, ${name}: each door signs what is allowed, over REST and RPC, and the check of policies says so`, async () => {
      const rig = rigOf();
      const changed = await setPolicies(rig, policies);
      assert.equal(/no policy signing/.test(JSON.stringify(changed.metadata ?? null)), name === 'rules', 'warns of rules alone');
      const callers = rpcCallers(rig.service.baseUrl);
      for (const door of doors) {
        const wanted = expected(door, signs);
        assert.equal(await answerOf(rig, door, await door.body()), wanted, door.name);
        for (const { protocol, call } of callers) {
          const body = await door.body();
          const message = { relayer_id: rig.home.relayerId, ...(door.kind === 'transaction' ? { [network]: body } : body) };
          const answer = await call('SigningService', door.method, message);
          assert.equal(answer.ok, wanted === 'signed', `${door.name} over ${protocol}: ${JSON.stringify(answer)}`);
        }
        const check = await rest(rig.service.baseUrl, 'POST', `${path(rig)}/policies/check`, { [checks[door.method]]: await door.body() });
        const verdict = wanted === 'signed' ? 'allow' : 'deny';
        if (door.kind === 'transaction') assert.equal(check.body.data?.verdict, verdict, `${door.name}: ${check.text}`);
        else assert.equal(check.headers.get('x-error-reason'), 'NOT_SUPPORTED_ON_NETWORK', door.name);
      }
      for (const caller of callers) caller.close();
    });
  }

  it(`${network}: no JSON-RPC method signs or sends`, async () => {
    const rig = rigOf();
    for (const method of callMethods[network]) {
      const body = { jsonrpc: '2.0', method, params: {}, id: 1 };
      const { text } = await rest(rig.service.baseUrl, 'POST', `${path(rig)}/rpc`, body);
      assert.match(text, /is not"|is not supported/);
    }
  });

  it(`${network}: the policy is read as it was set, and typed data is refused with a sentence`, async () => {
    const rig = rigOf();
    const set = await setPolicies(rig, { signing: { messages: 'allow', transactions: 'allow' } });
    assert.deepEqual(set.data.policies.signing, { messages: 'allow', transactions: 'allow', typed_data: 'deny' });
    await setPolicies(rig, { signing: set.data.policies.signing });
    for (const typed_data of ['allow', { domains: ['11'.repeat(32)] }]) {
      const { status, body } = await rest(rig.service.baseUrl, 'PATCH', path(rig), { policies: { signing: { typed_data } } });
      const sentence = 'policies.signing.typed_data must be deny or left out: only evm relayers sign typed data';
      assert.deepEqual([status, body.error], [400, sentence]);
    }
  });
}

describe('the doors by which a key signs', () => {
  it('each use of a key is in the table, and each method with the scope to sign is a door', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .map((file) => file.split(sep).join('/'))
      .filter((file) => file.endsWith('.ts') && !file.startsWith('signers/') && !file.startsWith('sandbox/'));
    const asking = files.filter((file) => /(?<!Math)\.sign(?:Digest)?\(/.test(readFileSync(join('src', file), 'utf8')));
    assert.deepEqual(asking.sort(), Object.keys(uses).sort());
    const signing = [...SigningService.methods, ...TransactionService.methods].filter(
      (method) => getOption(method, methodOption).scope === Scope.SIGN,
    );
    assert.deepEqual(signing.map(({ name }) => name).sort(), Object.keys(paths).sort());
  });
});

describe('the doors of a Stellar relayer', () => {
  let rig: StellarService;
  before(async () => {
    rig = await startStellarService({ node: { expectedCloseSeconds: 0 } });
  });
  after(() => rig?.stop());

  const builder = (source: string) =>
    new TransactionBuilder(new Account(source, '1'), { fee: '100', networkPassphrase: rig.ledger.passphrase }).setTimeout(600);
  const paying = (destination: string, source?: string) =>
    Operation.payment({ destination, asset: Asset.native(), amount: '1', ...(source === undefined ? {} : { source }) });

  testDoors('stellar', () => rig, [
    {
      ...{ name: 'a transaction of its account', method: 'SignTransaction', kind: 'transaction' },
      body: () => ({
        unsigned_xdr: builder(rig.home.address)
          .addOperation(paying(createWallet(rig.ledger).address))
          .build()
          .toXDR(),
      }),
    },
    {
      ...{ name: 'an operation of its account', method: 'SignTransaction', kind: 'transaction' },
      body() {
        const { address: other } = createWallet(rig.ledger);
        return { unsigned_xdr: builder(other).addOperation(paying(other, rig.home.address)).build().toXDR() };
      },
    },
    {
      ...{ name: "a fee bump of another account's envelope", method: 'SignTransaction', kind: 'transaction' },
      body() {
        const other = createWallet(rig.ledger);
        const inner = other.build([paying(rig.home.address)]);
        const bump = TransactionBuilder.buildFeeBumpTransaction(rig.home.address, '200', inner, rig.ledger.passphrase);
        return { unsigned_xdr: bump.toXDR() };
      },
    },
  ]);
});

/** Starts a service with a relayer of the same key on another cluster, which has no rules. */
async function withSister(home: ServiceHome): Promise<RunningService> {
  const file = join(home.dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  const [[relayer], [network]] = [config.relayers, config.networks];
  config.relayers.push({ ...relayer, id: 'sister', name: 'Sister', network: 'other' });
  config.networks.push({ ...network, network: 'other' });
  await writeFile(file, JSON.stringify(config));
  return startService(home);
}

describe('the doors of a Solana relayer', () => {
  let rig: SolanaService;
  before(async () => {
    rig = await startSolanaService({ start: withSister });
  });
  after(() => rig?.stop());

  const transfer = async (payer: string, signers: Parameters<typeof transactionBody>[1]['signers'] = []) => {
    const { address: to } = await signerOf(2);
    return transactionBody(rig.solana.chain, { payer, instructions: [transferOf(address(rig.home.address), to, 1n)], signers });
  };
  const own: Door = {
    ...{ name: 'a transaction that it pays for', method: 'SignTransaction', kind: 'transaction' },
    body: () => transfer(rig.home.address),
  };

  testDoors('solana', () => rig, [
    own,
    {
      ...{ name: 'a transaction of another fee payer', method: 'SignTransaction', kind: 'transaction' },
      async body() {
        const payer = await signerOf(3);
        return transfer(payer.address, [payer]);
      },
    },
  ]);

  it('solana: a transaction names no cluster, so each relayer of the account must allow its signature', async () => {
    const sister = '/relayers/sister';
    const answers = async () => {
      const body = await own.body();
      return [await answerOf(rig, own, body), await answerOf(rig, own, body, sister)];
    };
    const none = { rules: null, signing: null };
    const rows: readonly (readonly [here: object, there: object, isSigned: boolean])[] = [
      [none, none, true],
      [{ rules }, none, false],
      [none, { rules }, false],
      [{ rules, signing: { transactions: 'allow' } }, none, true],
      [{ rules, signing: { transactions: 'allow' } }, { rules }, false],
      [{ rules, signing: { transactions: 'allow' } }, { rules, signing: { transactions: 'allow' } }, true],
      [none, { signing: { messages: 'allow' } }, false],
    ];
    for (const [here, there, isSigned] of rows) {
      await setPolicies(rig, { ...none, ...here });
      await setPolicies(rig, { ...none, ...there }, sister);
      const answer = isSigned ? 'signed' : '403 POLICY_DENIED';
      assert.deepEqual(await answers(), [answer, answer], JSON.stringify([here, there]));
    }
  });
});

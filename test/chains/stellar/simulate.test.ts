import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Address, Contract, SorobanDataBuilder, xdr } from '@stellar/stellar-sdk';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { stellarDialect } from '../../../src/chains/stellar/dialect.js';
import { simulate } from '../../../src/chains/stellar/simulate.js';
import { defaultPolicies } from '../../../src/core/records/relayer.js';
import { rememberingLog } from '../../support/evm.js';
import { answering, FakeError, startFakeNode } from '../../support/fake-node.js';
import { stellarKey, stellarNetwork } from '../../support/stellar.js';

const contract = 'CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM';
const operation = new Contract(contract).call('add').toXdr('base64');
const content = {
  network: 'stellar',
  kind: 'operations',
  sourceAccount: stellarKey().address,
  operations: [operation],
  memo: xdr.Memo.memoNone().toXdr('base64'),
  auth: 'simulated',
  sorobanData: null,
  minTimeS: 0n,
  validityMs: null,
  maxTimeS: null,
  maxFeeStroops: null,
} as const;

const limits = { sequence: 1n, maxResourceFeeStroops: 1_000_000n, policies: defaultPolicies.stellar, areLongApart: () => false };

describe('simulation: authorization of every kind', () => {
  const signed = new xdr.SorobanAddressCredentials({
    address: new Address(stellarKey().address).toScAddress(),
    nonce: 1n,
    signatureExpirationLedger: 1000,
    signature: xdr.ScVal.scvVoid(),
  });
  const { SorobanCredentials: kinds } = xdr;
  const samples = [
    kinds.sorobanCredentialsSourceAccount(),
    kinds.sorobanCredentialsAddress(signed),
    kinds.sorobanCredentialsAddressV2(signed),
    kinds.sorobanCredentialsAddressWithDelegates(
      new xdr.SorobanAddressCredentialsWithDelegates({ addressCredentials: signed, delegates: [] }),
    ),
  ];

  it('simulation: the samples are all kinds of credentials', () => {
    // A new kind in the SDK fails this test: decide who signs it.
    assert.deepEqual(
      samples.map(({ type }) => type),
      [...xdr.SorobanCredentialsType.schema.nameByValue.values()],
    );
  });

  for (const credentials of samples) {
    it(`simulation: authorization of the kind ${credentials.type} is ${credentials === samples[0] ? 'of the source account' : 'refused: another address must sign'}`, async (test) => {
      const call = new xdr.InvokeContractArgs({ contractAddress: new Address(contract).toScAddress(), functionName: 'add', args: [] });
      const invoked = xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call);
      const rootInvocation = new xdr.SorobanAuthorizedInvocation({ function: invoked, subInvocations: [] });
      const auth = new xdr.SorobanAuthorizationEntry({ credentials, rootInvocation }).toXdr('base64');
      const transactionData = new SorobanDataBuilder().build().toXdr('base64');
      const network = stellarNetwork();
      const node = await startFakeNode(test, (request) =>
        answering(request, ({ method }) =>
          method === 'getNetwork'
            ? { passphrase: network.passphrase }
            : { transactionData, minResourceFee: '10', results: [{ auth: [auth], xdr: 'AAAAAQ==' }], latestLedger: 5 },
        ),
      );
      const rpcUrls = [{ url: node.url, weight: 100 }];
      const rpc = createRpc({ network, rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, stellarDialect(network.passphrase));
      test.after(() => rpc.close());
      const answer = await simulate(rpc, content, limits);
      const isSource = credentials.type === 'sorobanCredentialsSourceAccount';
      assert.match('refused' in answer ? answer.sentence : 'prepared', isSource ? /^prepared$/ : /authorization by an address other than/);
    });
  }
});

it('simulation: unknown words of one endpoint fail no transaction at once', async (test) => {
  const network = stellarNetwork();
  const nodes = await Promise.all(
    [1, 2].map(() =>
      startFakeNode(test, (request) =>
        answering(request, ({ method }) =>
          method === 'getNetwork' ? { passphrase: network.passphrase } : new FakeError(-32000, 'the ledger database is locked'),
        ),
      ),
    ),
  );
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const rpc = createRpc({ network, rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, stellarDialect(network.passphrase));
  test.after(() => rpc.close());
  const refusal = await simulate(rpc, content, limits);
  assert.ok(
    'refused' in refusal && !refusal.lasting,
    JSON.stringify(refusal, (_, part) => (typeof part === 'bigint' ? String(part) : part)),
  );
});

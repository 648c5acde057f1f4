import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Speed } from '../../gen/relayer/v1/evm_pb.js';
import {
  type Built,
  buildEvm,
  buildSolana,
  buildStellar,
  type EvmDraft,
  emptyPayment,
  type SendContent,
  type StellarDraft,
  stellarPaths,
} from '../../src/console/model/send-content.js';

const ether = { name: 'ETH', decimals: 18 };
const gwei = { name: 'gwei', decimals: 9 };
const evm: EvmDraft = {
  to: ' 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 ',
  value: { text: '1.5', unit: ether },
  data: '',
  gasLimit: '',
  pricing: 'speed',
  speed: Speed.FAST,
  maxFeePerGas: { text: '', unit: gwei },
  maxPriorityFeePerGas: { text: '', unit: gwei },
  gasPrice: { text: '', unit: gwei },
  validUntil: '',
};
const account = 'GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT';
const stellar: StellarDraft = {
  kind: 'payments',
  payments: [{ ...emptyPayment, destination: account, amount: '2.5' }],
  memoKind: 'none',
  memo: '',
  transactionXdr: '',
  feeBump: false,
  maxFee: { text: '', unit: { name: 'XLM', decimals: 7 } },
  validUntil: '',
};
const solana = { kind: 'instructions' as const, transaction: '', validUntil: '' };

function contentOf<Case extends 'evm' | 'stellar' | 'solana'>(built: Built, network: Case): Extract<SendContent, { case: Case }>['value'] {
  assert.ok('content' in built, 'the form has no problems');
  assert.equal(built.content.case, network);
  return built.content.value as never;
}

function problemsOf(built: Built): Readonly<Record<string, string>> {
  assert.ok('problems' in built);
  return built.problems;
}

describe('the forms that send', () => {
  it('EVM: amounts are exact, empty fields are absent', () => {
    const content = contentOf(buildEvm(evm), 'evm');
    assert.equal(content.value, '1500000000000000000');
    assert.equal(content.to, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8');
    assert.deepEqual(
      [content.data, content.gasLimit, content.maxFeePerGas, content.gasPrice, content.validUntil],
      Array(5).fill(undefined),
    );
    assert.equal(content.speed, Speed.FAST);
  });

  it('EVM: only the chosen kind of price is sent', () => {
    const fees = {
      ...evm,
      pricing: 'fees' as const,
      maxFeePerGas: { text: '30', unit: gwei },
      maxPriorityFeePerGas: { text: '1.5', unit: gwei },
    };
    const content = contentOf(buildEvm({ ...fees, gasPrice: { text: '7', unit: gwei }, gasLimit: '21 000' }), 'evm');
    assert.deepEqual([content.maxFeePerGas, content.maxPriorityFeePerGas], ['30000000000', '1500000000']);
    assert.deepEqual([content.speed, content.gasPrice, content.gasLimit], [Speed.UNSPECIFIED, undefined, 21_000n]);
    assert.equal(contentOf(buildEvm({ ...fees, pricing: 'legacy', gasPrice: { text: '7', unit: gwei } }), 'evm').gasPrice, '7000000000');
  });

  it('EVM: names every field that the request cannot hold', () => {
    const built = buildEvm({ ...evm, value: { text: '1,5', unit: ether }, gasLimit: '1e6', validUntil: 'soon', pricing: 'fees' });
    assert.deepEqual(Object.keys(problemsOf(built)).sort(), ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas', 'validUntil', 'value']);
  });

  it('Stellar: payments in native and issued assets', () => {
    const content = contentOf(
      buildStellar(
        {
          ...stellar,
          payments: [
            ...stellar.payments,
            { destination: account, amount: '0.0000001', isNative: false, code: 'USD', issuer: account },
            { destination: account, amount: '1', isNative: false, code: 'EURO1', issuer: account },
          ],
          maxFee: { text: '0.01', unit: { name: 'XLM', decimals: 7 } },
        },
        'testnet',
      ),
      'stellar',
    );
    assert.equal(content.network, 'testnet');
    assert.equal(content.maxFee, 100_000n);
    assert.deepEqual(
      content.operations.map(
        ({ operation }) => operation.case === 'payment' && [operation.value.amount, operation.value.asset?.asset.case],
      ),
      [
        [25_000_000n, 'native'],
        [1n, 'credit4'],
        [10_000_000n, 'credit12'],
      ],
    );
  });

  it('Stellar: memos of each kind', () => {
    const memoOf = (memoKind: StellarDraft['memoKind'], memo: string) => buildStellar({ ...stellar, memoKind, memo }, 'testnet');
    assert.deepEqual(contentOf(memoOf('id', '18446744073709551615'), 'stellar').memo?.memo, { case: 'id', value: 2n ** 64n - 1n });
    assert.deepEqual(contentOf(memoOf('hash', `0x${'ab'.repeat(32)}`), 'stellar').memo?.memo, {
      case: 'hash',
      value: new Uint8Array(32).fill(0xab),
    });
    assert.deepEqual(contentOf(memoOf('text', ' hi '), 'stellar').memo?.memo, { case: 'text', value: ' hi ' });
    assert.equal(contentOf(memoOf('none', 'left over'), 'stellar').memo, undefined);
    assert.deepEqual(Object.keys(problemsOf(memoOf('id', '18446744073709551616'))), ['memo']);
    assert.deepEqual(Object.keys(problemsOf(memoOf('id', ''))), ['memo']);
    assert.deepEqual(Object.keys(problemsOf(memoOf('returnHash', 'xyz'))), ['memo']);
  });

  it('Stellar: an amount beyond 64 bits is a problem of its payment', () => {
    const payments = [...stellar.payments, { ...emptyPayment, amount: '1000000000000' }];
    assert.deepEqual(problemsOf(buildStellar({ ...stellar, payments }, 'testnet')), { 'payments.1.amount': 'is too large' });
  });

  it('Stellar: an envelope goes alone, and only a chosen fee bump is sent', () => {
    const content = contentOf(
      buildStellar({ ...stellar, kind: 'xdr', transactionXdr: ' AAAA ', memoKind: 'text', memo: 'x' }, 'testnet'),
      'stellar',
    );
    assert.deepEqual([content.transactionXdr, content.operations, content.memo, content.feeBump], ['AAAA', [], undefined, undefined]);
    assert.deepEqual(Object.keys(problemsOf(buildStellar({ ...stellar, kind: 'xdr' }, 'testnet'))), ['transactionXdr']);
  });

  it('Stellar: the paths of a payment follow its asset', () => {
    const paths = stellarPaths({ ...stellar, payments: [{ ...emptyPayment, code: 'EURO1' }] });
    assert.equal(paths['payments.0.issuer'], 'stellar.operations[0].payment.asset.credit12.issuer');
  });

  it('Solana: instructions in the form of REST', () => {
    const instructions = JSON.stringify([
      {
        program_id: '11111111111111111111111111111111',
        accounts: [{ pubkey: 'a', is_signer: true, is_writable: false }],
        data: 'AgAAAA==',
      },
    ]);
    const [instruction] = contentOf(buildSolana({ ...solana, instructions }), 'solana').instructions;
    assert.deepEqual(instruction?.data, Uint8Array.of(2, 0, 0, 0));
    assert.equal(instruction.accounts[0]?.isSigner, true);
  });

  it('Solana: says what is wrong with the instructions', () => {
    const problem = (instructions: string) => problemsOf(buildSolana({ ...solana, instructions })).instructions;
    assert.match(problem('{') ?? '', /JSON/);
    assert.equal(problem('[]'), 'must be a JSON array of at least one instruction');
    assert.equal(problem('[1]'), '[0] must be an object');
    assert.equal(problem('[{"programId":"a"}]'), '[0].programId is not a known field; known fields: program_id, accounts, data');
    assert.equal(problem('[{"program_id":"a","accounts":[{"pubkey":1}]}]'), '[0].accounts[0].pubkey must be a string');
    assert.equal(
      problem('[{"program_id":"a","accounts":[{"pubkey":"a","is_signer":"yes"}]}]'),
      '[0].accounts[0] must have true or false as is_signer and is_writable',
    );
    assert.match(problem('[{"program_id":"a","data":"*"}]') ?? '', /base64/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type TypedDataDomain as EthersDomain, getBytes, keccak256, TypedDataEncoder } from 'ethers';
import fc from 'fast-check';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { NetworkType } from '../../../src/core/records/network.js';
import type { SigningPolicy, TypedDataDomain } from '../../../src/core/records/signing-policy.js';
import { requireSigning, signingProblems, type WantedSignature } from '../../../src/core/rules/signing-rules.js';
import { evmRelayer } from '../../support/evm.js';
import { runs } from '../../support/runs.js';

const hash = (bytes: Uint8Array): Uint8Array => getBytes(keccak256(bytes));
const address = `0x${'11'.repeat(20)}`;
const noFields: TypedDataDomain = { separator: null, name: null, version: null, chainId: null, verifyingContract: null };

/** Whether a relayer with rules and this policy signs it. */
function signs(signing: SigningPolicy | null, wanted: WantedSignature, rules: readonly [] | null = []): boolean {
  try {
    const relayer = evmRelayer(address, { rules, signing });
    requireSigning({ keccak256: hash, directory: { relayers: () => [relayer] } }, relayer, wanted);
    return true;
  } catch (error) {
    assert.ok(error instanceof DomainError && error.reason === 'POLICY_DENIED', String(error));
    return false;
  }
}

const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { nil: null });
const domains = fc.record({
  separator: fc.constant(null),
  name: orNull(fc.string({ unit: 'grapheme' })),
  version: orNull(fc.string()),
  chainId: orNull(fc.bigInt(0n, 2n ** 64n - 1n)),
  verifyingContract: orNull(fc.constantFrom(address, `0x${'00'.repeat(19)}01`)),
});

const separatorOf = (domain: TypedDataDomain): string =>
  TypedDataEncoder.hashDomain(Object.fromEntries(Object.entries(domain).filter(([, value]) => value !== null)) as EthersDomain).slice(2);

describe('signatures of relayers with rules', () => {
  it('typed data of a domain is signed if the policy has the same fields or its separator, and no other', () => {
    fc.assert(
      fc.property(domains, domains, (listed, asked) => {
        const domainSeparator = separatorOf(asked);
        const wanted = { kind: 'typed data', domainSeparator } as const;
        const isSame = separatorOf(listed) === domainSeparator;
        const policy = (typedData: SigningPolicy['typedData']) => ({ messages: true, transactions: true, typedData });
        assert.equal(signs(policy([listed]), wanted), isSame);
        assert.equal(signs(policy([listed, { ...noFields, separator: domainSeparator }]), wanted), true);
        assert.equal(signs(policy([]), wanted), false);
      }),
      { numRuns: runs(300) },
    );
  });

  it('each kind follows its own field; without a policy, rules deny all and no rules allow all', () => {
    const typed = { kind: 'typed data', domainSeparator: '00'.repeat(32) } as const;
    const kinds = [{ kind: 'message' }, { kind: 'transaction' }, typed] as const;
    const all = (signing: SigningPolicy | null, rules?: readonly [] | null) => kinds.map((wanted) => signs(signing, wanted, rules));
    assert.deepEqual(all({ messages: true, transactions: false, typedData: false }), [true, false, false]);
    assert.deepEqual(all({ messages: false, transactions: true, typedData: false }), [false, true, false]);
    assert.deepEqual(all({ messages: false, transactions: false, typedData: true }), [false, false, true]);
    assert.deepEqual(all(null), [false, false, false]);
    assert.deepEqual(all(null, null), [true, true, true]);
    assert.deepEqual(all({ messages: false, transactions: false, typedData: false }, null), [false, false, false]);
  });

  it('a domain is its separator or its fields, and a policy is clear about typed data', () => {
    const problems = (typedData: SigningPolicy['typedData'], networkType: NetworkType = 'evm') =>
      signingProblems('policies.signing', { messages: false, transactions: false, typedData }, networkType).map(({ field }) => field);
    const separator = '11'.repeat(32);
    assert.deepEqual(problems(null), ['policies.signing.typed_data']);
    assert.deepEqual(problems(true), []);
    assert.deepEqual(
      problems([noFields, { ...noFields, separator }, { ...noFields, separator, name: 'Token' }, { ...noFields, chainId: 0n }]),
      ['policies.signing.typed_data.domains[0]', 'policies.signing.typed_data.domains[2]'],
    );
    for (const networkType of ['stellar', 'solana'] as const) {
      for (const typedData of [null, true, [], [{ ...noFields, separator }]])
        assert.deepEqual(problems(typedData, networkType), ['policies.signing.typed_data'], 'only EVM networks have typed data');
      assert.deepEqual(problems(false, networkType), []);
    }
    const sentenceOf = (typedData: SigningPolicy['typedData'], networkType: NetworkType = 'evm') =>
      signingProblems('signing', { messages: false, transactions: false, typedData }, networkType).map(
        ({ field, description }) => `${field} ${description}`,
      );
    assert.deepEqual(sentenceOf(true, 'solana'), ['signing.typed_data must be deny or left out: only evm relayers sign typed data']);
    assert.deepEqual(sentenceOf(null), ['signing.typed_data must be allow, deny or domains']);
    assert.deepEqual(sentenceOf([noFields]), ['signing.typed_data.domains[0] must be the separator, or the fields that the domain has']);
    const domains = (count: number) => Array.from({ length: count }, () => ({ ...noFields, separator }));
    assert.deepEqual(sentenceOf(domains(100)), []);
    assert.deepEqual(sentenceOf(domains(101)), ['signing.typed_data.domains must have at most 100 items']);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { computeAddress, concat, keccak256, recoverAddress, type TypedDataField } from 'ethers';
import fc from 'fast-check';
import { hashTypedData } from '../../src/chains/evm/typed-data.js';
import { type Anvil, anvilKeys, startAnvil } from '../support/anvil.js';
import { runs } from '../support/runs.js';
import { typedStructs } from '../support/typed-structs.js';

const account = computeAddress(anvilKeys[0]);

interface Vector {
  readonly domain: Readonly<Record<string, unknown>>;
  readonly types: Readonly<Record<string, readonly TypedDataField[]>>;
  readonly primaryType: string;
  readonly message: unknown;
}

/** The type of each key of a domain, in the order of EIP-712. */
const domainTypes = { name: 'string', version: 'string', chainId: 'uint256', verifyingContract: 'address', salt: 'bytes32' };

const fullDomain = {
  name: 'Exchange ⚖',
  version: '2',
  chainId: '137',
  verifyingContract: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  salt: `0x${'5a'.repeat(32)}`,
};
const fields = (text: string): TypedDataField[] =>
  text.split(', ').map((field) => ({ type: field.split(' ')[0] ?? '', name: field.split(' ')[1] ?? '' }));
const order = { maker: account, amounts: ['1', '2'], note: 'first' };

/** By hand, in the shapes of the vectors with which ethers tests its coder: each kind of leaf, array, struct and domain. */
const vectors: Readonly<Record<string, Omit<Vector, 'domain'>>> = {
  'each leaf': {
    types: {
      Leaves: fields('bool a, uint8 b, int8 c, uint256 d, int256 e, address f, bytes1 g, bytes32 h, bytes i, string j'),
    },
    primaryType: 'Leaves',
    message: {
      ...{ a: true, b: '255', c: '-128', d: String(2n ** 256n - 1n), e: String(-(2n ** 255n)), f: account },
      ...{ g: '0xff', h: `0x${'0f'.repeat(32)}`, i: '0x', j: '' },
    },
  },
  'arrays of leaves': {
    types: { Arrays: fields('uint16[] a, bool[3] b, string[] c, bytes[2] d, address[] e') },
    primaryType: 'Arrays',
    message: { a: ['1', '65535'], b: [true, false, true], c: ['', 'é', '👩‍👩‍👧'], d: ['0x', '0x00ff'], e: [] },
  },
  'arrays of arrays': {
    types: { Deep: fields('uint8[][] a, int32[2][3] b, string[][2][] c') },
    primaryType: 'Deep',
    message: {
      a: [[], ['1'], ['2', '3']],
      b: Array.from({ length: 3 }, (_, at) => [String(-at), String(at)]),
      c: [
        [['x'], []],
        [['y', 'z'], ['']],
      ],
    },
  },
  'structs in structs': {
    types: {
      Outer: fields('Middle middle, bytes4 tag'),
      Middle: fields('Inner inner, Inner other'),
      Inner: fields('string text, uint32 at'),
    },
    primaryType: 'Outer',
    message: { middle: { inner: { text: 'a', at: '1' }, other: { text: 'b', at: '2' } }, tag: '0x01020304' },
  },
  'arrays of structs, and structs whose names sort before the primary one': {
    types: {
      Zoo: fields('Animal[] animals, Animal[2] pair, Animal[][] cages'),
      Animal: fields('string name, Bone[] bones'),
      Bone: fields('uint8 size'),
    },
    primaryType: 'Zoo',
    message: {
      animals: [{ name: 'ape', bones: [{ size: '1' }, { size: '2' }] }],
      pair: [1, 2].map((at) => ({ name: `n${at}`, bones: [] })),
      cages: [[], [{ name: 'cat', bones: [{ size: '9' }] }]],
    },
  },
  'a list of orders': {
    types: { Batch: fields('Order[] orders, uint256 nonce'), Order: fields('address maker, uint128[2] amounts, string note') },
    primaryType: 'Batch',
    message: { orders: Array.from({ length: 7 }, (_, at) => ({ ...order, note: `note ${at}` })), nonce: '0' },
  },
};

describe('hashes of typed data', () => {
  let anvil: Anvil;
  before(async () => {
    anvil = await startAnvil();
  });
  after(() => anvil?.stop());

  /** The node hashes the typed data with an implementation of its own, and signs the hash: the signature fits no other hash. */
  async function assertAsTheNodeHashes({ domain, types, primaryType, message }: Vector, what: string): Promise<void> {
    const EIP712Domain = Object.entries(domainTypes).flatMap(([name, type]) => (name in domain ? [{ name, type }] : []));
    const signed = await anvil.rpc('eth_signTypedData_v4', [account, { types: { EIP712Domain, ...types }, primaryType, message, domain }]);
    const [domainText = '', typesText = '', messageText = ''] = [domain, types, message].map((part) => JSON.stringify(part));
    const own = hashTypedData({ domain: domainText, types: typesText, message: messageText, primaryType });
    const digest = keccak256(concat(['0x1901', own.domainSeparator, own.hashStructMessage]));
    assert.equal(recoverAddress(digest, signed as string), account, `${what}: ${JSON.stringify({ domain, types, primaryType, message })}`);
  }

  it('typed data: each shape of values, in each kind of domain, has the hash of the node', async () => {
    const keys = Object.keys(fullDomain) as (keyof typeof fullDomain)[];
    const domains = [{}, fullDomain, ...keys.map((key) => ({ [key]: fullDomain[key] }))];
    for (const [what, vector] of Object.entries(vectors))
      for (const domain of domains) await assertAsTheNodeHashes({ ...vector, domain }, what);
  });

  it('typed data: random structs, arrays and values in random domains have the hash of the node', async () => {
    const domains = fc
      .subarray(Object.keys(fullDomain))
      .map((keys) => Object.fromEntries(Object.entries(fullDomain).filter(([key]) => keys.includes(key))));
    await fc.assert(
      fc.asyncProperty(typedStructs, domains, ({ type, structs, json }, domain) =>
        assertAsTheNodeHashes({ domain, types: structs, primaryType: type, message: JSON.parse(json) }, 'random'),
      ),
      { numRuns: runs(100) },
    );
  });
});

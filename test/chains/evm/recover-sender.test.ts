import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  concat,
  decodeRlp,
  encodeRlp,
  keccak256,
  SigningKey,
  Transaction,
  type TransactionLike,
  toBeArray,
  toBeHex,
  toQuantity,
  Wallet,
} from 'ethers';
import { authorityFrom, senderFrom } from '../../../src/chains/evm/recover-sender.js';
import { anvilKeys } from '../../support/anvil.js';

const wallet = new Wallet(anvilKeys[0]);
const chainId = 31337n;
const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const accessList = [{ address: to, storageKeys: [`0x${'01'.repeat(32)}`, `0x${'00'.repeat(32)}`] }];

const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n };
const authorization = wallet.authorizeSync({ address: to, nonce: 3, chainId });
const samples: Readonly<Record<string, TransactionLike>> = {
  'a legacy transaction': { type: 0, gasPrice: 10n ** 10n },
  'a legacy transaction without EIP-155': { type: 0, gasPrice: 10n ** 10n, chainId: 0n },
  'a type 1 transaction': { type: 1, gasPrice: 10n ** 10n, accessList },
  'a type 2 transaction': { type: 2, ...fees },
  'a type 2 transaction with an access list': { type: 2, ...fees, accessList },
  'a type 3 transaction': { type: 3, ...fees, maxFeePerBlobGas: 7n, blobVersionedHashes: [`0x01${'ab'.repeat(31)}`] },
  'a type 4 transaction': { type: 4, ...fees, authorizationList: [authorization] },
  'a creation': { type: 2, ...fees, to: null, data: '0x6001' },
  'a transaction with zeros everywhere': { type: 2, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n, nonce: 0, value: 0n, data: '0x' },
};

const curveOrder = 2n ** 256n - 0x14551231950b75fc4402da1732fc9bebfn;

/** The hash of a sample's bytes with this signature. */
function hashWith({ type }: TransactionLike, { serialized, v, r, s }: Record<string, unknown>): string {
  const prefix = type === 0 ? '0x' : `0x0${type}`;
  const items = decodeRlp(type === 0 ? String(serialized) : `0x${String(serialized).slice(4)}`);
  assert.ok(Array.isArray(items));
  const signature = [v, r, s].map((part) => shortestHex(String(part)));
  return keccak256(concat([prefix, encodeRlp([...items.slice(0, -3), ...signature])]));
}

/** Signs a transaction and writes it as a node's block shows it. */
function shown(changes: TransactionLike): Record<string, unknown> {
  const transaction = Transaction.from({ chainId, nonce: 5, gasLimit: 50_000n, to, value: 7n, data: '0x00ff', ...changes });
  transaction.signature = new SigningKey(wallet.privateKey).sign(transaction.unsignedHash);
  const { signature, type, nonce, gasLimit, value, data, hash } = transaction;
  assert.ok(signature !== null);
  const optional = {
    gasPrice: transaction.gasPrice,
    maxFeePerGas: transaction.maxFeePerGas,
    maxPriorityFeePerGas: transaction.maxPriorityFeePerGas,
    maxFeePerBlobGas: transaction.maxFeePerBlobGas,
  };
  const quantities = Object.entries(optional).flatMap(([name, value]) => (value === null ? [] : [[name, toQuantity(value)]]));
  const isProtected = transaction.chainId !== 0n;
  const v = type !== 0 ? signature.yParity : isProtected ? transaction.chainId * 2n + 35n + BigInt(signature.yParity) : signature.v;
  return {
    type: toQuantity(type ?? 0),
    hash,
    nonce: toQuantity(nonce),
    gas: toQuantity(gasLimit),
    to: transaction.to,
    value: toQuantity(value),
    input: data,
    chainId: type === 0 && !isProtected ? undefined : toQuantity(transaction.chainId),
    ...Object.fromEntries(quantities),
    accessList: transaction.accessList ?? undefined,
    blobVersionedHashes: transaction.blobVersionedHashes ?? undefined,
    authorizationList: transaction.authorizationList?.map(({ address, nonce, chainId, signature }) => ({
      address,
      nonce: toQuantity(nonce),
      chainId: toQuantity(chainId),
      yParity: toQuantity(signature.yParity),
      r: toQuantity(signature.r),
      s: toQuantity(signature.s),
    })),
    v: toQuantity(v),
    r: toQuantity(signature.r),
    s: toQuantity(signature.s),
    serialized: transaction.serialized,
  };
}

describe('sender from a signature', () => {
  for (const [name, changes] of Object.entries(samples)) {
    it(`sender from a signature: recovers the sender, the nonce and the content of ${name}, however fields are named`, () => {
      const transaction = shown(changes);
      const { input, ...rest } = transaction;
      const proved = {
        hash: transaction.hash,
        account: wallet.address,
        nonce: BigInt(changes.nonce ?? 5),
        to: changes.to === null ? '0x' : to.toLowerCase(),
        valueWei: BigInt(changes.value ?? 7),
        data: changes.data ?? '0x00ff',
      };
      for (const spelling of [
        transaction,
        { ...rest, data: input },
        { ...transaction, data: '0x1234' },
        { ...rest, input: null, data: input },
      ])
        assert.deepEqual(senderFrom(spelling, chainId), proved);
    });

    it(`sender from a signature: is unknown if anyone has turned the signature of ${name} into the other one that recovers`, () => {
      const transaction = shown(changes);
      const [v, s] = [BigInt(String(transaction.v)), BigInt(String(transaction.s))];
      // The two values of each type lie side by side: 0 and 1, 27 and 28, or twice the chain ID and 35 or 36.
      const lowest = changes.type !== 0 ? 0n : changes.chainId === 0n ? 27n : chainId * 2n + 35n;
      const turned = { v: toQuantity(lowest * 2n + 1n - v), s: toQuantity(curveOrder - s) };
      assert.equal(senderFrom({ ...transaction, hash: hashWith(changes, transaction) }, chainId)?.account, wallet.address);
      assert.equal(senderFrom({ ...transaction, ...turned, hash: hashWith(changes, { ...transaction, ...turned }) }, chainId), null);
    });
  }

  it('sender from a signature: reads other spellings of the same fields', () => {
    const { input, v, ...rest } = shown({ type: 2, ...fees });
    assert.notEqual(senderFrom({ ...rest, data: input, yParity: v }, chainId), null);
    const { type: _, ...untyped } = shown({ type: 0, gasPrice: 1n });
    assert.notEqual(senderFrom(untyped, chainId), null);
    const padded = { ...untyped, r: toBeHex(BigInt(String(untyped.r)), 32) };
    assert.notEqual(senderFrom(padded, chainId), null);
  });

  it('sender from a signature: is unknown if any field differs from what was signed', () => {
    for (const changes of Object.values(samples)) {
      const transaction = shown(changes);
      for (const [field, value] of Object.entries(transaction)) {
        if (value === undefined || field === 'chainId' || field === 'serialized') continue;
        const other = typeof value === 'string' && value !== '0x1' ? '0x1' : '0x2';
        assert.equal(senderFrom({ ...transaction, [field]: other }, chainId), null, field);
      }
    }
  });

  it('sender from a signature: is unknown if r or s is longer than 32 bytes, although the hash is that of the bytes', () => {
    const transaction = shown({ type: 2, ...fees });
    const signed = ['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'input'];
    const textOf = (shownAs: Record<string, unknown>, field: string): string =>
      field === 'to' || field === 'input' ? String(shownAs[field]) : shortestHex(String(shownAs[field]));
    const withHash = (changes: Record<string, string>): Record<string, unknown> => {
      const changed = { ...transaction, ...changes };
      const items = [...signed.map((field) => textOf(changed, field)), [], ...['v', 'r', 's'].map((field) => textOf(changed, field))];
      return { ...changed, hash: keccak256(`0x02${encodeRlp(items).slice(2)}`) };
    };
    assert.equal(senderFrom(withHash({}), chainId)?.account, wallet.address);
    for (const part of ['r', 's']) {
      // Another digit, which reading hex byte by byte would cut off.
      const longer = toQuantity(BigInt(String(transaction[part])) * 16n);
      const above = toQuantity(BigInt(String(transaction[part])) + 2n ** 256n);
      for (const value of [longer, above].filter((number) => BigInt(number) >> 256n !== 0n))
        assert.equal(senderFrom(withHash({ [part]: value }), chainId), null, part);
    }
  });

  it('sender from a signature: is unknown for another network, an unknown type and garbage', () => {
    for (const changes of [
      { type: 0, gasPrice: 1n },
      { type: 2, ...fees },
    ])
      assert.equal(senderFrom(shown(changes), 1n), null);
    const transaction = shown({ type: 2, ...fees });
    for (const garbage of [{}, { type: '0x7e' }, { ...transaction, accessList: [7] }, { ...transaction, input: '0xabc' }, { hash: 3 }]) {
      assert.equal(senderFrom(garbage, chainId), null);
    }
  });
});

/** The shortest bytes of a number as hex, as RLP has it. */
function shortestHex(number: string): string {
  return `0x${Buffer.from(toBeArray(number)).toString('hex')}`;
}

describe('the authority of an EIP-7702 authorization', () => {
  const asShown = ({ address, nonce, chainId: id, signature }: typeof authorization) => ({
    address: address.toLowerCase(),
    nonce: toQuantity(nonce),
    chainId: toQuantity(id),
    yParity: toQuantity(signature.yParity),
    r: signature.r,
    s: signature.s,
  });

  it('the authority of an EIP-7702 authorization: is recovered with its nonce, for this network and for all', () => {
    assert.deepEqual(authorityFrom(asShown(authorization), chainId), { account: wallet.address, nonce: 3n });
    const forAll = wallet.authorizeSync({ address: to, nonce: 4, chainId: 0 });
    assert.deepEqual(authorityFrom(asShown(forAll), chainId), { account: wallet.address, nonce: 4n });
  });

  it('the authority of an EIP-7702 authorization: is none for another network, and if it cannot be read', () => {
    assert.equal(authorityFrom(asShown(authorization), 1n), null);
    for (const odd of [null, 'text', {}, { ...asShown(authorization), r: '0x0' }, { ...asShown(authorization), address: '0x1' }])
      assert.equal(authorityFrom(odd, chainId), null);
    assert.notEqual(authorityFrom({ ...asShown(authorization), nonce: '0x9' }, chainId)?.account, wallet.address);
    const { s, yParity } = authorization.signature;
    const turned = { s: toQuantity(curveOrder - BigInt(s)), yParity: toQuantity(1 - yParity) };
    assert.equal(authorityFrom({ ...asShown(authorization), ...turned }, chainId), null);
  });
});

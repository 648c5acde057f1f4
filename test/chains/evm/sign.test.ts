import assert from 'node:assert/strict';
import { it } from 'node:test';
import { encodeRlp as ethersEncodeRlp, Wallet } from 'ethers';
import fc from 'fast-check';
import { encodeRlp } from '../../../src/chains/evm/rlp.js';
import { signDraft } from '../../../src/chains/evm/sign.js';
import type { EvmPrice } from '../../../src/core/records/evm.js';
import { checksumAddress } from '../../../src/crypto/evm-address.js';
import { keccak256 } from '../../../src/crypto/keccak.js';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';
import { runs } from '../../support/runs.js';

const wei = fc.oneof(fc.constantFrom(0n, 1n, 127n, 128n), fc.bigInt(0n, 2n ** 128n - 1n));
const price = fc.oneof(
  wei.map((gasPriceWei): EvmPrice => ({ kind: 'legacy', gasPriceWei })),
  fc
    .tuple(wei, wei)
    .map(([a, b]): EvmPrice => ({ kind: 'eip1559', maxFeePerGasWei: a > b ? a : b, maxPriorityFeePerGasWei: a > b ? b : a })),
);
const hex = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

it('signDraft: produces the same bytes as ethers', async () => {
  const wallet = Wallet.createRandom();
  const signer = createLocalSigner({ id: 'test', privateKey: Buffer.from(wallet.privateKey.slice(2), 'hex') });
  const data = fc.option(fc.oneof(hex(0, 2), hex(50, 60), hex(250, 300)));
  const cases = fc.record({
    chainId: fc.oneof(fc.constantFrom(1n, 31337n, 127n), fc.bigInt(1n, 2n ** 40n)),
    nonce: fc.oneof(fc.constantFrom(0n, 127n, 128n), fc.bigInt(0n, 2n ** 53n - 2n)),
    draft: fc.record({
      network: fc.constant('evm' as const),
      to: fc.option(hex(20, 20)),
      valueWei: wei,
      data,
      gasLimit: fc.bigInt(21_000n, 2n ** 40n),
      price,
      publishingFeeWei: fc.constant(0n),
    }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ chainId, nonce, draft }) => {
      const drafted = { ...draft, to: draft.to === null ? null : checksumAddress(draft.to) };
      const signed = await signDraft(chainId, drafted, nonce, signer);
      const prices =
        draft.price.kind === 'legacy'
          ? { type: 0, gasPrice: draft.price.gasPriceWei }
          : { type: 2, maxFeePerGas: draft.price.maxFeePerGasWei, maxPriorityFeePerGas: draft.price.maxPriorityFeePerGasWei };
      const expected = await wallet.signTransaction({
        chainId,
        nonce: Number(nonce),
        to: draft.to,
        value: draft.valueWei,
        data: draft.data ?? '0x',
        gasLimit: draft.gasLimit,
        ...prices,
      });
      assert.equal(signed.raw, expected);
      assert.equal(signed.hash, `0x${Buffer.from(keccak256(Buffer.from(expected.slice(2), 'hex'))).toString('hex')}`);
      const { signature, ...fields } = signed.fields;
      assert.deepEqual(fields, drafted);
      assert.ok(signature.v === 27 || signature.v === 28);
    }),
    { numRuns: runs(200) },
  );
});

it('encodeRlp: encodes like ethers, including long and nested items', () => {
  type Item = Uint8Array | Item[];
  const { item } = fc.letrec<{ item: Item }>((tie) => ({
    item: fc.oneof({ maxDepth: 3 }, fc.uint8Array({ maxLength: 100 }), fc.array(tie('item'), { maxLength: 5 })),
  }));
  const hexOf = (value: Item): string => `0x${Buffer.from(encodeRlp(value)).toString('hex')}`;
  fc.assert(fc.property(item, (value) => assert.equal(hexOf(value), ethersEncodeRlp(value))));
  for (const length of [55, 56, 255, 256, 65_536]) {
    const value = [new Uint8Array(length).fill(7)];
    assert.equal(hexOf(value), ethersEncodeRlp(value));
  }
});

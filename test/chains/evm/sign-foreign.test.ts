import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeRlp, Transaction, type TransactionLike, toBeArray } from 'ethers';
import { createSignForeign, type SigningLimits } from '../../../src/chains/evm/sign-foreign.js';
import type { DomainError } from '../../../src/core/errors/errors.js';
import type { EvmPolicies } from '../../../src/core/records/relayer.js';
import { anvilSigner, gwei } from '../../support/chain-rig.js';
import { evmNetwork, evmRelayer } from '../../support/evm.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const maxFeeWei = 10n ** 15n;
const limits: SigningLimits = { network: evmNetwork(), maxFeeWei };
const relayerOf = (policies: Partial<EvmPolicies> = {}) => evmRelayer(anvilSigner.address, { allowTransactionSigning: true, ...policies });

const base = { chainId: 31337n, nonce: 9, to, value: 7n, data: '0x0102', gasLimit: 30_000n };
const eip1559 = { ...base, type: 2, maxFeePerGas: 3n * gwei, maxPriorityFeePerGas: 2n * gwei };
const legacy = { ...base, type: 0, gasPrice: 5n * gwei };
const textOf = (transaction: TransactionLike): string => Transaction.from(transaction).unsignedSerialized;

const { chainId, nonce, maxFeePerGas, gasLimit, value, data } = eip1559;
/** What ethers refuses to write. */
const priorityAboveFee = `0x02${encodeRlp([
  ...[chainId, BigInt(nonce), maxFeePerGas + 1n, maxFeePerGas, gasLimit].map((number) => toBeArray(number)),
  ...[to, toBeArray(value), data, []],
]).slice(2)}`;

/** Signs it, and requires that `check` judges it alike. */
async function sign(text: string, policies: Partial<EvmPolicies> = {}, changes: Partial<SigningLimits> = {}) {
  const { check, sign: signText } = createSignForeign({ ...limits, ...changes });
  const relayer = relayerOf(policies);
  const signed = await signText(text, relayer, anvilSigner).catch((error: unknown) => error as DomainError);
  let refusal: unknown = null;
  try {
    check(text, relayer);
  } catch (error) {
    refusal = error;
  }
  assert.equal(refusal instanceof Error, signed instanceof Error);
  return signed;
}

async function refusalOf(...[text, policies, changes]: Parameters<typeof sign>): Promise<string> {
  const signed = await sign(text, policies, changes);
  assert.ok(signed instanceof Error, 'it was signed');
  return signed.message;
}

describe("signing a caller's transaction", () => {
  for (const [name, fields] of [
    ['a legacy transaction', legacy],
    ['an EIP-1559 transaction', eip1559],
    ['a creation', { ...eip1559, to: null, gasLimit: 60_000n }],
  ] as const)
    it(`signing a caller's transaction: ${name} gets a signature, and nothing else is changed`, async () => {
      const unsigned = Transaction.from(fields);
      for (const text of [unsigned.unsignedSerialized, unsigned.unsignedSerialized.slice(2)]) {
        const signed = await sign(text);
        assert.ok(!(signed instanceof Error));
        const read = Transaction.from(signed.transaction);
        assert.equal(read.unsignedSerialized, unsigned.unsignedSerialized);
        assert.equal(read.from, anvilSigner.address);
        assert.equal(read.hash, signed.hash);
        const { r, s, v } = read.signature ?? assert.fail('it has no signature');
        assert.equal(signed.signature, `${r.slice(2)}${s.slice(2)}${v.toString(16)}`);
      }
    });

  const tooLong = `0x${'00'.repeat(128 * 1024 + 1)}`;
  for (const [name, text, expected] of [
    ['nothing', '', /^unsigned_transaction is required$/],
    ['what is none', 'moon', /^unsigned_transaction is not a serialized transaction$/],
    ['too many bytes', tooLong, /^unsigned_transaction must have at most 131072 bytes$/],
    ['an access list', textOf({ ...base, type: 1, gasPrice: gwei }), /^unsigned_transaction has type 1; only legacy and EIP-1559/],
    ['blobs', textOf({ ...eip1559, type: 3, maxFeePerBlobGas: 1n, blobVersionedHashes: [`0x01${'00'.repeat(31)}`] }), /EIP-4844/],
    ['another chain', textOf({ ...legacy, chainId: 1n }), /is for chain ID 1; test-network has chain ID 31337$/],
    ['no chain', textOf({ ...legacy, chainId: 0n }), /is for chain ID none; test-network has chain ID 31337$/],
    ['no receiver and no data', textOf({ ...legacy, to: null, data: '0x', gasLimit: 60_000n }), /has neither a receiver nor data$/],
    ['less gas than it costs', textOf({ ...legacy, gasLimit: 21_031n }), /has a gas limit of 21031; it must be 21032 to 16777216$/],
    ['less gas than a creation costs', textOf({ ...legacy, to: null, gasLimit: 53_031n }), /it must be 53032 to 16777216$/],
    ['more gas than is allowed', textOf({ ...legacy, gasPrice: 1n, gasLimit: 16_777_217n }), /it must be 21032 to 16777216$/],
    ['a priority fee above the fee', priorityAboveFee, /max_priority_fee_per_gas above its/],
    ['a value of 2^128', textOf({ ...legacy, value: 2n ** 128n }), /has a value above 2\^128-1 wei$/],
  ] as const)
    it(`signing a caller's transaction: ${name} is refused`, async () => {
      assert.match(await refusalOf(text), expected);
    });

  it("signing a caller's transaction: the limits themselves are allowed", async () => {
    for (const allowed of [
      { ...legacy, gasLimit: 21_032n },
      { ...legacy, to: null, gasLimit: 53_032n },
      { ...legacy, gasPrice: 1n, gasLimit: 16_777_216n },
      { ...legacy, value: 2n ** 128n - 1n },
      { ...eip1559, maxPriorityFeePerGas: 3n * gwei },
      { ...legacy, gasPrice: maxFeeWei / 25_000n, gasLimit: 25_000n },
    ])
      assert.ok(
        !((await sign(textOf(allowed))) instanceof Error),
        JSON.stringify(allowed, (_, value) => String(value)),
      );
  });

  it("signing a caller's transaction: one that is signed is not signed again", async () => {
    const signed = await sign(textOf(legacy));
    assert.ok(!(signed instanceof Error));
    assert.match(await refusalOf(signed.transaction), /has a signature already$/);
  });

  it("signing a caller's transaction: its highest fee is limited, by the price of its own type", async () => {
    for (const fields of [
      { ...legacy, gasPrice: maxFeeWei / 30_000n + 1n },
      { ...eip1559, maxFeePerGas: maxFeeWei / 30_000n + 1n, maxPriorityFeePerGas: 0n },
    ]) {
      const feeWei = (maxFeeWei / 30_000n + 1n) * 30_000n;
      const sentence = `unsigned_transaction may pay a fee of ${feeWei} wei, above MAX_FEE_PER_TRANSACTION (${maxFeeWei} wei)`;
      assert.equal(await refusalOf(textOf(fields)), sentence);
      assert.ok(!((await sign(textOf(fields), {}, { maxFeeWei: null })) instanceof Error), 'without a limit');
    }
  });

  it("signing a caller's transaction: the policies of the relayer hold", async () => {
    const text = textOf(legacy);
    assert.match(await refusalOf(text, { allowTransactionSigning: false }), /allow_transaction_signing is false$/);
    assert.match(
      await refusalOf(text, { whitelistReceivers: [anvilSigner.address.toLowerCase()] }),
      /not in the relayer's whitelist_receivers$/,
    );
    assert.match(await refusalOf(text, { gasPriceCapWei: 5n * gwei - 1n }), /^gas_price must be at most 4999999999 wei/);
    assert.match(await refusalOf(textOf(eip1559), { gasPriceCapWei: 3n * gwei - 1n }), /^max_fee_per_gas must be at most 2999999999 wei/);
    const allowed = { whitelistReceivers: [to.toLowerCase()], gasPriceCapWei: 5n * gwei };
    assert.ok(!((await sign(text, allowed)) instanceof Error));
    assert.ok(!((await sign(textOf(eip1559), { gasPriceCapWei: 3n * gwei })) instanceof Error));
  });

  it("signing a caller's transaction: a network without EIP-1559 takes legacy ones alone", async () => {
    const network = { network: evmNetwork({ eip1559: false }) };
    assert.match(await refusalOf(textOf(eip1559), {}, network), /is an EIP-1559 transaction, which test-network does not have$/);
    assert.ok(!((await sign(textOf(legacy), {}, network)) instanceof Error));
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther, Transaction, type TransactionLike } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const gwei = 10n ** 9n;
const dynamic: TransactionLike = {
  type: 2,
  chainId: 31337n,
  nonce: 0,
  to: receiver,
  value: 7n,
  gasLimit: 21_000n,
  maxFeePerGas: 20n * gwei,
  maxPriorityFeePerGas: gwei,
};
const { maxFeePerGas: _, maxPriorityFeePerGas: __, ...plain } = dynamic;
const legacy: TransactionLike = { ...plain, type: 0, gasPrice: 20n * gwei };

function unsigned(parts: TransactionLike): string {
  return Transaction.from(parts).unsignedSerialized;
}

describe('signing EVM transactions without sending them', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    anvil = await startAnvil();
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
    service = await startService(home);
  });

  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const sign = (text: string) =>
    rest(service.baseUrl, 'POST', `/relayers/${home.relayerId}/sign-transaction`, { unsigned_transaction: text });
  const allow = async (policies: object) => {
    const { status, text } = await rest(service.baseUrl, 'PATCH', `/relayers/${home.relayerId}`, { policies });
    assert.equal(status, 200, text);
  };

  it('sign-transaction: is refused until the policy allows it', async () => {
    const refused = await sign(unsigned(dynamic));
    assert.equal(refused.status, 400);
    assert.match(refused.body.error, /signs no transactions that it does not send; its policy allow_transaction_signing is false$/);
  });

  it('sign-transaction: the node takes what is signed, in both types, over REST and each RPC protocol', async () => {
    await allow({ allow_transaction_signing: true });
    const wanted = [dynamic, { ...legacy, nonce: 1 }].map(unsigned);
    for (const text of wanted) {
      const { status, body, text: answer } = await sign(text);
      assert.equal(status, 200, answer);
      const { signed_transaction: transaction, hash, signature } = body.data;
      const read = Transaction.from(transaction);
      assert.deepEqual([read.from, read.unsignedSerialized, read.hash, signature.length], [home.address, text, hash, 130]);
      for (const caller of rpcCallers(service.baseUrl)) {
        const same = await caller.call('SigningService', 'SignTransaction', {
          relayer_id: home.relayerId,
          evm: { unsigned_transaction: text },
        });
        caller.close();
        assert.ok(same.ok, `${caller.protocol} ${JSON.stringify(same)}`);
        assert.deepEqual((same.response.result as { evm: object }).evm, body.data, caller.protocol);
      }
      assert.equal(await anvil.rpc('eth_sendRawTransaction', [transaction]), hash);
    }
  });

  it('sign-transaction: refuses other types, chains and signatures, and what Send would refuse', async () => {
    await allow({ allow_transaction_signing: true, gas_price_cap: Number(30n * gwei), whitelist_receivers: [receiver] });
    const signed = (await sign(unsigned({ ...dynamic, nonce: 2 }))).body.data.signed_transaction;
    const authorization = { address: receiver, nonce: 0n, chainId: 31337n, signature: Transaction.from(signed).signature ?? assert.fail() };
    for (const [text, words] of [
      ['', /^unsigned_transaction is required/],
      ['0x', /serialized transaction|is required/],
      ['0x02c0', /is not a serialized transaction/],
      ['zz', /^unsigned_transaction must be/],
      [unsigned({ ...dynamic, chainId: 1n }), /is for chain ID 1; .* has chain ID 31337/],
      [unsigned({ ...legacy, chainId: 0n }), /is for chain ID none/],
      [signed, /has a signature already/],
      [unsigned({ ...plain, type: 1, gasPrice: gwei }), /has type 1; only legacy and EIP-1559/],
      [unsigned({ ...dynamic, type: 3, maxFeePerBlobGas: 1n, blobVersionedHashes: [`0x01${'00'.repeat(31)}`] }), /carries blobs/],
      [unsigned({ ...dynamic, type: 4, authorizationList: [authorization] }), /delegates an account's code/],
      [unsigned({ ...dynamic, to: null }), /has neither a receiver nor data/],
      [unsigned({ ...dynamic, to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' }), /not in the relayer's whitelist_receivers/],
      [unsigned({ ...dynamic, gasLimit: 20_999n }), /gas limit of 20999; it must be 21000 to 16777216/],
      [unsigned({ ...dynamic, gasLimit: 2n ** 24n + 1n }), /it must be 21000 to 16777216/],
      [unsigned({ ...dynamic, maxFeePerGas: 31n * gwei }), /must be at most 30000000000 wei, the relayer's gas_price_cap/],
      [unsigned({ ...legacy, gasPrice: 31n * gwei }), /must be at most 30000000000 wei/],
    ] as const) {
      const refused = await sign(text);
      assert.equal(refused.status, 400, `${text} ${refused.text}`);
      assert.match(refused.body.error, words, text);
    }
    await allow({ gas_price_cap: null });
    const costly = await sign(unsigned({ ...dynamic, gasLimit: 2n ** 24n, maxFeePerGas: 100n * gwei }));
    assert.match(costly.body.error, /may pay a fee of 1677721600000000000 wei, above MAX_FEE_PER_TRANSACTION/);
  });
});

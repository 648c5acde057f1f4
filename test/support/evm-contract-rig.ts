import { randomBytes } from 'node:crypto';
import { createEvmChain } from '../../src/chains/evm/evm-chain.js';
import type { Chain } from '../../src/core/ports/chain.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import type { ChainRig } from '../contracts/chain.contract.js';
import { type Anvil, startAnvil } from './anvil.js';
import { contractThat, evmNetwork, evmRelayer, evmRequest, rememberingLog } from './evm.js';
import { startRpcProxy } from './rpc-proxy.js';

/** Who is paid: an address that nobody has. */
const receiver = '0x00000000000000000000000000000000DeaDBeef';

/** A real node of its own, behind what makes it fall silent. */
export async function openEvmRig(): Promise<ChainRig> {
  const anvil = await startAnvil({ noMining: true });
  let isDown = false;
  const proxy = await startRpcProxy({ target: anvil.url, outcomeOf: () => (isDown ? { refusedWith: 503 } : {}) });
  const signer = createLocalSigner({ id: 's1', privateKey: randomBytes(32) });
  await anvil.rpc('anvil_setBalance', [signer.address, `0x${(10n ** 21n).toString(16)}`]);
  const network = evmNetwork({ averageBlockTimeMs: 400 });
  const open = () => createEvmChain({ network, rpcUrls: [{ url: proxy.url, weight: 1 }], rpcTimeoutMs: 5_000, log: rememberingLog() });
  const chain = open();
  const others: Chain[] = [];
  return {
    chain,
    relayer: evmRelayer(signer.address),
    signer,
    requestOf: (amount) => evmRequest({ to: receiver, valueWei: amount, speed: 'fast' }),
    tooMuch: 10n ** 22n,
    showsPool: true,
    failingRequest: () => failing(anvil),
    received: async () => BigInt(String(await anvil.rpc('eth_getBalance', [receiver, 'latest']))),
    settle: () => anvil.mine(),
    dropPending: async () => void (await anvil.rpc('anvil_dropAllTransactions')),
    setDown(down) {
      isDown = down;
    },
    expectingAnother() {
      const other = open();
      other.expectGenesis(`0x${'ab'.repeat(32)}`);
      others.push(other);
      return other;
    },
    async close() {
      await Promise.all([chain, ...others].map((opened) => opened.close()));
      await proxy.stop();
      await anvil.stop();
    },
  };
}

/** A call that reverts; with a gas limit of its own, nothing is estimated. */
async function failing(anvil: Anvil) {
  const [account] = (await anvil.rpc('eth_accounts')) as string[];
  const hash = await anvil.rpc('eth_sendTransaction', [{ from: account, data: contractThat('reverts', '0x') }]);
  await anvil.mine();
  const { contractAddress } = (await anvil.rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string };
  return evmRequest({ to: contractAddress, valueWei: 0n, data: '0x01', gasLimit: 100_000n, speed: 'fast' });
}

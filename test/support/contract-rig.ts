import { randomBytes } from 'node:crypto';
import { address as accountOf } from '@solana/kit';
import { Keypair } from '@stellar/stellar-sdk';
import { createEvmChain } from '../../src/chains/evm/evm-chain.js';
import { createSolanaChain } from '../../src/chains/solana/solana-chain.js';
import { createStellarChain } from '../../src/chains/stellar/stellar-chain.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { ContentRequest } from '../../src/core/ports/chain/requests.js';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { newest } from '../../src/sandbox/solana/chain.js';
import { systemProgram, transferOf } from '../../src/sandbox/solana/instructions.js';
import { type LocalSolana, startSolana } from '../../src/sandbox/solana/start-solana.js';
import { startStellar } from '../../src/sandbox/stellar/server.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import type { ChainRig } from '../contracts/chain.contract.js';
import { type Anvil, startAnvil } from './anvil.js';
import { contractThat, evmNetwork, evmRelayer, evmRequest, rememberingLog } from './evm.js';
import { startRpcProxy } from './rpc-proxy.js';
import { solanaKey, solanaNetwork, solanaRelayer, solanaRequest, transferInstruction } from './solana.js';
import { transactionBody } from './solana-body.js';
import { payment, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from './stellar.js';

/** The parts of the contract that depend on the network. */
interface NetworkRig extends Omit<ChainRig, 'chain' | 'expectingAnother'> {
  /** Opens a chain before the node. */
  open(): Chain;
  /** Opens a chain that expects another network there. */
  openExpectingAnother(): Chain;
}

/** A separate network for the contract of chains. */
export async function openContractRig(networkType: 'evm' | 'solana' | 'stellar'): Promise<ChainRig> {
  const { open, openExpectingAnother, close, ...network } = await openers[networkType]();
  const chain = open();
  const opened = [chain];
  return {
    ...network,
    chain,
    expectingAnother() {
      const other = openExpectingAnother();
      opened.push(other);
      return other;
    },
    async close() {
      await Promise.all(opened.map((one) => one.close()));
      await close();
    },
  };
}

const openers = { evm: openEvm, solana: openSolana, stellar: openStellar };

/** Options of a chain that asks this URL. */
function chainAt<Network>(network: Network, url: string) {
  return { network, rpcUrls: [{ url, weight: 1 }], rpcTimeoutMs: 5_000, log: rememberingLog() };
}

/** The receiver of the EVM suite, an address without a known key. */
const evmReceiver = '0x00000000000000000000000000000000DeaDBeef';

/** A real node behind a proxy that can refuse every call. */
async function openEvm(): Promise<NetworkRig> {
  const anvil = await startAnvil({ noMining: true });
  let isDown = false;
  const proxy = await startRpcProxy({ target: anvil.url, outcomeOf: () => (isDown ? { refusedWith: 503 } : {}) });
  const signer = createLocalSigner({ id: 's1', privateKey: randomBytes(32) });
  await anvil.rpc('anvil_setBalance', [signer.address, `0x${(10n ** 21n).toString(16)}`]);
  const open = () => createEvmChain(chainAt(evmNetwork({ averageBlockTimeMs: 400 }), proxy.url));
  return {
    open,
    openExpectingAnother() {
      const other = open();
      other.expectGenesis(`0x${'ab'.repeat(32)}`);
      return other;
    },
    relayer: evmRelayer(signer.address),
    signer,
    requestOf: (amount) => evmRequest({ to: evmReceiver, valueWei: amount, speed: 'fast' }),
    tooMuch: 10n ** 22n,
    showsPool: true,
    failingRequest: () => revertingRequest(anvil),
    received: async () => BigInt(String(await anvil.rpc('eth_getBalance', [evmReceiver, 'latest']))),
    settle: () => anvil.mine(),
    dropPending: async () => void (await anvil.rpc('anvil_dropAllTransactions')),
    setDown(down) {
      isDown = down;
    },
    async close() {
      await proxy.stop();
      await anvil.stop();
    },
  };
}

/** A call that reverts. It has a gas limit, so nothing is estimated. */
async function revertingRequest(anvil: Anvil): Promise<ContentRequest> {
  const [account] = (await anvil.rpc('eth_accounts')) as string[];
  const hash = await anvil.rpc('eth_sendTransaction', [{ from: account, data: contractThat('reverts', '0x') }]);
  await anvil.mine();
  const { contractAddress } = (await anvil.rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string };
  return evmRequest({ to: contractAddress, valueWei: 0n, data: '0x01', gasLimit: 100_000n, speed: 'fast' });
}

/** 1,000 SOL. */
const fundsLamports = 1_000_000_000_000n;
const blocksUntilFinal = 31;

/** A local cluster of one node. */
async function openSolana(): Promise<NetworkRig> {
  const { signer, address } = solanaKey();
  const receiver = solanaKey().address;
  const solana = await startSolana({ accounts: [address, receiver].map((account) => ({ address: account, lamports: fundsLamports })) });
  const { chain: cluster, node } = solana;
  let beforeBlock = (): void => {};
  const open = () => createSolanaChain(chainAt(solanaNetwork(), node.url));
  return {
    open,
    openExpectingAnother() {
      const other = open();
      other.expectGenesis(receiver);
      return other;
    },
    relayer: solanaRelayer(address),
    signer,
    requestOf: (amount) => solanaRequest({ instructions: [transferInstruction(address, receiver, amount)] }),
    tooMuch: fundsLamports + 1n,
    showsPool: false,
    async failingRequest() {
      const { request, ruin } = await ruinableRequest(solana, address, receiver);
      beforeBlock = ruin;
      return request;
    },
    received: async () => cluster.account(receiver, newest)?.lamports ?? 0n,
    async settle() {
      beforeBlock();
      cluster.advance(1 + blocksUntilFinal);
    },
    dropPending: async () => cluster.pool.drop(),
    setDown(isDown) {
      if (isDown) node.fail('*', 'request_lost', Number.POSITIVE_INFINITY);
      else node.heal();
    },
    close: () => solana.stop(),
  };
}

/** A payment from an account that has enough until `ruin` is called. */
async function ruinableRequest(
  { chain }: LocalSolana,
  payer: string,
  receiver: string,
): Promise<{ readonly request: ContentRequest; ruin(): void }> {
  const source = await signerOf(7);
  const holds = (lamports: bigint): void =>
    chain.putAccount(source.address, { lamports, owner: systemProgram, data: new Uint8Array(), executable: false });
  holds(fundsLamports);
  const instructions = [transferOf(source.address, accountOf(receiver), fundsLamports / 2n)];
  const { transaction } = await transactionBody(chain, { payer, signers: [source], instructions });
  return { request: solanaRequest({ transaction }), ruin: () => holds(fundsLamports / 4n) };
}

/** 1,000 XLM. */
const fundsStroops = 10_000_000_000n;

/** A local ledger behind a node. */
async function openStellar(): Promise<NetworkRig> {
  const { signer, address } = stellarKey();
  const receiver = Keypair.random().publicKey();
  const node = await startStellar({ accounts: { [address]: fundsStroops, [receiver]: fundsStroops } });
  const { ledger } = node;
  const openAs = (passphrase: string) => createStellarChain(chainAt(stellarNetwork({ passphrase, averageBlockTimeMs: 400 }), node.url));
  return {
    open: () => openAs(ledger.passphrase),
    openExpectingAnother: () => openAs('another network'),
    relayer: stellarRelayer(address),
    signer,
    requestOf: (amount) => stellarRequest({ operations: [payment(receiver, amount)] }),
    tooMuch: fundsStroops + 1n,
    showsPool: false,
    // This account does not exist.
    failingRequest: async () => stellarRequest({ operations: [payment(Keypair.random().publicKey(), 1n)] }),
    received: async () => ledger.latest().state.accounts.get(receiver)?.balanceStroops ?? 0n,
    settle: async () => void ledger.close(),
    dropPending: async () => ledger.forget(),
    setDown: (isDown) => node.setOutcome(isDown ? () => ({ refusedWith: 503 }) : null),
    close: () => node.stop(),
  };
}

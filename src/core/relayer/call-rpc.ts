import { DomainError, invalidField } from '../errors/errors.js';
import type { ForwardedAnswer } from '../ports/chain/requests.js';
import type { Directory } from '../ports/directory.js';
import type { NetworkType } from '../records/network.js';
import type { Relayer } from '../records/relayer.js';
import { shownName } from '../text/safe-text.js';
import { checkText, syntaxes } from '../text/text-syntax.js';

/**
 * The JSON-RPC methods that callers may use, by network type. All of them read, answer at once, and leave nothing on the node. Methods that
 * send, sign, subscribe or create filters are not allowed, nor are the operator's (admin, debug, trace, txpool).
 */
const readableMethods: Readonly<Record<NetworkType, ReadonlySet<string>>> = {
  evm: methodsIn(`
    eth_chainId net_version web3_clientVersion eth_syncing web3_sha3
    eth_gasPrice eth_maxPriorityFeePerGas eth_blobBaseFee eth_feeHistory
    eth_blockNumber eth_getBlockByHash eth_getBlockByNumber eth_getBlockReceipts
    eth_getBlockTransactionCountByHash eth_getBlockTransactionCountByNumber
    eth_getUncleByBlockHashAndIndex eth_getUncleByBlockNumberAndIndex
    eth_getUncleCountByBlockHash eth_getUncleCountByBlockNumber
    eth_getTransactionByHash eth_getTransactionReceipt eth_getTransactionCount
    eth_getTransactionByBlockHashAndIndex eth_getTransactionByBlockNumberAndIndex
    eth_getBalance eth_getCode eth_getStorageAt eth_getProof eth_getLogs
    eth_call eth_createAccessList eth_estimateGas
  `),
  stellar: methodsIn(`
    getHealth getNetwork getVersionInfo getFeeStats
    getLatestLedger getLedgers getLedgerEntries
    getTransaction getTransactions getEvents simulateTransaction
  `),
  solana: methodsIn(`
    getHealth getVersion getIdentity getGenesisHash
    getSlot getSlotLeader getFirstAvailableBlock minimumLedgerSlot getHighestSnapshotSlot
    getBlock getBlocks getBlocksWithLimit getBlockCommitment getBlockHeight getBlockTime
    getEpochInfo getEpochSchedule getInflationGovernor getInflationRate getInflationReward getSupply
    getLatestBlockhash isBlockhashValid getFeeForMessage getRecentPrioritizationFees getRecentPerformanceSamples
    getTransaction getTransactionCount getSignatureStatuses getSignaturesForAddress simulateTransaction
    getAccountInfo getMultipleAccounts getProgramAccounts getBalance getMinimumBalanceForRentExemption
    getTokenAccountBalance getTokenAccountsByDelegate getTokenAccountsByOwner
    getTokenLargestAccounts getTokenSupply
  `),
};

/** The methods with which OpenZeppelin Relayer sells transactions on Solana to callers who pay in tokens. */
const paymasterMethods = methodsIn(`
  feeEstimate transferTransaction prepareTransaction signTransaction signAndSendTransaction
  getSupportedTokens getFeaturesEnabled getSupportedFeatures
`);

function methodsIn(names: string): ReadonlySet<string> {
  return new Set(names.trim().split(/\s+/));
}

/** A JSON-RPC call as requested; its JSON texts are forwarded unchanged. */
export interface WantedCall {
  /** Absent: 2.0. */
  readonly jsonrpc: string | undefined;
  readonly method: string;
  /** An array or an object; absent or null: none. */
  readonly paramsJson: string | undefined;
  /** A string, an integer or null; absent: 1. */
  readonly idJson: string | undefined;
}

/** The answer to a call. */
export interface AnsweredCall {
  readonly idJson: string;
  readonly answer: ForwardedAnswer;
}

/** The params sent if a caller gives none: Stellar nodes refuse even an empty list, some other nodes require one. */
const noParams = { evm: '[]', stellar: null, solana: '[]' } as const;

/** The maximum length of an id that an answer repeats. */
export const maxIdLength = 256;

/**
 * Forwards a call to a node of the relayer's network. A node's error is an answer. Throws `FIELD_INVALID`, also for a method that is not
 * allowed, `NOT_IMPLEMENTED` for a method of a paymaster, and `NODE_UNAVAILABLE`.
 */
export async function callRpc(
  { directory }: { readonly directory: Pick<Directory, 'chainOf'> },
  relayer: Relayer,
  call: WantedCall,
): Promise<AnsweredCall> {
  const { jsonrpc = '2.0', method, idJson = '1' } = call;
  checkText('jsonrpc', jsonrpc, syntaxes.json_rpc_version);
  if (method === '') throw invalidField('method', 'is required');
  if (!readableMethods[relayer.networkType].has(method)) throw methodRefused(method, relayer);
  const paramsJson = checkedParams(call.paramsJson) ?? noParams[relayer.networkType];
  checkId(idJson);
  return { idJson, answer: await directory.chainOf(relayer).forward(method, paramsJson) };
}

function methodRefused(method: string, { networkType }: Relayer): DomainError {
  if (networkType === 'solana' && paymasterMethods.has(method)) {
    return new DomainError(
      'unimplemented',
      'NOT_IMPLEMENTED',
      `the paymaster method ${method} is not supported; the relayer pays the fees`,
      {
        metadata: { network_type: networkType },
      },
    );
  }
  return invalidField('method', `must be an allowed read-only ${networkType} method; ${shownName(method)} is not`);
}

function checkedParams(paramsJson: string | undefined): string | null {
  const params = paramsJson === undefined ? null : valueFromJson('params', paramsJson);
  if (paramsJson === undefined || params === null) return null;
  if (typeof params !== 'object') throw invalidField('params', 'must be an array or an object');
  return paramsJson;
}

function checkId(idJson: string): void {
  const id = valueFromJson('id', idJson);
  const isFine = idJson.length <= maxIdLength && (id === null || typeof id === 'string' || /^-?(0|[1-9][0-9]*)$/.test(idJson));
  if (!isFine) throw invalidField('id', `must be a string, an integer or null, of at most ${maxIdLength} characters`);
}

/** Over RPC, callers write these texts themselves. */
function valueFromJson(field: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw invalidField(field, 'must be JSON');
  }
}

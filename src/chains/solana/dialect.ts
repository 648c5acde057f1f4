import type { NodeDialect } from '../rpc/json-rpc.js';
import { questions } from './questions.js';

/** The node keeps no history: an Agave node without `--enable-rpc-transaction-history` (`TransactionHistoryNotAvailable`). */
export const noHistoryCode = -32011;

/**
 * Codes of errors about the node (Agave's `rpc-client-api/src/custom_error.rs`): block cleaned up, block not available, node unhealthy,
 * slot skipped, no snapshot, slot skipped in long-term storage, excluded from the index, no history, scan error, status not available,
 * version not supported, context slot not reached; and JSON-RPC's method not found and internal error.
 */
const codesAboutNode: readonly number[] = [
  -32001, -32004, -32005, -32007, -32008, -32009, -32010, -32011, -32012, -32014, -32015, -32016, -32601, -32603,
];

/** The dialect of Solana nodes. Only the genesis hash identifies a cluster. */
export const solanaDialect = {
  identity: null,
  genesis: () => questions.genesis(),
  position: questions.slot(),
  blockAt: null,
  isAboutNode: (code) => codesAboutNode.includes(code),
  dataFrom: () => null,
} satisfies NodeDialect;

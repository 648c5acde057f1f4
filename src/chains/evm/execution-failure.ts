import type { NodeError } from '../rpc/node-error.js';

/** The parts of a node's error that show a failed execution. */
export type Failure = Pick<NodeError, 'code' | 'message' | 'data'>;

/**
 * Reports whether a node's error certainly means that execution failed. Such an error is decided before any table of words: what follows
 * is the contract's own text, which may say anything.
 */
export function isRevert({ code, message, data }: Failure): boolean {
  return code === 3 || hasRevertData(data) || revertFirst.test(message);
}

/** Reports whether a node's error means that execution failed. */
export function isExecutionFailure(error: Failure): boolean {
  return isRevert(error) || executionFailures.test(error.message);
}

/** Revert data is a selector and whole words. An address or a hash in the details of another error is not. */
function hasRevertData(data: string | null): boolean {
  return data !== null && ((data.length - 2) / 2) % 32 === 4;
}

// geth, erigon, reth "execution reverted: ..."; besu "Execution reverted"; nitro "err: execution reverted (supplied gas 1)"; nethermind "VM
// execution error."; hardhat "Error: VM Exception while processing transaction: reverted with ..."; java-tron "REVERT opcode executed".
const revertFirst =
  /^(?:err(?:or)?: )?(?:vm exception while processing transaction: (?:err(?:or)?: )?)?(?:(?:execution |transaction )?revert|vm execution error)/i;

// geth "invalid opcode: INVALID", "stack underflow (0 <=> 1)"; erigon and reth the same; anvil "EVM error InvalidFEOpcode"; geth "invalid
// code: must not begin with 0xef", "return data out of bounds".
const executionFailures =
  /revert|invalid opcode|invalid jump|invalid instruction|bad instruction|stack (?:under|over)flow|write protection|out of gas|vm execution error|^evm error|code size|initcode|always failing|invalid code|return data out of bounds/i;

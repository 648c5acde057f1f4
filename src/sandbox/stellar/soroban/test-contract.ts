import { hash, xdr } from '@stellar/stellar-sdk';
import type { Authorization } from './authorization.js';
import { HostError } from './host-error.js';
import { contractData, contractDataKey, type Storage } from './storage.js';

/** The code of every contract: nothing runs WebAssembly here, so all uploaded code behaves like this one. */
export const testWasm = Buffer.from('0061736d01000000', 'hex');

/** The hash of the code. */
export const testWasmHash = hash(testWasm);

/** One call of a contract. */
export interface ContractCall {
  readonly contract: xdr.ScAddress;
  readonly name: string;
  readonly args: readonly xdr.ScVal[];
  readonly storage: Storage;
  readonly authorization: Authorization;
}

const counterKey = xdr.ScVal.scvSymbol('COUNTER');

/**
 * Runs a function of the test contract. `echo(value)` returns it; `add(a: u32, b: u32)` returns their sum or traps on overflow; `fail()`
 * ends with the contract's error 1; `increment(by: u32)` adds to a persistent counter and returns it; `greet(who: address)` needs the
 * authorization of `who`.
 */
export function callTestContract(call: ContractCall): xdr.ScVal {
  const { name, args } = call;
  if (name === 'echo') return argument(args, 0, 1);
  if (name === 'add') return u32(unsigned(argument(args, 0, 2)) + unsigned(argument(args, 1, 2)));
  if (name === 'fail') throw new HostError('Contract, #1');
  if (name === 'increment') return increment(call, unsigned(argument(args, 0, 1)));
  if (name === 'greet') return greet(call);
  throw new HostError('WasmVm, MissingValue');
}

function increment({ contract, storage }: ContractCall, by: number): xdr.ScVal {
  const persistent = xdr.ContractDataDurability.persistent;
  const key = contractDataKey(contract, counterKey, persistent);
  const entry = storage.get(key);
  const before = entry === null ? 0 : unsigned(xdr.expectUnionVariant(entry, 'contractData').contractData.val);
  const value = u32(before + by);
  storage.put(key, contractData(contract, counterKey, value, persistent));
  return value;
}

function greet({ contract, name, args, authorization }: ContractCall): xdr.ScVal {
  const who = argument(args, 0, 1);
  if (who.type !== 'scvAddress') throw new HostError('Value, UnexpectedType');
  const call = new xdr.InvokeContractArgs({ contractAddress: contract, functionName: name, args: [...args] });
  authorization.require(who.address, xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call));
  return xdr.ScVal.scvVoid();
}

function argument(args: readonly xdr.ScVal[], index: number, count: number): xdr.ScVal {
  const value = args[index];
  if (args.length !== count || value === undefined) throw new HostError('WasmVm, UnexpectedSize');
  return value;
}

function unsigned(value: xdr.ScVal): number {
  if (value.type !== 'scvU32') throw new HostError('Value, UnexpectedType');
  return value.u32;
}

function u32(value: number): xdr.ScVal {
  if (value > 0xffff_ffff) throw new HostError('WasmVm, InvalidAction');
  return xdr.ScVal.scvU32(value);
}

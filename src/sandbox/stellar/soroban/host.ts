import { Address, hash, xdr } from '@stellar/stellar-sdk';
import type { LedgerState } from '../state.js';
import { createAuthorization } from './authorization.js';
import { HostError } from './host-error.js';
import { codeKey, contractData, createStorage, instanceKey, type Storage } from './storage.js';
import { callTestContract } from './test-contract.js';

/** The environment of a host function. */
export interface HostContext {
  /** Changed by the call. */
  readonly state: LedgerState;
  /** The operation's source account, G... */
  readonly source: string;
  readonly networkId: Uint8Array;
  /** The number of the ledger that is being made. */
  readonly ledger: number;
  /** The declared resources; null in a simulation. */
  readonly footprint: xdr.LedgerFootprint | null;
  /** The positions in the read-write footprint of archived entries that the call restores. */
  readonly restores: readonly number[];
  /** The authorization of the operation; `record` to simulate an operation without any. */
  readonly auth: readonly xdr.SorobanAuthorizationEntry[] | 'record';
}

/** The result of a call. */
export interface HostAnswer {
  readonly returnValue: xdr.ScVal;
  readonly footprint: ReturnType<Storage['footprint']>;
  /** The entries of it that are archived, as base64. */
  readonly archived: readonly string[];
  readonly writtenBytes: number;
  readonly instructions: number;
  readonly recordedAuth: readonly xdr.SorobanAuthorizationEntry[];
}

/** Runs a host function: call, upload or new contract. Throws HostError if the host traps. */
export function runHostFunction(hostFunction: xdr.HostFunction, context: HostContext): HostAnswer {
  const storage = createStorage(context.state, context.footprint, context.ledger, context.restores);
  const authorization = createAuthorization({ ...context, entries: context.auth, storage });
  const returnValue = ((): xdr.ScVal => {
    if (hostFunction.type === 'hostFunctionTypeUploadContractWasm') return upload(hostFunction.wasm, storage);
    if (hostFunction.type === 'hostFunctionTypeInvokeContract') {
      const call = hostFunction.invokeContract;
      const contract = call.contractAddress;
      demandContract(contract, storage);
      return callTestContract({ contract, name: String(call.functionName), args: call.args, storage, authorization });
    }
    return create(hostFunction, context, storage, (address, invocation) => authorization.require(address, invocation));
  })();
  return {
    returnValue,
    footprint: storage.footprint(),
    archived: storage.archived(),
    writtenBytes: storage.writtenBytes(),
    // Real code is metered; here the cost depends on the arguments.
    instructions: 500_000 + 100 * hostFunction.toXdr().length,
    recordedAuth: authorization.recorded(),
  };
}

/** Requires that the contract and its code exist. */
function demandContract(contract: xdr.ScAddress, storage: Storage): void {
  const instance = storage.get(instanceKey(contract));
  if (instance === null) throw new HostError('Storage, MissingValue');
  const { val } = xdr.expectUnionVariant(instance, 'contractData').contractData;
  const { executable } = xdr.expectUnionVariant(val, 'scvContractInstance').instance;
  if (storage.get(codeKey(wasmHashOf(executable))) === null) throw new HostError('Storage, MissingValue');
}

function wasmHashOf(executable: xdr.ContractExecutable): xdr.Hash {
  return xdr.expectUnionVariant(executable, 'contractExecutableWasm').wasmHash;
}

const wasmMagic = Buffer.from('0061736d', 'hex');

function upload(wasm: Uint8Array, storage: Storage): xdr.ScVal {
  if (!wasmMagic.equals(wasm.subarray(0, 4))) throw new HostError('WasmVm, InvalidAction');
  const id = hash(wasm);
  // Existing code is not written again.
  if (storage.get(codeKey(id)) === null) {
    const code = new xdr.ContractCodeEntry({ ext: xdr.ContractCodeEntryExt.v0(), hash: id, code: wasm });
    storage.put(codeKey(id), xdr.LedgerEntryData.contractCode(code));
  }
  return xdr.ScVal.scvBytes(id);
}

/**
 * Creates a contract at the hash of its creator and the salt (CAP-46-02); the creator must authorize. Constructor arguments are ignored.
 */
function create(
  hostFunction: xdr.HostFunctionCreateContract | xdr.HostFunctionCreateContractV2,
  { networkId }: HostContext,
  storage: Storage,
  require: (address: xdr.ScAddress, invocation: xdr.SorobanAuthorizedFunction) => void,
): xdr.ScVal {
  const isV2 = hostFunction.type === 'hostFunctionTypeCreateContractV2';
  const args = isV2 ? hostFunction.createContractV2 : hostFunction.createContract;
  const preimage = args.contractIdPreimage;
  if (preimage.type !== 'contractIdPreimageFromAddress') throw new HostError('Context, InvalidAction');
  const authorized = isV2
    ? xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeCreateContractV2HostFn(hostFunction.createContractV2)
    : xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeCreateContractHostFn(hostFunction.createContract);
  require(preimage.fromAddress.address, authorized);
  const contract = Address.contract(contractIdOf(preimage, networkId)).toScAddress();
  if (storage.get(instanceKey(contract)) !== null) throw new HostError('Storage, ExistingValue');
  if (storage.get(codeKey(wasmHashOf(args.executable))) === null) throw new HostError('Storage, MissingValue');
  putInstance(contract, args.executable, storage);
  return xdr.ScVal.scvAddress(contract);
}

/** Writes a contract's instance. */
export function putInstance(contract: xdr.ScAddress, executable: xdr.ContractExecutable, storage: Storage): void {
  const instance = xdr.ScVal.scvContractInstance(new xdr.ScContractInstance({ executable, storage: null }));
  const key = xdr.ScVal.scvLedgerKeyContractInstance();
  storage.put(instanceKey(contract), contractData(contract, key, instance, xdr.ContractDataDurability.persistent));
}

function contractIdOf(contractIdPreimage: xdr.ContractIdPreimage, networkId: Uint8Array): Uint8Array {
  return hash(xdr.HashIdPreimage.envelopeTypeContractId(new xdr.HashIdPreimageContractId({ networkId, contractIdPreimage })).toXdr());
}

import { StrKey, xdr } from '@stellar/stellar-sdk';
import { DomainError, invalidField } from '../../core/errors/errors.js';
import { readAll, readEach } from '../../core/errors/read-all.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { StellarAuth, StellarOperation, StellarValue } from '../../core/records/stellar.js';
import { checkText, syntaxes } from '../../core/text/text-syntax.js';
import { accountOf, addressFromMuxedAccount } from './address.js';
import { contractValueFrom } from './contract-value.js';
import { accountFrom, assetFrom, receiverFrom } from './operation-kinds.js';
import { listedOperations } from './operation-table.js';
import { whyInvalid } from './operation-validity.js';
import { isOwnSource } from './policy.js';
import { readXdrField } from './xdr-text.js';

/** An operation in XDR and the source of its authorization. */
export interface ReadOperation {
  readonly operation: xdr.Operation;
  readonly auth: AuthSource;
  /** The entries of an operation that names its ledger entries; null: a simulation finds them, or there are none. */
  readonly footprint: xdr.LedgerFootprint | null;
}

/** The maximum code size (`contractMaxSizeBytes` of public networks). */
const maxWasmBytes = 128 * 1024;
const wasmMagic = Buffer.from([0, 0x61, 0x73, 0x6d]);

/**
 * Encodes the operation at `path` (`operations[0]`), whose source is the relayer's account unless it names another one that the policies
 * allow. Throws `DomainError` (400) naming the field.
 */
export function operationFrom(operation: StellarOperation, path: string, sources: OperationSources): ReadOperation {
  const { read, sourceAccount } = readAll({
    read: () => contentFrom(operation, path),
    sourceAccount: () => sourceFrom(operation.sourceAccount, `${path}.source_account`, sources),
  });
  const whole = new xdr.Operation({ sourceAccount, body: read.operation.body });
  // The first four kinds have checks of their own.
  if (operation.kind === 'listed') {
    const source = sourceAccount === null ? sources.account : (accountOf(addressFromMuxedAccount(sourceAccount)) ?? '');
    const invalid = whyInvalid(whole, source);
    if (invalid !== null) throw invalidField(invalid.field === null ? path : `${path}.${invalid.field}`, `is not valid: ${invalid.reason}`);
  }
  return { ...read, operation: whole };
}

/** What decides which accounts can be the source of operations. */
export interface OperationSources {
  /** The relayer's own, `G...`. */
  readonly account: string;
  readonly policies: StellarPolicies;
}

function sourceFrom(text: string | undefined, path: string, { account, policies }: OperationSources): xdr.MuxedAccount | null {
  if (text === undefined) return null;
  const source = receiverFrom(text, path);
  if (!isOwnSource(accountOf(text) ?? '', account, policies))
    throw invalidField(path, `must be ${account}, the relayer's account, or an account of the relayer's policy operation_source_accounts`);
  return source;
}

function contentFrom(operation: StellarOperation, path: string): ReadOperation {
  switch (operation.kind) {
    case 'unset':
      throw invalidField(`${path}.type`, 'is required');
    case 'payment':
      return { operation: paymentFrom(operation, path), auth: 'given', footprint: null };
    case 'listed':
      return listedFrom(operation, path);
    case 'invoke_contract':
      return contractOperation(
        () => invocationFrom(operation, path),
        () => authFrom(operation.auth, path, 'simulated'),
      );
    case 'create_contract':
      return contractOperation(
        () => creationFrom(operation, path),
        () => authFrom(operation.auth, path, 'simulated'),
      );
    case 'upload_wasm':
      return contractOperation(
        () => uploadFrom(operation, path),
        () => authFrom(operation.auth, path, 'given'),
      );
  }
}

/** Returns how many bytes of authorization entries an operation has. */
export function authBytesOf(operation: StellarOperation): number {
  if (!('auth' in operation) || operation.auth?.kind !== 'xdr') return 0;
  return operation.auth.entries.reduce((sum, text) => sum + Math.floor((text.length * 3) / 4), 0);
}

function contractOperation(readFunction: () => xdr.HostFunction, readAuth: () => ReadAuth): ReadOperation {
  const { hostFunction, auth } = readAll({ hostFunction: readFunction, auth: readAuth });
  const body = xdr.OperationBody.invokeHostFunction(new xdr.InvokeHostFunctionOp({ hostFunction, auth: [...auth.entries] }));
  return { operation: new xdr.Operation({ sourceAccount: null, body }), auth: auth.source, footprint: null };
}

function listedFrom({ type, fields }: Extract<StellarOperation, { kind: 'listed' }>, path: string): ReadOperation {
  const listed = listedOperations.get(type);
  if (listed === undefined) throw new Error(`the table has no operation ${type}`);
  const { body, footprint } = listed.read(fields, path);
  return { operation: new xdr.Operation({ sourceAccount: null, body }), auth: 'given', footprint };
}

function paymentFrom({ destination, amount, asset }: Extract<StellarOperation, { kind: 'payment' }>, path: string): xdr.Operation {
  const payment = readAll({
    destination: () => receiverFrom(destination, `${path}.destination`),
    amount: () => amountFrom(amount, `${path}.amount`),
    asset: () => assetFrom(asset, `${path}.asset`),
  });
  return new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.payment(new xdr.PaymentOp(payment)) });
}

function amountFrom(stroops: bigint, path: string): xdr.Int64 {
  if (stroops < 1n) throw invalidField(path, `is ${stroops}; must be at least 1 stroop`);
  return stroops;
}

function invocationFrom(operation: Extract<StellarOperation, { kind: 'invoke_contract' }>, path: string): xdr.HostFunction {
  const { contractAddress, functionName, args } = operation;
  const invocation = readAll({
    contractAddress: () => contractFrom(contractAddress, `${path}.contract_address`),
    functionName: () => functionNameFrom(functionName, `${path}.function_name`),
    args: () => argumentsFrom(args, `${path}.args`),
  });
  return xdr.HostFunction.hostFunctionTypeInvokeContract(new xdr.InvokeContractArgs({ ...invocation, args: [...invocation.args] }));
}

function contractFrom(address: string, path: string): xdr.ScAddress {
  if (!StrKey.isValidContract(address)) throw invalidField(path, syntaxes.stellar_contract.description);
  return xdr.ScAddress.scAddressTypeContract(new xdr.ContractId(StrKey.decodeContract(address)));
}

function functionNameFrom(name: string, path: string): string {
  checkText(path, name, syntaxes.contract_function);
  return name;
}

function creationFrom(operation: Extract<StellarOperation, { kind: 'create_contract' }>, path: string): xdr.HostFunction {
  const { address, wasmHash, salt, constructorArgs } = readAll({
    address: () => creatorFrom(operation.source, `${path}.source`),
    wasmHash: () => bytes32From(operation.wasmHash, `${path}.wasm_hash`),
    salt: () => (operation.salt === undefined ? Buffer.alloc(32) : bytes32From(operation.salt, `${path}.salt`)),
    constructorArgs: () => argumentsFrom(operation.constructorArgs, `${path}.constructor_args`),
  });
  const contractIdPreimage = xdr.ContractIdPreimage.contractIdPreimageFromAddress(new xdr.ContractIdPreimageFromAddress({ address, salt }));
  const executable = xdr.ContractExecutable.contractExecutableWasm(wasmHash);
  if (constructorArgs.length === 0) {
    return xdr.HostFunction.hostFunctionTypeCreateContract(new xdr.CreateContractArgs({ contractIdPreimage, executable }));
  }
  const contract = new xdr.CreateContractArgsV2({ contractIdPreimage, executable, constructorArgs: [...constructorArgs] });
  return xdr.HostFunction.hostFunctionTypeCreateContractV2(contract);
}

function bytes32From(bytes: Uint8Array, path: string): Buffer {
  if (bytes.length !== 32) throw invalidField(path, 'must be 32 bytes: 64 hex digits');
  return Buffer.from(bytes);
}

function creatorFrom(source: Extract<StellarOperation, { kind: 'create_contract' }>['source'], path: string): xdr.ScAddress {
  switch (source?.kind) {
    case undefined:
      throw invalidField(path, 'is required');
    case 'unset':
      throw invalidField(`${path}.from`, 'is required');
    case 'address':
      return xdr.ScAddress.scAddressTypeAccount(accountFrom(source.address, `${path}.address`));
    case 'contract':
      return contractFrom(source.address, `${path}.contract`);
  }
}

function uploadFrom({ wasm }: Extract<StellarOperation, { kind: 'upload_wasm' }>, path: string): xdr.HostFunction {
  if (wasm === undefined || wasm.kind === 'unset') throw invalidField(`${path}.wasm`, 'is required: {"hex":...} or {"base64":...}');
  const at = `${path}.wasm.${wasm.kind}`;
  const code = Buffer.from(wasm.bytes);
  if (!code.subarray(0, 4).equals(wasmMagic)) throw invalidField(at, 'must be WebAssembly, which starts with the bytes 00 61 73 6d');
  if (code.length > maxWasmBytes) throw invalidField(at, `is ${code.length} bytes; networks allow at most ${maxWasmBytes}`);
  return xdr.HostFunction.hostFunctionTypeUploadContractWasm(code);
}

function argumentsFrom(values: readonly StellarValue[], path: string): readonly xdr.ScVal[] {
  return readEach(values, (value, index) => contractValueFrom(value, `${path}[${index}]`));
}

/**
 * The source of a contract operation's authorization. `simulated`: a simulation at a node, which reports every nested call that the source
 * account must authorize; an entry made by hand would cover only the outermost call. `given`: the operation's own entries, or none.
 */
export type AuthSource = 'simulated' | 'given';

/** The authorization of a contract operation. */
interface ReadAuth {
  readonly source: AuthSource;
  readonly entries: readonly xdr.SorobanAuthorizationEntry[];
}

/** Reads the authorization of the operation at `path`. Throws `DomainError`: 400 naming the field, or 501 for an unsupported type. */
function authFrom(auth: StellarAuth | undefined, path: string, whenAbsent: AuthSource): ReadAuth {
  switch (auth?.kind) {
    case undefined:
      return { source: whenAbsent, entries: [] };
    case 'unset':
      throw invalidField(`${path}.auth.type`, 'is required');
    case 'none':
      return { source: 'given', entries: [] };
    case 'source_account':
      return { source: 'simulated', entries: [] };
    case 'addresses':
      throw new DomainError(
        'unimplemented',
        'NOT_IMPLEMENTED',
        `${path}.auth of type addresses is not supported; sign the entries and send them with type xdr`,
      );
    case 'xdr': {
      const { entries } = auth;
      if (entries.length === 0) throw invalidField(`${path}.auth.entries`, 'must have at least one entry');
      const read = (text: string, index: number): xdr.SorobanAuthorizationEntry =>
        readXdrField(xdr.SorobanAuthorizationEntry, text, `${path}.auth.entries[${index}]`, 'a SorobanAuthorizationEntry');
      return { source: 'given', entries: readEach(entries, read) };
    }
  }
}

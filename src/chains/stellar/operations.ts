import { StrKey, xdr } from '@stellar/stellar-sdk';
import { DomainError, invalidField } from '../../core/errors.js';
import type { StellarAsset, StellarAuth, StellarOperation, StellarValue } from '../../core/transaction/stellar.js';
import { accountIdFrom, accountOf, muxedAccountFrom } from './address.js';
import { contractValueFrom, symbolPattern } from './contract-value.js';
import { readXdrField } from './xdr-text.js';

/** An operation in XDR and the source of its authorization. */
export interface ReadOperation {
  readonly operation: xdr.Operation;
  readonly auth: AuthSource;
}

/** The maximum code size (`contractMaxSizeBytes` of public networks). */
const maxWasmBytes = 128 * 1024;
const wasmMagic = Buffer.from([0, 0x61, 0x73, 0x6d]);

/** Encodes the operation at `path` (`operations[0]`). Throws `DomainError` (400) naming the field. */
export function operationFrom(operation: StellarOperation, path: string): ReadOperation {
  switch (operation.kind) {
    case 'unset':
      throw invalidField(`${path}.type`, 'is required');
    case 'payment':
      return { operation: paymentFrom(operation, path), auth: 'given' };
    case 'invoke_contract':
      return contractOperation(invocationFrom(operation, path), authFrom(operation.auth, path, 'simulated'));
    case 'create_contract':
      return contractOperation(creationFrom(operation, path), authFrom(operation.auth, path, 'simulated'));
    case 'upload_wasm':
      return contractOperation(uploadFrom(operation, path), authFrom(operation.auth, path, 'given'));
  }
}

function contractOperation(
  hostFunction: xdr.HostFunction,
  { source, entries }: { readonly source: AuthSource; readonly entries: xdr.SorobanAuthorizationEntry[] },
): ReadOperation {
  const body = xdr.OperationBody.invokeHostFunction(new xdr.InvokeHostFunctionOp({ hostFunction, auth: entries }));
  return { operation: new xdr.Operation({ sourceAccount: null, body }), auth: source };
}

function paymentFrom({ destination, amount, asset }: Extract<StellarOperation, { kind: 'payment' }>, path: string): xdr.Operation {
  if (accountOf(destination) === null) throw invalidField(`${path}.destination`, 'must be the address of an account (G... or M...)');
  if (amount < 1n) throw invalidField(`${path}.amount`, `is ${amount}; must be at least 1 stroop`);
  const payment = new xdr.PaymentOp({
    destination: muxedAccountFrom(destination),
    asset: assetFrom(asset, `${path}.asset`),
    amount: new xdr.Int64(amount),
  });
  return new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.payment(payment) });
}

function assetFrom(asset: StellarAsset | undefined, path: string): xdr.Asset {
  if (asset === undefined) throw invalidField(path, 'is required');
  switch (asset.kind) {
    case 'unset':
      throw invalidField(`${path}.type`, 'is required');
    case 'native':
      return xdr.Asset.assetTypeNative();
    case 'credit4':
      return xdr.Asset.assetTypeCreditAlphanum4(new xdr.AlphaNum4(creditFrom(asset, path, 1, 4)));
    case 'credit12':
      return xdr.Asset.assetTypeCreditAlphanum12(new xdr.AlphaNum12(creditFrom(asset, path, 5, 12)));
  }
}

function creditFrom(
  { code, issuer }: Extract<StellarAsset, { code: string }>,
  path: string,
  minLength: number,
  maxLength: number,
): { assetCode: Buffer; issuer: xdr.AccountId } {
  if (!/^[A-Za-z0-9]*$/.test(code) || code.length < minLength || code.length > maxLength) {
    throw invalidField(`${path}.code`, `must be ${minLength} to ${maxLength} characters from A-Z, a-z and 0-9`);
  }
  if (!StrKey.isValidEd25519PublicKey(issuer)) throw invalidField(`${path}.issuer`, 'must be the address of an account (G...)');
  const assetCode = Buffer.alloc(maxLength);
  assetCode.write(code, 'latin1');
  return { assetCode, issuer: accountIdFrom(issuer) };
}

function invocationFrom(operation: Extract<StellarOperation, { kind: 'invoke_contract' }>, path: string): xdr.HostFunction {
  const { contractAddress, functionName } = operation;
  if (!StrKey.isValidContract(contractAddress)) throw invalidField(`${path}.contract_address`, 'must be the address of a contract (C...)');
  if (!symbolPattern.test(functionName)) throw invalidField(`${path}.function_name`, 'must be 1 to 32 characters from a-z, A-Z, 0-9 and _');
  const args = argumentsFrom(operation.args, `${path}.args`);
  return xdr.HostFunction.hostFunctionTypeInvokeContract(
    new xdr.InvokeContractArgs({ contractAddress: contractIdFrom(contractAddress), functionName, args }),
  );
}

function creationFrom(operation: Extract<StellarOperation, { kind: 'create_contract' }>, path: string): xdr.HostFunction {
  const { source, wasmHash, salt, constructorArgs } = operation;
  if (source === undefined) throw invalidField(`${path}.source`, 'is required');
  const address = creatorFrom(source, `${path}.source`);
  if (wasmHash.length !== 32) throw invalidField(`${path}.wasm_hash`, 'must be 32 bytes: 64 hex digits');
  if (salt !== undefined && salt.length !== 32) throw invalidField(`${path}.salt`, 'must be 32 bytes: 64 hex digits');
  const contractIdPreimage = xdr.ContractIdPreimage.contractIdPreimageFromAddress(
    new xdr.ContractIdPreimageFromAddress({ address, salt: Buffer.from(salt ?? Buffer.alloc(32)) }),
  );
  const executable = xdr.ContractExecutable.contractExecutableWasm(Buffer.from(wasmHash));
  const constructorValues = argumentsFrom(constructorArgs, `${path}.constructor_args`);
  if (constructorValues.length === 0) {
    return xdr.HostFunction.hostFunctionTypeCreateContract(new xdr.CreateContractArgs({ contractIdPreimage, executable }));
  }
  const contract = new xdr.CreateContractArgsV2({ contractIdPreimage, executable, constructorArgs: constructorValues });
  return xdr.HostFunction.hostFunctionTypeCreateContractV2(contract);
}

function creatorFrom(source: NonNullable<Extract<StellarOperation, { kind: 'create_contract' }>['source']>, path: string): xdr.ScAddress {
  switch (source.kind) {
    case 'unset':
      throw invalidField(`${path}.from`, 'is required');
    case 'address':
      if (!StrKey.isValidEd25519PublicKey(source.address))
        throw invalidField(`${path}.address`, 'must be the address of an account (G...)');
      return xdr.ScAddress.scAddressTypeAccount(accountIdFrom(source.address));
    case 'contract':
      if (!StrKey.isValidContract(source.address)) throw invalidField(`${path}.contract`, 'must be the address of a contract (C...)');
      return contractIdFrom(source.address);
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

function contractIdFrom(address: string): xdr.ScAddress {
  // The SDK declares a class that it never creates, but reads the 32 bytes.
  return xdr.ScAddress.scAddressTypeContract(StrKey.decodeContract(address) as unknown as xdr.ContractId);
}

function argumentsFrom(values: readonly StellarValue[], path: string): xdr.ScVal[] {
  return values.map((value, index) => contractValueFrom(value, `${path}[${index}]`));
}

/**
 * The source of a contract operation's authorization. `simulated`: a simulation at a node, which reports every nested call that the source account must
 * authorize; an entry made by hand would cover only the outermost call. `given`: the operation's own entries, or none.
 */
export type AuthSource = 'simulated' | 'given';

/** Reads the authorization of the operation at `path`. Throws `DomainError`: 400 naming the field, or 501 for an unsupported type. */
function authFrom(
  auth: StellarAuth | undefined,
  path: string,
  whenAbsent: AuthSource,
): { readonly source: AuthSource; readonly entries: xdr.SorobanAuthorizationEntry[] } {
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
      return { source: 'given', entries: entries.map(read) };
    }
  }
}

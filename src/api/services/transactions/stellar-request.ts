import type {
  AssetSpec,
  AuthSpec,
  ContractSource,
  MemoSpec,
  OperationSpec,
  StellarTransactionRequest,
  WasmSource,
} from '../../../../gen/relayer/v1/stellar_pb.js';
import type {
  StellarAsset,
  StellarAuth,
  StellarContractSource,
  StellarMemo,
  StellarOperation,
  StellarRequest,
  StellarWasm,
} from '../../../core/transaction/stellar.js';
import { stellarValueOf } from './stellar-value.js';

/** What the caller of a Stellar relayer wants sent. */
export function stellarRequestOf(request: StellarTransactionRequest): StellarRequest {
  const { network, sourceAccount, operations, transactionXdr, memo, validUntil, feeBump, maxFee } = request;
  return {
    network: 'stellar',
    networkName: network,
    sourceAccount,
    operations: operations.map(operationOf),
    transactionXdr,
    memo: memo && memoOf(memo),
    validUntil,
    feeBump,
    maxFeeStroops: maxFee,
  };
}

function memoOf({ memo }: MemoSpec): StellarMemo {
  switch (memo.case) {
    case undefined:
      return { kind: 'unset' };
    case 'none':
      return { kind: 'none' };
    case 'text':
      return { kind: 'text', text: memo.value };
    case 'id':
      return { kind: 'id', id: memo.value };
    case 'hash':
    case 'return':
      return { kind: memo.case, bytes: memo.value };
  }
}

function operationOf({ operation }: OperationSpec): StellarOperation {
  switch (operation.case) {
    case undefined:
      return { kind: 'unset' };
    case 'payment': {
      const { destination, amount, asset } = operation.value;
      return { kind: 'payment', destination, amount, asset: asset && assetOf(asset) };
    }
    case 'invokeContract': {
      const { contractAddress, functionName, args, auth } = operation.value;
      const values = args.map((arg) => stellarValueOf(arg));
      return { kind: 'invoke_contract', contractAddress, functionName, args: values, auth: auth && authOf(auth) };
    }
    case 'createContract': {
      const { source, wasmHash, salt, constructorArgs, auth } = operation.value;
      return {
        kind: 'create_contract',
        source: source && sourceOf(source),
        wasmHash,
        salt,
        constructorArgs: constructorArgs.map((arg) => stellarValueOf(arg)),
        auth: auth && authOf(auth),
      };
    }
    case 'uploadWasm': {
      const { wasm, auth } = operation.value;
      return { kind: 'upload_wasm', wasm: wasm && wasmOf(wasm), auth: auth && authOf(auth) };
    }
  }
}

function assetOf({ asset }: AssetSpec): StellarAsset {
  switch (asset.case) {
    case undefined:
      return { kind: 'unset' };
    case 'native':
      return { kind: 'native' };
    case 'credit4':
    case 'credit12':
      return { kind: asset.case, code: asset.value.code, issuer: asset.value.issuer };
  }
}

function sourceOf({ source }: ContractSource): StellarContractSource {
  switch (source.case) {
    case undefined:
      return { kind: 'unset' };
    case 'address':
      return { kind: 'address', address: source.value.address };
    case 'contract':
      return { kind: 'contract', address: source.value.contract };
  }
}

function wasmOf({ source }: WasmSource): StellarWasm {
  return source.case === undefined ? { kind: 'unset' } : { kind: source.case, bytes: source.value };
}

function authOf({ auth }: AuthSpec): StellarAuth {
  switch (auth.case) {
    case undefined:
      return { kind: 'unset' };
    case 'none':
    case 'addresses':
      return { kind: auth.case };
    case 'sourceAccount':
      return { kind: 'source_account' };
    case 'xdr':
      return { kind: 'xdr', entries: auth.value.entries };
  }
}

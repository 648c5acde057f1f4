import { create } from '@bufbuild/protobuf';
import { type PolicyCheck, PolicyCheckSchema, PolicyVerdict } from '../../../../gen/relayer/v1/policy_check_pb.js';
import type { CheckPoliciesRequest } from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { DomainError, invalidField, withinPart } from '../../../core/errors/errors.js';
import { type IsRefused, readAll } from '../../../core/errors/read-all.js';
import type { Directory } from '../../../core/ports/directory.js';
import type { Asker } from '../../../core/records/judgement.js';
import type { Relayer } from '../../../core/records/relayer.js';
import { type Keccak256, readTypedData } from '../../../core/signer/sign-data.js';
import type { PolicyCheck as DomainCheck } from '../../../core/transaction/check-policies.js';
import {
  checkReplacement,
  checkSend,
  checkSignature,
  checkTypedData,
  type PolicyCheckDeps,
} from '../../../core/transaction/check-policies.js';
import { contentToQuote } from '../../../core/transaction/quote-transaction.js';
import type { Clock } from '../../../core/work/clock.js';
import { present } from '../shared/present.js';
import { protoOfUsage } from '../shared/usage.js';
import { protoOfNeededApproval, protoOfRefusal } from './quote.js';
import { evmSignerOf, messageToSign, typedDataToSign } from './signature-request.js';
import { contentRequestOf, tagsOf, unsignedOf } from './transaction.js';

type CheckedCall = CheckPoliciesRequest['call'];

/** The REST names of the calls, which their fields are behind. */
const callFields = {
  send: 'send',
  replace: 'replace',
  signData: 'sign_data',
  signTypedData: 'sign_typed_data',
  signTransaction: 'sign_transaction',
} as const;

/** Says what a call would be answered. Throws what the call throws for its body, naming its fields behind the call's name. */
export async function policyCheckOf(
  deps: PolicyCheckDeps & { readonly keccak256: Keccak256 },
  relayer: Relayer,
  call: CheckedCall,
  asker: Asker,
): Promise<PolicyCheck> {
  return within(call, async () => protoOfCheck(await checked(deps, relayer, call, asker)));
}

/** Checks the body of a call alone. Throws as `policyCheckOf` does. */
export function requireCheckable(
  deps: { readonly directory: Directory; readonly clock: Clock },
  relayer: Relayer,
  call: CheckedCall,
  isRefused: IsRefused,
): Promise<unknown> {
  return within(call, () => {
    const isRefusedIn: IsRefused = (field) => call.case !== undefined && isRefused(`${callFields[call.case]}.${field}`);
    switch (call.case) {
      case 'send':
        return readAll({
          content: () => contentToQuote(deps, relayer, contentRequestOf(call.value), isRefusedIn),
          tags: () => tagsOf(call.value),
        });
      case 'replace':
        return contentToQuote(deps, relayer, contentRequestOf(call.value), isRefusedIn);
      case 'signData':
        return isRefusedIn('message_hex') || messageToSign(call.value);
      case 'signTypedData':
        return typedDataToSign(call.value, relayer, deps.directory);
      default:
        return undefined;
    }
  });
}

async function within<T>(call: CheckedCall, read: () => T | Promise<T>): Promise<T> {
  if (call.case === undefined) throw invalidField('call', `is required: one of ${Object.values(callFields).join(', ')}`);
  try {
    return await read();
  } catch (error) {
    throw error instanceof DomainError && error.fields.length > 0 ? withinPart(error, callFields[call.case]) : error;
  }
}

function checked(
  deps: PolicyCheckDeps & { readonly keccak256: Keccak256 },
  relayer: Relayer,
  call: CheckedCall,
  asker: Asker,
): Promise<DomainCheck> {
  switch (call.case) {
    case 'send':
      return checkSend(deps, relayer, { request: contentRequestOf(call.value), tags: tagsOf(call.value) }, asker);
    case 'replace': {
      const { transactionId } = call.value;
      if (transactionId === '') throw invalidField('transaction_id', 'is required');
      return checkReplacement(deps, relayer, { transactionId, request: contentRequestOf(call.value) }, asker);
    }
    case 'signData':
      evmSignerOf(deps.directory, relayer);
      messageToSign(call.value);
      return checkSignature(deps, relayer, { wanted: { kind: 'message' }, transaction: null });
    case 'signTypedData': {
      evmSignerOf(deps.directory, relayer);
      const data = typedDataToSign(call.value, relayer, deps.directory);
      return checkTypedData(deps, relayer, { ...data, ...readTypedData(data) }, asker);
    }
    case 'signTransaction': {
      const { transaction } = call.value;
      if (transaction.case === undefined) throw new Error('the gate rejects a transaction to sign without a network');
      return checkSignature(deps, relayer, { wanted: { kind: 'transaction' }, transaction: unsignedOf(transaction) });
    }
    default:
      throw new Error('a call without a name is refused before');
  }
}

function protoOfCheck({ refusals, ruleId, approval, limits }: DomainCheck): PolicyCheck {
  const allowed = approval === null ? PolicyVerdict.ALLOW : PolicyVerdict.APPROVE;
  return create(PolicyCheckSchema, {
    verdict: refusals.length > 0 ? PolicyVerdict.DENY : allowed,
    ...present('ruleId', ruleId),
    refusals: refusals.map(protoOfRefusal),
    ...present('approval', approval && protoOfNeededApproval(approval)),
    limits: limits.map(protoOfUsage),
  });
}

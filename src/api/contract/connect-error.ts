import { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import type { DomainError } from '../../core/errors.js';
import { errorTable } from './error-table.js';

/** Who defines our reasons. */
const errorDomain = 'relayer.v1';

/** Half of a surrogate pair: it has no UTF-8 form, and would break the percent-encoding of `grpc-message`. */
const loneSurrogate = /\p{Surrogate}/gu;

/**
 * What RPC callers are told: the code of the kind, the sentence, `google.rpc.ErrorInfo` with reason and fixed text, and `BadRequest` where
 * fields are named. The domain error stays as the cause, for REST and for the log; Connect never sends causes.
 */
export function connectErrorFromDomainError(error: DomainError): ConnectError {
  const row = errorTable[error.kind];
  const failure = new ConnectError(error.message.replace(loneSurrogate, '\uFFFD'), row.code, undefined, undefined, error);
  failure.details.push({
    desc: ErrorInfoSchema,
    value: { reason: error.reason, domain: errorDomain, metadata: { message: error.fixedText ?? row.text } },
  });
  if (error.fields.length > 0) {
    failure.details.push({
      desc: BadRequestSchema,
      value: { fieldViolations: error.fields.map(({ field, description }) => ({ field, description })) },
    });
  }
  return failure;
}

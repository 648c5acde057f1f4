import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type CreateRelayerRequest,
  type JsonRpcAnswer,
  JsonRpcAnswerSchema,
  type Relayer,
  RelayerSchema,
  RelayerService,
} from '../../../../gen/relayer/v1/relayer_service_pb.js';
import { newRelayerFromProto, relayerDraftFromProto } from '../../../codec/relayer-values.js';
import { DomainError, invalidField } from '../../../core/errors/errors.js';
import { orWithFurther } from '../../../core/errors/read-all.js';
import type { ContractReading } from '../../../core/ports/chain/requests.js';
import { mayUseRelayer } from '../../../core/records/principal.js';
import type { Relayer as DomainRelayer } from '../../../core/records/relayer.js';
import { type AnsweredCall, callRpc } from '../../../core/relayer/call-rpc.js';
import { readContract } from '../../../core/relayer/read-contract.js';
import { type RelayerStatusDeps, relayerBalance, relayerStatus } from '../../../core/relayer/relayer-status.js';
import { checkNewRelayer, createRelayer, deleteRelayer, type RelayerDeps, updateRelayer } from '../../../core/relayer/relayers.js';
import type { StoredRelayer } from '../../../core/relayer/stored-relayer.js';
import { type ViewLaneDeps, viewLane } from '../../../core/relayer/view-lane.js';
import { type SpendUsageDeps, spendUsage } from '../../../core/rules/spend-usage.js';
import { type Call, callOf, principalOf, relayerOf } from '../../contract/call.js';
import { replayable } from '../../contract/stored-response.js';
import { type Listing, listAnswer, pageOf, sliceOf } from '../shared/list-page.js';
import { present } from '../shared/present.js';
import { protoOfUsage } from '../shared/usage.js';
import { evmCallOf } from '../transactions/evm-transaction.js';
import { lanePartOf, protoOfLane } from './lane.js';
import { protoOfBalance, protoOfRelayer, protoOfRelayerStatus } from './relayer.js';
import { auditedChange, auditedFields, relayerChangeFromProto } from './relayer-change.js';

export type RelayerServiceDeps = RelayerDeps & RelayerStatusDeps & ViewLaneDeps & SpendUsageDeps;

/** Implements `relayer.v1.RelayerService`. */
export function createRelayerService(deps: RelayerServiceDeps): ServiceImpl<typeof RelayerService> {
  const { directory } = deps;
  return {
    getRelayer(_request, context) {
      return { relayer: protoOfRelayer(relayerOf(context)) };
    },
    listRelayers(request, context) {
      const principal = principalOf(context);
      const visible = directory.relayers().filter(({ id }) => mayUseRelayer(principal, id));
      const page = pageOf(request, callOf(context));
      const found = sliceOf(visible.toReversed(), page, ({ id }) => id);
      const { records: relayers, ...rest } = listAnswer(page, found, listing, callOf(context));
      return { relayers, ...rest };
    },
    createRelayer: replayable(RelayerService.method.createRelayer, async (request, context, saveResponse) => {
      const wanted = await readNewRelayer(deps, request);
      const relayer = await createRelayer(deps, wanted, (created) => saveResponse(() => ({ relayer: protoOfRelayer(created) })));
      callOf(context).auditFacts.to = auditedFields(relayer);
      warnOfSigning(relayer, callOf(context));
      return { relayer: protoOfRelayer(relayer) };
    }),
    async updateRelayer(request, context) {
      let changesPolicies = false;
      const relayer = await updateRelayer(deps, request.relayerId, (before) => {
        const change = relayerChangeFromProto(before, request);
        changesPolicies = change.policies !== undefined;
        Object.assign(callOf(context).auditFacts, auditedChange(before, change));
        return change;
      });
      if (changesPolicies) {
        callOf(context).auditFacts.policiesVersion = String(relayer.policiesVersion);
        warnOfSigning(relayer, callOf(context));
      }
      return { relayer: protoOfRelayer(relayer) };
    },
    async deleteRelayer({ relayerId }, context) {
      const before = directory.relayer(relayerId);
      if (before !== undefined) callOf(context).auditFacts.from = auditedFields(before);
      await deleteRelayer(deps, relayerId);
      return {};
    },
    async getRelayerStatus(_request, context) {
      const relayer = relayerOf(context);
      return { status: protoOfRelayerStatus(relayer, await relayerStatus(deps, relayer)) };
    },
    async getRelayerBalance(_request, context) {
      const relayer = relayerOf(context);
      return { balance: protoOfBalance(relayer, await relayerBalance(directory, relayer)) };
    },
    async getSpendUsage(_request, context) {
      return { usage: { limits: (await spendUsage(deps, relayerOf(context))).map(protoOfUsage) } };
    },
    async getLane(request, context) {
      const relayer = relayerOf(context);
      return { lane: protoOfLane(relayer, await viewLane(deps, relayer, lanePartOf(request, callOf(context)))) };
    },
    async readContract(request, context) {
      const isSingle = request.reads.length === 0;
      const wanted = (isSingle ? [request] : request.reads).map(({ to, call, block }) => ({ to, call: call && evmCallOf(call), block }));
      if (!isSingle && (request.to ?? request.call ?? request.block) !== undefined)
        throw invalidField('reads', 'cannot be combined with to, call or block');
      const readings = await readContract(directory, relayerOf(context), wanted, isSingle);
      const [only] = readings;
      if (!isSingle || only === undefined) return { result: { reads: readings.map(protoOfReading) } };
      if (only.error !== null) throw new DomainError('invalid', 'EXECUTION_REVERTED', only.error);
      return { result: protoOfReading(only) };
    },
    async callRpc({ jsonrpc, method, params, id }, context) {
      const answered = await callRpc(deps, relayerOf(context), { jsonrpc, method, paramsJson: params, idJson: id });
      return { answer: protoOfAnswer(answered) };
    },
  };
}

/** Returns the relayer that a request asks for. Throws `FIELD_INVALID`; if the request cannot be read, with its other problems. */
export function readNewRelayer(deps: RelayerDeps, request: CreateRelayerRequest): Promise<StoredRelayer> {
  return orWithFurther(
    () => newRelayerFromProto(request, deps.ids.random),
    () => checkNewRelayer(deps, relayerDraftFromProto(request)),
  );
}

const listing: Listing<DomainRelayer, Relayer> = { desc: RelayerSchema, record: protoOfRelayer, idOf: ({ id }) => id };

/** Warns that rules without a signing policy end all signatures. */
function warnOfSigning({ policies }: DomainRelayer, call: Call): void {
  if (policies.rules === null || policies.signing !== null) return;
  const message = 'the relayer has rules and no policy signing, so it signs nothing that the service does not send';
  call.warnings.push({ level: 'warn', message });
}

function protoOfReading({ resultJson, data, error }: ContractReading) {
  return { ...present('result', resultJson), ...present('data', data), ...present('error', error) };
}

function protoOfAnswer({ idJson, answer }: AnsweredCall): JsonRpcAnswer {
  if ('resultJson' in answer) {
    return create(JsonRpcAnswerSchema, { jsonrpc: '2.0', id: idJson, outcome: { case: 'result', value: answer.resultJson } });
  }
  const { code, message, dataJson } = answer;
  const error = { code, message, ...present('data', dataJson) };
  return create(JsonRpcAnswerSchema, { jsonrpc: '2.0', id: idJson, outcome: { case: 'error', value: error } });
}

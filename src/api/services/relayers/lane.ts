import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type GetLaneRequest,
  type Lane,
  LaneSchema,
  LaneSlotKind,
  type LaneTransactionSchema,
  type MarketPriceSchema,
} from '../../../../gen/relayer/v1/relayer_service_pb.js';
import { bidOf } from '../../../core/fees/price.js';
import type { MarketView } from '../../../core/ports/chain/chain.js';
import type { LaneTransaction } from '../../../core/ports/store/lane-views.js';
import { gasPriceCapOf, type Relayer } from '../../../core/records/relayer.js';
import type { LanePart, LaneView, SlotUse } from '../../../core/relayer/view-lane.js';
import type { Call } from '../../contract/call.js';
import { present, presentAmount, presentTime } from '../shared/present.js';
import { protoOfSpeed } from '../transactions/evm-transaction.js';
import { protoOfAttempt, protoOfStatus } from '../transactions/transaction.js';

const maxSlots = 200;
const defaultSlots = 50;

/** Returns the part of the lane that a request asks for. Limits it to 200 slots, with a warning to the call. */
export function lanePartOf({ fromNumber, limit = defaultSlots }: GetLaneRequest, call: Pick<Call, 'warnings'>): LanePart {
  if (limit > maxSlots) call.warnings.push({ level: 'warn', message: `limit is at most ${maxSlots}; ${maxSlots} was used` });
  return { from: fromNumber === undefined ? null : BigInt(fromNumber), limit: Math.min(limit, maxSlots) };
}

const kinds: Readonly<Record<SlotUse, LaneSlotKind>> = {
  open: LaneSlotKind.OPEN,
  final: LaneSlotKind.FINAL,
  gap: LaneSlotKind.GAP,
  other: LaneSlotKind.OTHER,
};

/** The record of a lane. */
export function protoOfLane({ policies }: Relayer, lane: LaneView): Lane {
  return create(LaneSchema, {
    ...presentAmount('nextNumber', lane.nextNumber),
    ...presentAmount('chainNumber', lane.chainNumber),
    slots: lane.slots.map(({ number, use, transaction }) => ({
      number: number.toString(),
      kind: kinds[use],
      ...(transaction === null ? {} : { transaction: protoOfLaneTransaction(transaction) }),
    })),
    waitingCount: lane.waitingCount,
    waiting: lane.waiting.map(protoOfLaneTransaction),
    ...presentAmount('baseFee', lane.market?.baseFeeWei ?? null),
    market: lane.market?.prices.map(protoOfPrice) ?? [],
    ...presentAmount('gasPriceCap', gasPriceCapOf(policies)),
    ...present('inFlightLimit', lane.inFlightLimit),
    ...present('problem', lane.problem),
  });
}

function protoOfLaneTransaction(transaction: LaneTransaction): MessageInitShape<typeof LaneTransactionSchema> {
  const { id, status, statusReason, createdAtMs, attempts, minedVersion, delays } = transaction;
  return {
    id,
    status: protoOfStatus[status],
    ...present('statusReason', statusReason),
    createdAt: timestampFromMs(createdAtMs),
    ...presentTime('delayedAt', delays?.lastAtMs ?? null),
    attempts: attempts.map((attempt) => protoOfAttempt(attempt, minedVersion ?? undefined)),
  };
}

function protoOfPrice({ speed, price }: MarketView['prices'][number]): MessageInitShape<typeof MarketPriceSchema> {
  return {
    speed: protoOfSpeed[speed],
    price: bidOf(price).maxFeePerGasWei.toString(),
    ...presentAmount('priorityFee', price.kind === 'legacy' ? null : price.maxPriorityFeePerGasWei),
  };
}

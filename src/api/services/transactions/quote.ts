import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type EvmQuotePriceSchema,
  EvmQuoteSchema,
  type NeededApprovalSchema,
  type QuoteFailureSchema,
  type QuoteFundsSchema,
  type QuoteRefusalSchema,
  SolanaQuoteSchema,
  StellarQuoteSchema,
  type TransactionQuote,
  TransactionQuoteSchema,
} from '../../../../gen/relayer/v1/quote_pb.js';
import type { ChainQuote, EvmQuote, QuotedFailure, QuotedPrice, SolanaQuote, StellarQuote } from '../../../core/ports/chain/quote.js';
import type { NeededApproval } from '../../../core/records/judgement.js';
import type { CallRefusal } from '../../../core/transaction/call-refusals.js';
import type { Quote, QuotedFunds } from '../../../core/transaction/quote-transaction.js';
import { present, presentAmount } from '../shared/present.js';
import { protoOfSpeed } from './evm-transaction.js';
import { protoOfFailure } from './transaction.js';

/** The record of a quote. */
export function protoOfQuote({ refusals, approval, chain, funds, ahead }: Quote): TransactionQuote {
  const { failure, maximumCost } = chain;
  return create(TransactionQuoteSchema, {
    accepted: refusals.length === 0,
    refusals: refusals.map(protoOfRefusal),
    transactionsAhead: ahead,
    ...present('approval', approval && protoOfNeededApproval(approval)),
    network: networkOf(chain),
    ...(failure === undefined ? {} : { wouldSucceed: failure === null }),
    ...(failure == null ? {} : { failure: protoOfQuotedFailure(failure) }),
    ...(funds === null ? {} : { funds: protoOfFunds(funds, maximumCost) }),
  });
}

/** Why a call would be refused. */
export function protoOfRefusal({ reason, sentence }: CallRefusal): MessageInitShape<typeof QuoteRefusalSchema> {
  return { reason, error: sentence };
}

/** The approvals that a rule asks for. */
export function protoOfNeededApproval({ ruleId, required, withinMs }: NeededApproval): MessageInitShape<typeof NeededApprovalSchema> {
  return { ruleId, approvals: required, approvalSeconds: withinMs / 1_000 };
}

function protoOfQuotedFailure({ reason, sentence, revertReason, revertData }: QuotedFailure): MessageInitShape<typeof QuoteFailureSchema> {
  return {
    reason: protoOfFailure[reason],
    error: sentence,
    ...present('revertReason', revertReason),
    ...present('revertData', revertData),
  };
}

function protoOfFunds(funds: QuotedFunds, cost: bigint | null): MessageInitShape<typeof QuoteFundsSchema> {
  return {
    balance: funds.balance.toString(),
    reserved: funds.reserved.toString(),
    mustRemain: funds.mustRemain.toString(),
    ...presentAmount('cost', cost),
    ...present('sufficient', funds.isSufficient),
  };
}

function networkOf(chain: ChainQuote): TransactionQuote['network'] {
  switch (chain.network) {
    case 'evm':
      return { case: 'evm', value: create(EvmQuoteSchema, protoOfEvmQuote(chain)) };
    case 'stellar':
      return { case: 'stellar', value: create(StellarQuoteSchema, protoOfStellarQuote(chain)) };
    case 'solana':
      return { case: 'solana', value: create(SolanaQuoteSchema, protoOfSolanaQuote(chain)) };
  }
}

function protoOfStellarQuote(quote: StellarQuote): MessageInitShape<typeof StellarQuoteSchema> {
  return {
    destinations: quote.destinations.map(({ operation, account, exists, hasTrustLine }) => ({
      operation,
      account,
      ...present('exists', exists),
      ...present('hasTrustLine', hasTrustLine),
    })),
    ...presentAmount('fee', quote.feeStroops),
    ...presentAmount('resourceFee', quote.resourceFeeStroops),
    ...presentAmount('sequenceNumber', quote.sequence),
    ...present('resultXdr', quote.resultXdr),
  };
}

function protoOfSolanaQuote({ logs, feeLamports, computeUnits }: SolanaQuote): MessageInitShape<typeof SolanaQuoteSchema> {
  return { logs: [...logs], ...presentAmount('fee', feeLamports), ...presentAmount('computeUnits', computeUnits) };
}

function protoOfEvmQuote(quote: EvmQuote): MessageInitShape<typeof EvmQuoteSchema> {
  return {
    prices: quote.prices.map(protoOfPrice),
    ...present('result', quote.resultJson),
    ...present('returnData', quote.returnData),
    ...present('gasLimit', quote.gasLimit),
    ...present('gasEstimate', quote.gasEstimate),
    ...presentAmount('baseFee', quote.baseFeeWei),
    ...presentAmount('l1Fee', quote.publishingFeeWei),
    ...(quote.price === null ? {} : { price: protoOfPrice(quote.price) }),
  };
}

function protoOfPrice(quoted: QuotedPrice): MessageInitShape<typeof EvmQuotePriceSchema> {
  const { speed, price, waitsFor, expectedCostWei, maximumCostWei } = quoted;
  const legacy = price?.kind === 'legacy' ? price : null;
  const eip1559 = price?.kind === 'eip1559' ? price : null;
  return {
    ...present('speed', speed === null ? null : protoOfSpeed[speed]),
    ...presentAmount('gasPrice', legacy?.gasPriceWei ?? null),
    ...presentAmount('maxFeePerGas', eip1559?.maxFeePerGasWei ?? null),
    ...presentAmount('maxPriorityFeePerGas', eip1559?.maxPriorityFeePerGasWei ?? null),
    ...presentAmount('expectedCost', expectedCostWei),
    ...presentAmount('maximumCost', maximumCostWei),
    ...present('waitsFor', waitsFor),
  };
}

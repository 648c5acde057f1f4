import type { EvmTransaction } from '../../../gen/relayer/v1/evm_pb.js';
import { Speed } from '../../../gen/relayer/v1/evm_pb.js';
import type { Transaction } from '../../../gen/relayer/v1/transaction_pb.js';
import { hashWordOf } from '../model/networks.js';
import type { SendContent } from '../model/send-content.js';
import { Amount, GasPrice } from '../parts/amount.js';
import { CodeBlock } from '../parts/code-block.js';
import { CopyButton, Hash } from '../parts/copy.js';
import { type Coin, relayerOf } from '../service/overview.js';
import { exactAmount } from '../text/amounts.js';
import { type DecodedCall, type DecodedValue, decodeCall } from '../text/decode.js';
import { capitalized } from '../text/words.js';

/** The words for speeds. */
export const speedTexts: Readonly<Record<Speed, string>> = {
  [Speed.UNSPECIFIED]: 'unknown',
  [Speed.FASTEST]: 'fastest',
  [Speed.FAST]: 'fast',
  [Speed.AVERAGE]: 'average',
  [Speed.SAFE_LOW]: 'safe low',
};

/** What a transaction does. */
export function TransactionContent({ transaction, coin }: { readonly transaction: Transaction; readonly coin: Coin }) {
  const { network, hash } = transaction;
  return (
    <section class="panel" aria-label="Content">
      <div class="panel-head">
        <h2>Content</h2>
      </div>
      <div class="panel-body form">
        {hash !== undefined && (
          <dl class="pairs">
            <dt>{capitalized(hashWordOf(transaction))}</dt>
            <dd>
              <code>{hash}</code> <CopyButton text={hash} what="hash" />
            </dd>
          </dl>
        )}
        {network.case === 'evm' && <EvmContent content={network.value} coin={coin} />}
        {network.case === 'stellar' && (
          <dl class="pairs">
            <dt>Source account</dt>
            <dd>
              <Hash value={network.value.sourceAccount} what="source account" keep={12} />
            </dd>
            <dt>Sequence number</dt>
            <dd>{network.value.sequenceNumber ?? 'not signed yet'}</dd>
            <dt>Fee</dt>
            <dd>{network.value.fee === undefined ? 'not signed yet' : <Amount value={network.value.fee} {...coin} />}</dd>
            {network.value.transactionResultXdr !== undefined && (
              <>
                <dt>Return value (XDR)</dt>
                <dd>
                  <code>{network.value.transactionResultXdr}</code>
                </dd>
              </>
            )}
          </dl>
        )}
        {network.case === 'stellar' &&
          [...network.value.operationsXdr, network.value.envelopeXdr].map(
            (text, index) => text !== undefined && <CodeBlock key={index} label={`Operation ${index + 1}, XDR`} text={text} />,
          )}
        {network.case === 'solana' && (
          <>
            {network.value.instructions.length > 0 && (
              <ol class="arguments">
                {network.value.instructions.map(({ programId, accounts, data }, index) => (
                  <li key={index}>
                    Program <Hash value={programId} what="program id" keep={12} />
                    <span class="quiet">
                      {' '}
                      {accounts.length} accounts, {data.length} bytes of data
                    </span>
                  </li>
                ))}
              </ol>
            )}
            {network.value.transaction !== undefined && <CodeBlock label="Transaction, base64" text={network.value.transaction} />}
          </>
        )}
      </div>
    </section>
  );
}

function EvmContent({ content, coin }: { readonly content: EvmTransaction; readonly coin: Coin }) {
  const requested = content.call;
  const call = content.data === undefined || requested !== undefined ? null : decodeCall(content.data);
  return (
    <>
      <dl class="pairs">
        <dt>To</dt>
        <dd>
          {content.to === undefined ? (
            'creates a contract'
          ) : (
            <>
              <code>{content.to}</code> <CopyButton text={content.to} what="receiver" />
            </>
          )}
        </dd>
        <dt>Value</dt>
        <dd>{exactAmount(BigInt(content.value), coin.symbol, coin.decimals)}</dd>
        <dt>Nonce</dt>
        <dd>{content.nonce?.toString() ?? 'not signed yet'}</dd>
        <dt>Gas limit</dt>
        <dd>{content.gasLimit?.toLocaleString('en') ?? 'not known yet'}</dd>
        {content.speed !== undefined && (
          <>
            <dt>Speed</dt>
            <dd>{speedTexts[content.speed]}</dd>
          </>
        )}
        {content.gasPrice !== undefined && (
          <>
            <dt>Gas price</dt>
            <dd>
              <GasPrice wei={content.gasPrice} />
            </dd>
          </>
        )}
        {content.maxFeePerGas !== undefined && (
          <>
            <dt>Max fee, priority fee</dt>
            <dd>
              <GasPrice wei={content.maxFeePerGas} />, <GasPrice wei={content.maxPriorityFeePerGas ?? '0'} />
            </dd>
          </>
        )}
      </dl>
      {requested !== undefined && <CodeBlock label="Call" text={`${requested.functionSignature}\n${requested.args}`} />}
      {call !== null && <Call call={call} />}
      {content.data !== undefined && content.data !== '0x' && (
        <details open={call === null && requested === undefined}>
          <summary>Call data, {(content.data.length - 2) / 2} bytes</summary>
          <CodeBlock label="Call data" text={content.data} />
        </details>
      )}
    </>
  );
}

/** A decoded call: the function and its arguments. */
export function Call({ call }: { readonly call: DecodedCall }) {
  return (
    <div class="call">
      <p>
        Calls <code class="strong">{call.signature}</code>
      </p>
      <Values values={call.arguments} />
      {call.extraBytes > 0 && <p class="quiet small">{call.extraBytes} bytes follow the arguments; the function ignores them.</p>}
    </div>
  );
}

function Values({ values }: { readonly values: readonly DecodedValue[] }) {
  return (
    <ul class="arguments">
      {values.map(({ name, type, text, items, call }, index) => (
        <li key={index}>
          <span class="quiet">
            {name} <code>{type}</code>
          </span>{' '}
          {text !== null && <code>{text}</code>}
          {call !== null && <Call call={call} />}
          {items.length > 0 && <Values values={items} />}
        </li>
      ))}
    </ul>
  );
}

/** What will be sent, in a few lines to read before the button is pressed. */
export function Summary({
  content,
  coin,
  relayerId,
  network,
}: {
  readonly content: SendContent;
  readonly coin: Coin;
  readonly relayerId: string;
  readonly network: string;
}) {
  const call = content.case === 'evm' ? decodeCall(content.value.data ?? '') : null;
  return (
    <dl class="pairs">
      <dt>Relayer</dt>
      <dd>
        {relayerOf(relayerId)?.name ?? relayerId}
        {network !== '' && ` on ${network}`}
      </dd>
      {content.case === 'evm' && (
        <>
          <dt>To</dt>
          <dd>{content.value.to === undefined ? 'a new contract' : <code>{content.value.to}</code>}</dd>
          <dt>Value</dt>
          <dd class="strong">{exactAmount(BigInt(content.value.value ?? '0'), coin.symbol, coin.decimals)}</dd>
          {content.value.data !== undefined && (
            <>
              <dt>Data</dt>
              <dd>
                {Math.ceil(content.value.data.replace(/^0x/, '').length / 2)} bytes
                {call !== null && <Call call={call} />}
              </dd>
            </>
          )}
          <dt>Price</dt>
          <dd>
            {content.value.gasPrice !== undefined ? (
              <GasPrice wei={content.value.gasPrice} />
            ) : content.value.maxFeePerGas !== undefined ? (
              <>
                at most <GasPrice wei={content.value.maxFeePerGas} />, priority <GasPrice wei={content.value.maxPriorityFeePerGas ?? '0'} />
              </>
            ) : (
              `market, ${speedTexts[content.value.speed]}`
            )}
          </dd>
        </>
      )}
      {content.case === 'stellar' &&
        (content.value.operations.length > 0 ? (
          content.value.operations.map(({ operation }, index) =>
            operation.case === 'payment' ? (
              <div class="pair" key={index}>
                <dt>Pays</dt>
                <dd>
                  <span class="strong">{exactAmount(operation.value.amount, assetText(operation.value.asset?.asset), 7)}</span> to{' '}
                  <code>{operation.value.destination}</code>
                </dd>
              </div>
            ) : null,
          )
        ) : (
          <>
            <dt>Envelope</dt>
            <dd>
              {content.value.transactionXdr?.length ?? 0} characters of XDR{content.value.feeBump === true && ', with a fee bump'}
            </dd>
          </>
        ))}
      {content.case === 'solana' && (
        <>
          <dt>Content</dt>
          <dd>
            {content.value.transaction === undefined
              ? `${content.value.instructions.length} instructions`
              : `a transaction of ${content.value.transaction.length} characters in base64`}
          </dd>
        </>
      )}
    </dl>
  );
}

function assetText(asset: { readonly case: string | undefined; readonly value?: unknown } | undefined): string {
  return asset?.case === 'credit4' || asset?.case === 'credit12' ? (asset.value as { readonly code: string }).code : 'XLM';
}

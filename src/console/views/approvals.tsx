import { useEffect, useState } from 'preact/hooks';
import { type Transaction, TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';
import { approvalText, needsApproval } from '../model/approvals.js';
import { locationTo } from '../model/route.js';
import { Button } from '../parts/button.js';
import { shortened } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { FailureNote } from '../parts/failure-note.js';
import { ListPanel } from '../parts/list-panel.js';
import { PageTitle } from '../parts/page-title.js';
import type { Column } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { toast } from '../parts/toast.js';
import { useAction } from '../parts/use-call.js';
import { usePages } from '../parts/use-pages.js';
import { once, transactions } from '../service/clients.js';
import { coinOf, relayerOf } from '../service/overview.js';
import { may, scopes } from '../service/session.js';
import { TransactionContent } from './content.js';
import { receiverCell, valueCell } from './transactions.js';

/** How many pages of waiting transactions are read for one page of the list: most of them may need no approval. */
const pagesAtOnce = 20;
const pageSize = 100;
/** How often the list is read again: approvals come from other people, and new requests from callers. */
const reloadMs = 10_000;

/** What waits for approvals, of all relayers that the API key may use. */
export function ApprovalsView() {
  const pages = usePages<Transaction>(readWaiting, []);
  const [opened, setOpened] = useState<Transaction | null>(null);
  const isFirstPage = pages.rows.length <= pageSize;
  useEffect(() => {
    // A dialog shows what its button decides about, and further pages would be lost.
    if (opened !== null || !isFirstPage) return undefined;
    const timer = setInterval(pages.reload, reloadMs);
    return () => clearInterval(timer);
  }, [opened !== null, isFirstPage]);
  return (
    <>
      <PageTitle>Approvals</PageTitle>
      <ListPanel
        what="Transactions that wait for approvals"
        pages={pages}
        empty="Nothing waits for approvals."
        caption="Transactions that wait for approvals, newest first"
        columns={columnsOf(setOpened)}
        keyOf={({ id }) => id}
      />
      {opened !== null && (
        <DecisionDialog
          transaction={opened}
          onDecided={() => {
            setOpened(null);
            pages.reload();
          }}
          onClose={() => {
            setOpened(null);
            pages.reload();
          }}
        />
      )}
    </>
  );
}

async function readWaiting(pageToken: string, signal: AbortSignal) {
  const rows: Transaction[] = [];
  let token = pageToken;
  for (let read = 0; read < pagesAtOnce && rows.length < pageSize; read += 1) {
    const status = [TransactionStatus.PENDING];
    const page = await transactions.findTransactions({ status, pageSize, pageToken: token }, { ...once, signal });
    rows.push(...page.transactions.filter(needsApproval));
    token = page.nextPageToken;
    if (token === '') break;
  }
  return { rows, nextPageToken: token };
}

/** Shows all that the record says, and sends the revision that it shows: what changed meanwhile is not decided about. */
function DecisionDialog({
  transaction,
  onDecided,
  onClose,
}: {
  readonly transaction: Transaction;
  readonly onDecided: () => void;
  readonly onClose: () => void;
}) {
  const { relayerId, id: transactionId, revision: expectedRevision, approval } = transaction;
  const decide = useAction(async (verb: 'approve' | 'reject') => {
    const request = { relayerId, transactionId, expectedRevision };
    if (verb === 'approve') await transactions.approveTransaction(request, once);
    else await transactions.rejectTransaction(request, once);
    toast(verb === 'approve' ? 'Approved.' : 'Rejected.');
  });
  const run = async (verb: 'approve' | 'reject') => {
    if (await decide.run(verb)) onDecided();
  };
  return (
    <Dialog title="Decide about a transaction" onClose={onClose} wide>
      <div class="dialog-body">
        <dl class="pairs">
          <dt>Relayer</dt>
          <dd>{relayerOf(relayerId)?.name ?? relayerId}</dd>
          <dt>Transaction</dt>
          <dd>
            <a href={locationTo(['relayers', relayerId, 'transactions', transactionId])}>
              <code>{transactionId}</code>
            </a>
          </dd>
          <dt>Rule</dt>
          <dd>{approval?.ruleId}</dd>
          <dt>Sent by</dt>
          <dd>{sendersOf(transaction)}</dd>
          <dt>Approvals</dt>
          <dd>{approvalText(transaction)}</dd>
          <dt>Expires</dt>
          <dd>
            <Time at={approval?.expiresAt} />
          </dd>
        </dl>
        <TransactionContent transaction={transaction} coin={coinOf(relayerOf(relayerId))} />
        <FailureNote failure={decide.failure} />
      </div>
      <footer class="dialog-foot">
        <Button onClick={onClose} text="Close" />
        <Button class="danger" disabled={decide.isRunning} onClick={() => void run('reject')} text="Reject" />
        <Button class="primary" disabled={decide.isRunning} onClick={() => void run('approve')} text="Approve" />
      </footer>
    </Dialog>
  );
}

function sendersOf({ approval }: Transaction): string {
  return approval?.senderApiKeyIds.join(', ') || 'no API key';
}

function columnsOf(onReview: (transaction: Transaction) => void): readonly Column<Transaction>[] {
  return [
    {
      title: 'Transaction',
      cell: ({ id, relayerId }) => (
        <a href={locationTo(['relayers', relayerId, 'transactions', id])} title={id}>
          <code>{shortened(id, 8)}</code>
        </a>
      ),
    },
    { title: 'Relayer', cell: ({ relayerId }) => relayerOf(relayerId)?.name ?? relayerId },
    { title: 'To', cell: receiverCell },
    { title: 'Value', align: 'right', cell: (transaction) => valueCell(transaction, coinOf(relayerOf(transaction.relayerId))) },
    { title: 'Sent by', cell: sendersOf },
    { title: 'Approvals', cell: approvalText },
    { title: 'Expires', cell: ({ approval }) => <Time at={approval?.expiresAt} /> },
    {
      title: 'Decision',
      cell: (transaction) => may(scopes.approve) && <Button onClick={() => onReview(transaction)} text="Review" />,
    },
  ];
}

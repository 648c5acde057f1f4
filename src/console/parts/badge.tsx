import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';
import { Icon, type IconName } from './icon.js';

/** The weight of a state. It decides the colour; text and picture say the same. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

/** A state in a word, with a picture: the colour only adds to them. */
export function Badge({ tone, icon, text }: { readonly tone: Tone; readonly icon: IconName; readonly text: string }) {
  return (
    <span class={`badge ${tone}`}>
      <Icon name={icon} />
      {text}
    </span>
  );
}

/** How each status looks. */
export const statusLooks: Readonly<Record<TransactionStatus, { readonly text: string; readonly tone: Tone; readonly icon: IconName }>> = {
  [TransactionStatus.UNSPECIFIED]: { text: 'unknown', tone: 'quiet', icon: 'dash' },
  [TransactionStatus.PENDING]: { text: 'pending', tone: 'warn', icon: 'clock' },
  [TransactionStatus.SENT]: { text: 'sent', tone: 'busy', icon: 'send' },
  [TransactionStatus.SUBMITTED]: { text: 'submitted', tone: 'busy', icon: 'send' },
  [TransactionStatus.MINED]: { text: 'mined', tone: 'good', icon: 'dot' },
  [TransactionStatus.CONFIRMED]: { text: 'confirmed', tone: 'good', icon: 'check' },
  [TransactionStatus.FAILED]: { text: 'failed', tone: 'bad', icon: 'cross' },
  [TransactionStatus.EXPIRED]: { text: 'expired', tone: 'quiet', icon: 'clock' },
  [TransactionStatus.CANCELED]: { text: 'canceled', tone: 'quiet', icon: 'dash' },
};

/** The word for a status. */
export function statusText(status: TransactionStatus): string {
  return statusLooks[status].text;
}

/** The status of a transaction. `delayedAt`: since when it is reported as delayed. */
export function StatusBadge({ status, delayedAt }: { readonly status: TransactionStatus; readonly delayedAt?: Timestamp | undefined }) {
  const badge = <Badge {...statusLooks[status]} />;
  if (delayedAt === undefined || !unminedStatuses.has(status)) return badge;
  return (
    <>
      {badge} <Badge tone="bad" icon="clock" text="delayed" />
    </>
  );
}

const unminedStatuses: ReadonlySet<TransactionStatus> = new Set([
  TransactionStatus.PENDING,
  TransactionStatus.SENT,
  TransactionStatus.SUBMITTED,
]);

import type { ComponentChildren, FunctionComponent, Key } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.js';
import { Empty, FailureNote, Loading } from './failure-note.js';
import { PageTitle } from './page-title.js';
import { type Column, Table } from './table.js';
import type { Pages } from './use-pages.js';

/** A list that is loaded page by page, with the texts for it. */
interface ListProperties<Row> {
  /** What it lists, such as `API keys`. */
  readonly what: string;
  readonly pages: Pages<Row>;
  /** The rows to show, if they are not all that are loaded. */
  readonly rows?: readonly Row[];
  /** The sentence of an empty list. */
  readonly empty: string;
  readonly emptyHint?: ComponentChildren;
  /** What the table lists, with its order. */
  readonly caption?: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => Key;
  readonly rowClass?: (row: Row) => string | undefined;
}

/** A view of a list, whose button opens a dialog that adds to it. */
export function ListPage<Row>({
  title,
  beside,
  notice,
  create,
  dialog: CreateDialog,
  ...list
}: ListProperties<Row> & {
  readonly title: string;
  /** Shown beside the title. */
  readonly beside?: ComponentChildren;
  /** Shown above the list. */
  readonly notice?: ComponentChildren;
  /** The text of the button. Null: the API key may not add to the list. */
  readonly create: string | null;
  readonly dialog: FunctionComponent<{ readonly onCreated: () => void; readonly onClose: () => void }>;
}) {
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <div class="page-head">
        <PageTitle>{title}</PageTitle>
        {beside}
        {create !== null && (
          <div class="actions">
            <Button class="primary" onClick={() => setCreating(true)} text={create} />
          </div>
        )}
      </div>
      {notice}
      <ListPanel {...list} />
      {isCreating && <CreateDialog onCreated={list.pages.reload} onClose={() => setCreating(false)} />}
    </>
  );
}

/** A list that is loaded page by page, with a text while it loads, if it fails and if it is empty. */
export function ListPanel<Row>({
  what,
  pages,
  rows = pages.rows,
  empty,
  emptyHint,
  caption = what,
  columns,
  keyOf,
  rowClass,
}: ListProperties<Row>) {
  const { failure, isLoading, hasMore, loadMore, reload } = pages;
  return (
    <section class="panel" aria-label={what}>
      <FailureNote failure={failure} onRetry={reload} />
      {pages.rows.length === 0 && isLoading && <Loading what={what} />}
      {rows.length === 0 && !(pages.rows.length === 0 && isLoading) && failure === undefined && <Empty title={empty}>{emptyHint}</Empty>}
      {rows.length > 0 && <Table caption={caption} columns={columns} rows={rows} keyOf={keyOf} {...(rowClass && { rowClass })} />}
      {hasMore && (
        <div class="more">
          <Button disabled={isLoading} onClick={loadMore} text={isLoading ? 'Loading…' : 'Show older ones'} />
        </div>
      )}
    </section>
  );
}

import type { ComponentChildren, Key } from 'preact';

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  /** Numbers stand right-aligned, with digits of one width. */
  readonly align?: 'right';
  /** Left out on narrow screens. */
  readonly wideOnly?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

/**
 * A table of records. The first column names the row. On a phone each row becomes a block, with the titles of the columns beside the
 * values.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  rowClass,
}: {
  /** What the table lists. Hidden from the eye if a heading says it already. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => Key;
  readonly rowClass?: (row: Row) => string | undefined;
}) {
  const classOf = ({ align, wideOnly }: Column<Row>) =>
    [align === 'right' ? 'right' : '', wideOnly === true ? 'wide-only' : ''].join(' ').trim();
  return (
    <div class="table-frame">
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={rowClass?.(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th key={column.title} scope="row" class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={classOf(column)} data-title={column.title}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf, isAborted } from '../model/failure.js';
import { sessionSignal } from '../service/session.js';

/** A page of a list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Empty: it is the last one. */
  readonly nextPageToken: string;
}

/** A list that is loaded page by page. */
export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  /** False: all rows are there. */
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  /** Loads the list from its beginning. The rows stay until it arrives. */
  readonly reload: () => void;
  /** Changes the rows that are there. */
  readonly change: (change: (rows: readonly Row[]) => readonly Row[]) => void;
}

interface State<Row> {
  readonly rows: readonly Row[];
  readonly token: string | null;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
}

/**
 * Loads a list by its page tokens, when the view appears and again when `inputs` change.
 * @param load gets a token, which is empty for the first page
 */
export function usePages<Row>(
  load: (pageToken: string, signal: AbortSignal) => Promise<Page<Row>>,
  inputs: readonly unknown[],
): Pages<Row> {
  const begin: State<Row> = { rows: [], token: null, failure: undefined, isLoading: true };
  const [state, setState] = useState(begin);
  const newest = useRef(load);
  newest.current = load;
  const given = useRef(new AbortController());
  const fetch = useCallback((token: string) => {
    given.current.abort();
    const controller = new AbortController();
    given.current = controller;
    setState((before) => ({ ...before, failure: undefined, isLoading: true }));
    newest
      .current(token, AbortSignal.any([controller.signal, sessionSignal()]))
      .then(({ rows, nextPageToken }) => {
        if (controller.signal.aborted) return;
        setState((before) => ({
          rows: token === '' ? rows : [...before.rows, ...rows],
          token: nextPageToken,
          failure: undefined,
          isLoading: false,
        }));
      })
      .catch((error: unknown) => {
        if (controller.signal.aborted || isAborted(error)) return;
        setState((before) => ({ ...before, failure: failureOf(error), isLoading: false }));
      });
  }, []);
  useEffect(() => {
    setState(begin);
    fetch('');
    return () => given.current.abort();
  }, inputs);
  const { rows, token, failure, isLoading } = state;
  return {
    rows,
    failure,
    isLoading,
    hasMore: token !== null && token !== '',
    loadMore: () => {
      if (!isLoading && token !== null && token !== '') fetch(token);
    },
    reload: useCallback(() => fetch(''), []),
    change: useCallback((change) => setState((before) => ({ ...before, rows: change(before.rows) })), []),
  };
}

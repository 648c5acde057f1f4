import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf, isAborted } from '../model/failure.js';
import { sessionSignal } from '../service/session.js';

/** The state of a call whose result a view shows. */
export interface Loaded<Result> {
  /** The newest result. Undefined: none yet. An older result stays while the call repeats, and if it fails then. */
  readonly data: Result | undefined;
  /** Why the newest call failed. Undefined: it did not. */
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  /** Calls again. */
  readonly reload: () => void;
}

/**
 * Calls the service when the view appears and when `inputs` change, and gives up the earlier call. A result of earlier inputs is not kept.
 * @param call gets a signal that aborts when its result is no longer wanted
 */
export function useCall<Result>(call: (signal: AbortSignal) => Promise<Result>, inputs: readonly unknown[]): Loaded<Result> {
  const [state, setState] = useState<Omit<Loaded<Result>, 'reload'>>({ data: undefined, failure: undefined, isLoading: true });
  const [round, setRound] = useState(0);
  const last = useRef({ inputs, call });
  const isAnew = last.current.inputs.some((input, index) => !Object.is(input, inputs[index]));
  last.current = { inputs, call };
  useEffect(() => {
    const given = new AbortController();
    setState(({ data }) => ({ data: isAnew ? undefined : data, failure: undefined, isLoading: true }));
    last.current
      .call(AbortSignal.any([given.signal, sessionSignal()]))
      .then((data) => {
        if (!given.signal.aborted) setState({ data, failure: undefined, isLoading: false });
      })
      .catch((error: unknown) => {
        if (given.signal.aborted || isAborted(error)) return;
        setState(({ data }) => ({ data, failure: failureOf(error), isLoading: false }));
      });
    return () => given.abort();
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, reload };
}

/** The state of something that the operator does by a button. */
export interface Action<Input extends readonly unknown[]> {
  /** Does it. Resolves to true if it succeeded. While it runs, further calls do nothing. */
  readonly run: (...input: Input) => Promise<boolean>;
  readonly isRunning: boolean;
  readonly failure: Failure | undefined;
  /** Forgets the failure. */
  readonly clear: () => void;
}

/** Returns the state of an action, whose call changes something in the service. */
export function useAction<Input extends readonly unknown[]>(call: (...input: Input) => Promise<void>): Action<Input> {
  const [state, setState] = useState<{ isRunning: boolean; failure: Failure | undefined }>({ isRunning: false, failure: undefined });
  const running = useRef(false);
  const newest = useRef(call);
  newest.current = call;
  const run = useCallback(async (...input: Input) => {
    if (running.current) return false;
    running.current = true;
    setState({ isRunning: true, failure: undefined });
    try {
      await newest.current(...input);
      setState({ isRunning: false, failure: undefined });
      return true;
    } catch (error) {
      setState({ isRunning: false, failure: failureOf(error) });
      return false;
    } finally {
      running.current = false;
    }
  }, []);
  const clear = useCallback(() => setState({ isRunning: false, failure: undefined }), []);
  return { ...state, run, clear };
}

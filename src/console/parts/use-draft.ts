import { useCallback, useState } from 'preact/hooks';

/** Holds what was typed in a form. Returns it, and what changes some of its fields. */
export function useDraft<Draft extends object>(initial: Draft | (() => Draft)): readonly [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(initial);
  return [draft, useCallback((change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change })), [])];
}

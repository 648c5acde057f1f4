import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** The heading of a view, which is also the title of the browser's tab. */
export function PageTitle({ children }: { readonly children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${heading.current?.textContent ?? ''} · Relayer console`;
  });
  return (
    <h1 ref={heading} class="page-title">
      {children}
    </h1>
  );
}

/** A segment of a path template: fixed text, or a variable that matches any text. */
export type TemplateSegment = { readonly kind: 'literal'; readonly text: string } | { readonly kind: 'variable'; readonly name: string };

const variablePattern = /^\{([a-z][a-z0-9_]*)\}$/;
const literalPattern = /^[A-Za-z0-9._~-]+$/;

/**
 * Parses a path template: `"/" segment { "/" segment }`; a segment is a literal or `{field}`. Throws if the template is anything else (`*`,
 * `{a.b}`, `{a=b/*}`, a verb suffix) or names a variable twice, so that the service does not start.
 */
export function parsePathTemplate(template: string): readonly TemplateSegment[] {
  if (!template.startsWith('/')) throw new Error(`the path template ${template} does not begin with /`);
  const segments = template
    .slice(1)
    .split('/')
    .map((text): TemplateSegment => {
      const name = variablePattern.exec(text)?.[1];
      if (name !== undefined) return { kind: 'variable', name };
      if (!literalPattern.test(text))
        throw new Error(`the path template ${template} has the segment "${text}", which is neither a literal nor {field}`);
      return { kind: 'literal', text };
    });
  const names = segments.flatMap((segment) => (segment.kind === 'variable' ? [segment.name] : []));
  if (new Set(names).size !== names.length) throw new Error(`the path template ${template} names a variable twice`);
  return segments;
}

/** A comment or a string as a whole, or one other character. */
const tokenPattern = /\/\/[^\n]*\n|"(?:[^"\\]|\\.)*"|[\s\S]/g;

const closing: Readonly<Record<string, string>> = { '{': '}', '[': ']', '(': ')' };

/** An option that clients do not get: an extension, which is named in parentheses, or one that older compilers do not know. */
const serviceOption = /^\s*(?:\(|debug_redact\b)/;

/**
 * Returns the text of a definition for clients: unchanged, with its comments, but without our options and the imports that only they need.
 * `buf format` must tidy it.
 */
export function clientProto(source: string): string {
  const tokens = source.match(tokenPattern) ?? [];
  let text = '';
  for (let at = 0; at < tokens.length; ) {
    const rest = tokens[at] ?? '';
    if (rest === '[') {
      const end = endOfGroup(tokens, at);
      text += clientFieldOptions(tokens.slice(at + 1, end - 1));
      at = end;
    } else if (/\boption $/.test(text.slice(-8)) && rest === '(') {
      at = endOfStatement(tokens, at);
      text = text.slice(0, -'option '.length);
    } else {
      text += rest;
      at += 1;
    }
  }
  return text.replace(/^import "(?:relayer\/rest|google\/api)\/[^"]*";\n/gm, '').replace(/(\breturns \([^)]*\)) \{\s*\}/g, '$1;');
}

/** Returns a field's options in brackets, or nothing if none remain. */
function clientFieldOptions(tokens: readonly string[]): string {
  const options: string[] = [];
  let start = 0;
  for (let at = 0; at <= tokens.length; at += 1) {
    const token = tokens[at];
    if (token !== undefined && token in closing) at = endOfGroup(tokens, at) - 1;
    else if (token === undefined || token === ',') {
      options.push(tokens.slice(start, at).join(''));
      start = at + 1;
    }
  }
  const kept = options.filter((option) => !serviceOption.test(option));
  return kept.length === 0 ? '' : `[${kept.join(',')}]`;
}

/** Returns the index behind the bracket that ends the group which begins at `start`. */
function endOfGroup(tokens: readonly string[], start: number): number {
  const end = closing[tokens[start] ?? ''];
  let at = start + 1;
  while (tokens[at] !== end) {
    const token = tokens[at];
    if (token === undefined) throw new Error(`a ${tokens[start]} has no end`);
    at = token in closing ? endOfGroup(tokens, at) : at + 1;
  }
  return at + 1;
}

/** Returns the index behind the semicolon that ends the statement at `start`. */
function endOfStatement(tokens: readonly string[], start: number): number {
  let at = start;
  while (tokens[at] !== ';') at = (tokens[at] ?? '') in closing ? endOfGroup(tokens, at) : at + 1;
  return at + 1;
}

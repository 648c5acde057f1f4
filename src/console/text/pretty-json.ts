/** A token of JSON; the space between tokens is none. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

/** Lays out JSON text with a line for each member. Every token stays as it is: reading and writing the text would round large numbers. */
export function prettyJson(json: string): string {
  let depth = 0;
  let text = '';
  let isEmpty = false;
  const newLine = () => `\n${'  '.repeat(depth)}`;
  for (const [token] of json.matchAll(tokens)) {
    if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1);
      text += isEmpty ? token : newLine() + token;
      isEmpty = false;
      continue;
    }
    if (isEmpty) text += newLine();
    isEmpty = token === '{' || token === '[';
    if (isEmpty) depth += 1;
    text += token === ',' ? token + newLine() : token === ':' ? ': ' : token;
  }
  return text;
}

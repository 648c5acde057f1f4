/**
 * The text of a member's value in the text of a JSON object, digit for digit; of members of one name the last, as JSON.parse has it. Null
 * where there is none. The text must be one that JSON.parse takes.
 */
export function memberJson(text: string, name: string): string | null {
  let found: string | null = null;
  let at = text.indexOf('{') + 1;
  for (;;) {
    at = afterSpace(text, at);
    if (text[at] !== '"') return found;
    const keyEnd = afterValue(text, at);
    const key: unknown = JSON.parse(text.slice(at, keyEnd));
    // Behind the colon.
    const valueAt = afterSpace(text, afterSpace(text, keyEnd) + 1);
    const valueEnd = afterValue(text, valueAt);
    if (key === name) found = text.slice(valueAt, valueEnd);
    // Behind the comma, or the brace that ends it all.
    at = afterSpace(text, valueEnd) + 1;
  }
}

const space = /[^ \t\n\r]/g;
/** What may matter inside an object or an array: the rest is passed over. */
const mark = /["[\]{}]/g;
const stringEnd = /"|\\/g;
const plainEnd = /[,\]} \t\n\r]|$/g;

function afterSpace(text: string, at: number): number {
  return next(space, text, at);
}

function afterValue(text: string, at: number): number {
  if (text[at] === '"') return afterString(text, at);
  if (text[at] !== '{' && text[at] !== '[') return next(plainEnd, text, at);
  let depth = 0;
  for (let place = at; ; ) {
    place = next(mark, text, place);
    const found = text[place];
    if (found === undefined) return place;
    if (found === '"') {
      place = afterString(text, place);
      continue;
    }
    depth += found === '{' || found === '[' ? 1 : -1;
    place += 1;
    if (depth === 0) return place;
  }
}

function afterString(text: string, at: number): number {
  for (let place = at + 1; ; ) {
    place = next(stringEnd, text, place);
    if (text[place] !== '\\') return place + 1;
    // What is escaped is never the end.
    place += 2;
  }
}

/** Where the pattern is found first, from here on; the text's end where it is not. */
function next(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.index ?? text.length;
}

/** Shorter texts are read at once. */
const longText = 256 * 1024;
/** The receipts of a full block have fewer values than this in lists and objects. */
const maxValues = 3_000_000;
/** The largest answers have a list or an object for each of their events and accounts. */
const maxContainers = 400_000;
const maxDepth = 256;
/** Answers repeat the same few names of members. Millions of different ones take seconds. */
const maxNames = 20_000;

/**
 * Reads a node's answer as JSON.parse does. Throws for a long one that is nested deeply or holds millions of values: a few megabytes of
 * brackets keep JSON.parse, and everything else, busy for many seconds.
 */
export function parseAnswer(text: string): unknown {
  if (text.length > longText && isBomb(text)) throw new SyntaxError('more values than an answer holds');
  return JSON.parse(text);
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [listOpens, listCloses, objectOpens, objectCloses] = [0x5b, 0x5d, 0x7b, 0x7d];

function isBomb(text: string): boolean {
  let [depth, containers, values] = [0, 0, 0];
  let [stringStart, stringEnd] = [0, 0];
  const names = new Set<string>();
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      stringStart = at;
      at = endOfString(text, at);
      stringEnd = at;
    } else if (code === colon) names.add(text.slice(stringStart, stringEnd));
    else if (code === comma) values += 1;
    else if (code === listOpens || code === objectOpens) {
      depth += 1;
      containers += 1;
    } else if (code === listCloses || code === objectCloses) depth -= 1;
    if (depth > maxDepth || containers > maxContainers || values > maxValues || names.size > maxNames) return true;
  }
  return false;
}

/** Returns the place of the quote that ends the string that begins here; the text's end if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

/** How large JSON is in what makes its reading slow: levels, values, items, digits. Known from its text, before it is parsed. */

export interface JsonExtent {
  /** How deep objects and arrays nest. */
  readonly levels: number;
  /** Objects, arrays and strings, names of members included. */
  readonly values: number;
  /** Commas: one fewer than there are items, in each of them. */
  readonly items: number;
  /** Characters of one number. */
  readonly digits: number;
}

/** What a JSON text has more of than this, the first that is met. */
export function findExcess(text: string, extent: JsonExtent): keyof JsonExtent | undefined {
  return new ExtentScan(text, extent).read(text.length);
}

/** Reads each character of a JSON text once, in as many pieces as its caller wants. Brackets in strings are text. */
export class ExtentScan {
  readonly #text: string;
  readonly #extent: JsonExtent;
  #at = 0;
  #depth = 0;
  #values = 0;
  #commas = 0;

  constructor(text: string, extent: JsonExtent) {
    this.#text = text;
    this.#extent = extent;
  }

  get isDone(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Reads so many characters more, and to the end of the string or number that it comes to. Says what there is too much of. */
  read(characters: number): keyof JsonExtent | undefined {
    const text = this.#text;
    const extent = this.#extent;
    const end = Math.min(this.#at + characters, text.length);
    let at = this.#at;
    let depth = this.#depth;
    let values = this.#values;
    let commas = this.#commas;
    for (; at < end; at += 1) {
      const code = text.charCodeAt(at);
      switch (code) {
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          depth += 1;
          values += 1;
          if (depth > extent.levels) return 'levels';
          break;
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          depth -= 1;
          break;
        case QUOTE:
          at = endOfString(text, at);
          values += 1;
          break;
        case COMMA:
          commas += 1;
          break;
        default:
          if (code === MINUS || isDigit(code)) {
            const endOfDigits = endOfNumber(text, at);
            if (endOfDigits - at > extent.digits) return 'digits';
            at = endOfDigits - 1;
          }
      }
      if (values > extent.values) return 'values';
      if (commas >= extent.items) return 'items';
    }
    this.#at = at;
    this.#depth = depth;
    this.#values = values;
    this.#commas = commas;
    return undefined;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** A letter in lower case. */
const EXPONENT = 0x65;
const LOWER_CASE = 0x20;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** Behind the last character of the number that begins here, or of what looks like one. */
function endOfNumber(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const goesOn =
      isDigit(code) || code === POINT || code === MINUS || code === PLUS || (code | LOWER_CASE) === EXPONENT;
    if (!goesOn) return at;
  }
  return text.length;
}

/** Where the string that begins here ends: at its closing quote, or with the text. */
function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end < 0) return text.length;
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
  // One escape seldom comes alone: from the first on, each character is looked at.
  for (let at = text.indexOf('\\', start + 1); at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

import { splitConditions } from '../child/linear-pattern.ts';
import { findClassEnd } from '../pattern-states.ts';
import { matchesPattern } from './matches-pattern.ts';

/** A string of a JSON Schema format; `ordinal` sets several of them apart. Undefined for a format not known here. */
export function makeFormatted(format: string, ordinal: number): string | undefined {
  const two = String((ordinal % 28) + 1).padStart(2, '0');
  const date = `2026-01-${two}`;
  const name = ordinal === 0 ? 'demo' : `demo${ordinal}`;
  switch (format) {
    case 'date-time':
    case 'iso-date-time':
      return `${date}T12:00:00Z`;
    case 'date':
      return date;
    case 'time':
    case 'iso-time':
      return `12:00:${String(ordinal % 60).padStart(2, '0')}Z`;
    case 'duration':
      return `PT${ordinal + 1}H`;
    case 'email':
    case 'idn-email':
      return `${name}@example.com`;
    case 'hostname':
    case 'idn-hostname':
      return `${name}.example.com`;
    case 'ipv4':
      return `192.0.2.${(ordinal % 254) + 1}`;
    case 'ipv6':
      return `2001:db8::${(ordinal + 1).toString(16)}`;
    case 'uri':
    case 'url':
    case 'iri':
    case 'uri-reference':
    case 'iri-reference':
    case 'uri-template':
      return `https://example.com/${name}`;
    case 'uuid':
      return `00000000-0000-4000-8000-${String(ordinal).padStart(12, '0')}`;
    case 'json-pointer':
      return `/${name}`;
    case 'relative-json-pointer':
      return `${ordinal}`;
    case 'regex':
      return `^${name}$`;
    case 'byte':
      return 'ZGVtbw==';
    default:
      return undefined;
  }
}

/**
 * A string that matches a regular expression of the plain kind: literals, classes, groups, alternation, quantifiers and
 * anchors. Conditions at its beginning are met by chance or not. Undefined where the expression uses more (look-around,
 * references, Unicode properties) or what was made does not match after all. At least `minLength` characters where the quantifiers allow it.
 */
export function makePatterned(pattern: string, ordinal: number, minLength = 0): string | undefined {
  if (minLength > REPEAT_MAX) return undefined;
  const { rest } = splitConditions(pattern);
  // Quantifiers without an upper bound repeat more, until the string is long enough.
  for (const extra of [ordinal, ordinal + 1, minLength, minLength + ordinal]) {
    const made = new PatternWriter(rest, extra).write();
    if (made === undefined) return undefined;
    if (made.length >= minLength && matchesPattern(pattern, made)) return made;
  }
  return undefined;
}

class PatternWriter {
  readonly #pattern: string;
  readonly #extra: number;
  #at = 0;

  constructor(pattern: string, extra: number) {
    this.#pattern = pattern;
    this.#extra = extra;
  }

  write(): string | undefined {
    const made = this.#writeAlternatives();
    return this.#at === this.#pattern.length ? made : undefined;
  }

  /** The first alternative; the others are read over. */
  #writeAlternatives(): string | undefined {
    const first = this.#writeSequence();
    while (this.#pattern[this.#at] === '|') {
      this.#at++;
      if (this.#writeSequence() === undefined) return undefined;
    }
    return first;
  }

  #writeSequence(): string | undefined {
    let made = '';
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== '|' && this.#pattern[this.#at] !== ')') {
      const atom = this.#writeAtom();
      const times = this.#readTimes();
      if (atom === undefined || times === undefined) return undefined;
      if (made.length + atom.length * times > MADE_MAX_CHARS) return undefined;
      made += atom.repeat(times);
    }
    return made;
  }

  #writeAtom(): string | undefined {
    const char = this.#pattern[this.#at++];
    switch (char) {
      case '^':
      case '$':
        return '';
      case '.':
        return 'x';
      case '(': {
        if (this.#pattern.startsWith('?:', this.#at)) this.#at += 2;
        else if (this.#pattern[this.#at] === '?') return undefined;
        const made = this.#writeAlternatives();
        if (this.#pattern[this.#at++] !== ')') return undefined;
        return made;
      }
      case '[':
        return this.#writeClass();
      case '\\':
        return pickEscaped(this.#pattern[this.#at++] ?? '');
      default:
        return char;
    }
  }

  #writeClass(): string | undefined {
    const end = findClassEnd(this.#pattern, this.#at - 1);
    if (end === this.#pattern.length) return undefined;
    const source = this.#pattern.slice(this.#at - 1, end + 1);
    this.#at = end + 1;
    const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
    // Letters before digits before signs, as they read best.
    const preferred = printable.sort((a, b) => rankChar(a) - rankChar(b));
    const allowed = preferred.filter((each) => matchesPattern(`^${source}$`, each));
    return allowed[this.#extra % Math.max(1, allowed.length)];
  }

  /** How often the atom just read is repeated. */
  #readTimes(): number | undefined {
    const rest = this.#pattern.slice(this.#at);
    const match = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(rest);
    if (match === null) return 1;
    this.#at += match[0].length;
    const [, sign, least, comma, most] = match;
    if (sign === '?') return 1;
    if (sign !== undefined) return 1 + this.#extra;
    const low = Number(least);
    const high = comma === undefined ? low : most === '' ? Number.POSITIVE_INFINITY : Number(most);
    return low > REPEAT_MAX ? undefined : Math.min(Math.max(low, this.#extra), high);
  }
}

const REPEAT_MAX = 1000;
/** Of one string that is made for a pattern. */
const MADE_MAX_CHARS = 20_000;

function rankChar(char: string): number {
  if (/[a-z]/.test(char)) return 0;
  if (/[A-Z]/.test(char)) return 1;
  return /\d/.test(char) ? 2 : 3;
}

function pickEscaped(char: string): string | undefined {
  switch (char) {
    case 'd':
      return '1';
    case 'w':
    case 'D':
    case 'S':
      return 'x';
    case 's':
    case 'W':
      return ' ';
    case 'b':
      return '';
    case 'n':
      return '\n';
    case 't':
      return '\t';
    default:
      return /[A-Za-z0-9]/.test(char) || char === '' ? undefined : char;
  }
}

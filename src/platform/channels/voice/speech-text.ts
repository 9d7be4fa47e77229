/**
 * Markdown as it is spoken: without its marks, word by word while it is written. What a mark is shows in the line that it stands
 * in, so no more is held back than a word, or a link that is not closed yet. Whatever is written, it takes linear time.
 */

/** Longer ones are no links that somebody would write. */
const MAX_LINK_CHARS = 500;
/** What is held is read again with each piece. It has room for a signed address. */
const MAX_HELD_CHARS = 4_000;

/** With few brackets within each part: what reads past all of them would read the rest of the line for each. */
const LINK = /!?\[([^[\]]*(?:\[[^[\]]*){0,8})\]\([^[)\s]*(?:\[[^[)\s]*){0,8}(?:\s+"[^["]*(?:\[[^["]*){0,8}")?\)/g;
const LINE_MARK = /^[ \t]*(?:(?:[-*+|]|#{1,6}|>)[ \t]+)+/;
const FENCE = /^[ \t]*(?:`{3}|~{3})/;
const RULE = /^[ \t]*(?:[-*_|:][ \t]*){3,}$/;

export class SpeechText {
  #held = '';
  #atLineStart = true;

  /** What can be said by now. */
  push(text: string): string {
    this.#held += text.replaceAll('\r', '');
    const end = this.#findEnd();
    const said = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    return this.#strip(said);
  }

  /** What is left. */
  end(): string {
    const said = this.#strip(this.#held);
    this.#held = '';
    return said;
  }

  #findEnd(): number {
    const end = this.#findMarkEnd();
    if (this.#held.length - end <= MAX_HELD_CHARS) return end;
    // Not between the two halves of a character.
    return this.#held.length - (/[\ud800-\udbff]$/.test(this.#held.slice(-1)) ? 1 : 0);
  }

  /** Behind the last white space ahead of a link that may go on; a line that begins with a mark of its own is held whole. */
  #findMarkEnd(): number {
    const held = this.#held;
    const end = Math.max(held.lastIndexOf(' '), held.lastIndexOf('\n'), held.lastIndexOf('\t')) + 1;
    const open = held.lastIndexOf('[', end - 1);
    const isCut = open !== -1 && held.length - open <= MAX_LINK_CHARS && open + lengthOfLink(held.slice(open)) > end;
    const before = !isCut ? end : held[open - 1] === '!' ? open - 1 : open;
    const line = held.lastIndexOf('\n', before - 1) + 1;
    const isWholeLine = line > 0 || this.#atLineStart;
    return isWholeLine && /^[ \t]*(?:$|`{3}|~{3}|[-*_+#>|:]+[ \t]*$)/.test(held.slice(line, before)) ? line : before;
  }

  #strip(markdown: string): string {
    if (markdown === '') return '';
    const lines = markdown.split('\n');
    const said = lines.map((line, index) => stripLine(line, index > 0 || this.#atLineStart));
    this.#atLineStart = lines.at(-1) === '';
    return said.join('\n');
  }
}

/** Of what is in brackets, with the address behind it; beyond all of it where it may go on. */
function lengthOfLink(text: string): number {
  const [link] = /^\[[^\]]*\](?:\([^)]*\)|(?=[^(]))/.exec(text) ?? [];
  return link?.length ?? Number.POSITIVE_INFINITY;
}

function stripLine(line: string, isWhole: boolean): string {
  if (isWhole && (FENCE.test(line) || RULE.test(line))) return '';
  const text = isWhole ? line.replace(LINE_MARK, '') : line;
  return text.replaceAll(LINK, '$1').replaceAll(/\S+/g, stripWord);
}

/** A star by itself is one that is meant. */
function stripWord(word: string): string {
  if (word === '*') return word;
  return word
    .replaceAll(/[*`]+|~~/g, '')
    .replaceAll('|', ',')
    .replaceAll(/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '');
}

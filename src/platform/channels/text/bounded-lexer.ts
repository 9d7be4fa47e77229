/**
 * Markdown's parser, ended where a text would take it too long: what is nested or begun a thousand times is read again for
 * each. It counts what it has to read rather than the time, so that the same text always ends the same way.
 */
import { Lexer, type Token, type TokensList } from 'marked';

/** Each takes some 15 ns at worst. Of 15,000 pieces of packages' documentation, none has too much. */
const READS = { atLeast: 500_000, perChar: 40 };
/** Of a block, for each time that it is read: whole blocks are tried as one kind after the other. */
const BLOCK_READS = 2;
/** For each block and each line of text, however short. */
const CALL_READS = 100;
/** Of the whole text, for each piece of a quotation: the lines behind it are copied. */
const QUOTE_SHARE = 0.1;
/** What may open emphasis looks for its end over the rest of the paragraph, in ways that cost more than others do. */
const EMPHASIS = /[*~]+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu;
const OTHER_MARKS = /[\\<[`_]/g;
const OTHER_SHARE = 0.2;
/** What may stand ahead of the `@` of an address, which is looked for from each of these. */
const BEFORE_AT = /[\w.!#$%&'*+/=?^`{|}~-]/;

/** Throws a `RangeError` for a text that has too much to be read, as for one that is nested too deeply. */
export class BoundedLexer extends Lexer {
  #left = READS.atLeast;
  #quoteReads = CALL_READS;

  override lex(markdown: string): TokensList {
    this.#left += READS.perChar * markdown.length;
    this.#quoteReads += QUOTE_SHARE * markdown.length;
    return super.lex(markdown);
  }

  override blockTokens(source: string, tokens?: Token[], isClipped?: boolean): Token[];
  override blockTokens(source: string, tokens?: TokensList, isClipped?: boolean): TokensList;
  override blockTokens(source: string, tokens?: Token[], isClipped?: boolean): Token[] {
    this.#spend(BLOCK_READS * source.length + (isClipped === true ? this.#quoteReads : CALL_READS));
    return super.blockTokens(source, tokens, isClipped);
  }

  override inlineTokens(source: string, tokens?: Token[]): Token[] {
    this.#spend(countOpenings(source) * source.length + CALL_READS);
    return super.inlineTokens(source, tokens);
  }

  #spend(reads: number): void {
    this.#left -= reads;
    if (this.#left < 0) throw new RangeError('The text would take too long to parse.');
  }
}

function countOpenings(source: string): number {
  const emphasis = source.match(EMPHASIS)?.length ?? 0;
  const others = (source.match(OTHER_MARKS)?.length ?? 0) + countBeforeAt(source);
  return emphasis + OTHER_SHARE * others;
}

function countBeforeAt(source: string): number {
  let chars = 0;
  for (let at = source.indexOf('@'); at !== -1; at = source.indexOf('@', at + 1)) {
    for (let before = at - 1; before >= 0 && BEFORE_AT.test(source.charAt(before)); before -= 1) chars += 1;
  }
  return chars;
}

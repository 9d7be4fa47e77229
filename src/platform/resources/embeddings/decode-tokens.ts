/** cl100k_base, the encoding of OpenAI's embedding models: clients that count tokens send those in place of the text. */
import vocabulary from 'gpt-tokenizer/bpeRanks/cl100k_base';

/** The text, or the position of the first entry that is no token. Bytes that are no UTF-8 become U+FFFD. */
export function decodeTokens(tokens: readonly unknown[]): string | number {
  const pieces: Buffer[] = [];
  for (const [index, token] of tokens.entries()) {
    // Special tokens such as <|endoftext|> are above the vocabulary: they stand for no text.
    const piece = typeof token === 'number' ? vocabulary[token] : undefined;
    if (piece === undefined) return index;
    pieces.push(typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece));
  }
  return Buffer.concat(pieces).toString('utf8');
}

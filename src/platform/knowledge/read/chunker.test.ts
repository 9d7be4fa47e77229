import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base';
import { Chunker } from './chunker.ts';
import type { Chunking, DocumentChunk } from './document.ts';
import { appendTokenEnds, countTokens } from './tokenizer.ts';

/** Special tokens are text like any other in a file. */
const asText = { disallowedSpecial: new Set<string>() };

const awkward = [
  ' ',
  '  ',
  '\n',
  '\r\n',
  '\t',
  '\u00a0',
  'a',
  'the',
  'The',
  "'s",
  "'",
  '12',
  '!',
  '/',
  '!\n',
  '<|endoftext|>',
];
const foreign = ['é', 'e\u0301', 'ß', 'ǅ', '中', '文', 'ไทย', '٣', '😀', '👩‍💻', '🏳️‍🌈', '𝔘', '\u0301', '\u200d'];
const texts = fc.string({
  unit: fc.oneof(fc.constantFrom(...awkward, ...foreign), fc.string({ unit: 'grapheme', maxLength: 4 })),
  maxLength: 400,
});

function chunk(pieces: readonly string[], chunking: Chunking): DocumentChunk[] {
  const chunker = new Chunker(chunking);
  return [...pieces.flatMap((piece) => [...chunker.push(piece)]), ...chunker.finish()];
}

test('the tokens are those of o200k_base', () => {
  fc.assert(fc.property(texts, (text) => assert.equal(countTokens(text), encode(text, asText).length)));
});

test('tokens end where o200k_base ends them', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const ends: number[] = [];
      appendTokenEnds(text, 0, ends);
      const tokens = encode(text, asText);
      for (const [index, end] of ends.entries()) {
        if (end >= 0) assert.equal(decode(tokens.slice(0, index + 1)), text.slice(0, end));
      }
    }),
  );
});

describe('chunks', () => {
  const chunkings = fc
    .tuple(fc.integer({ min: 4, max: 60 }), fc.nat(59))
    .map(([chunkTokens, overlap]) => ({ chunkTokens, overlapTokens: overlap % chunkTokens }));

  test('have no more tokens than asked for, and say how many, counted by themselves', () => {
    fc.assert(
      fc.property(texts, chunkings, (text, chunking) => {
        for (const { text: part, tokens } of chunk([text], chunking)) {
          assert.equal(tokens, encode(part, asText).length);
          assert.ok(tokens <= chunking.chunkTokens);
        }
      }),
    );
  });

  test('end a token earlier where the text by itself comes to more tokens than in the document', () => {
    // Without the line break before it, the slashes are split off: five tokens instead of four.
    const text = "!\n\r\n//  'll do";
    assert.deepEqual([encode(text).length, encode("\r\n//  'll").length], [6, 5]);
    for (const { text: part, tokens } of chunk([text], { chunkTokens: 4, overlapTokens: 3 })) {
      assert.equal(tokens, encode(part).length);
      assert.ok(tokens <= 4);
    }
  });

  test('cover the whole text in order, characters whole, blanks aside', () => {
    fc.assert(
      fc.property(texts, chunkings, (text, chunking) => {
        // Every end that the chunks so far can have reached: repeated text leaves more than one.
        let reached = new Set([0]);
        for (const { text: part } of chunk([text], chunking)) {
          assert.ok(part.isWellFormed() && part.trim() !== '');
          const next = new Set<number>();
          for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
            const end = at + part.length;
            for (const before of reached) if (end > before && text.slice(before, at).trim() === '') next.add(end);
          }
          assert.notEqual(next.size, 0, 'the chunk goes on where the last one ended, or before');
          reached = next;
        }
        assert.ok([...reached].some((end) => text.slice(end).trim() === ''));
      }),
    );
  });

  test('are windows over the tokens of the document: full, overlapping exactly', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(' alpha', ' beta', ' gamma', ' delta'), { maxLength: 300 }),
        chunkings,
        (words, chunking) => {
          const { chunkTokens, overlapTokens } = chunking;
          const tokens = encode(words.join(''));
          const windows: number[][] = [];
          for (let start = 0; tokens.length > 0; start += chunkTokens - overlapTokens) {
            windows.push(tokens.slice(start, start + chunkTokens));
            if (start + chunkTokens >= tokens.length) break;
          }
          const chunks = chunk([words.join('')], chunking);
          assert.deepEqual(
            chunks.map(({ text }) => text),
            windows.map((window) => decode(window)),
          );
          assert.deepEqual(
            chunks.map((part) => part.tokens),
            windows.map((window) => window.length),
          );
        },
      ),
    );
  });

  test('without their overlaps are the token sequence of the document again', () => {
    const text = 'Ironclad règles: 中文字符 don’t break 😀👩‍💻!\n\n'.repeat(400);
    const chunks = chunk([text], { chunkTokens: 128, overlapTokens: 0 });
    assert.equal(chunks.map((part) => part.text).join(''), text);
    assert.ok(chunks.slice(0, -1).every(({ tokens }) => tokens >= 125));
  });

  test('do not depend on the pieces in which the text arrives', () => {
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 5 }), fc.integer({ min: 1, max: 60_000 }), (parts, size) => {
        const text = parts.join('').repeat(40);
        const pieces: string[] = [];
        for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
        const chunking = { chunkTokens: 100, overlapTokens: 30 };
        assert.deepEqual(chunk(pieces, chunking), chunk([text], chunking));
      }),
      { numRuns: 20 },
    );
  });

  test('of a text of many blocks are those of the text tokenized at once', () => {
    const text = Array.from(
      { length: 20_000 },
      (_, index) => `Line ${index}:${' '.repeat(30)}it's 中文 ${index * 7919}!\n`,
    ).join('');
    const chunks = chunk([text], { chunkTokens: 800, overlapTokens: 0 });
    assert.equal(chunks.map((part) => part.text).join(''), text);
    assert.equal(
      chunks.reduce((sum, part) => sum + part.tokens, 0),
      encode(text).length,
    );
  });

  test('Chunker keeps all of a text when it has no break', () => {
    const text = 'ab'.repeat(50_000);
    const chunks = chunk([text], { chunkTokens: 800, overlapTokens: 0 });
    assert.equal(chunks.map((part) => part.text).join(''), text);
  });

  test('of nothing and of blanks are none', () => {
    assert.deepEqual(chunk([''], { chunkTokens: 100, overlapTokens: 0 }), []);
    assert.deepEqual(chunk([' \n\t'.repeat(5_000)], { chunkTokens: 100, overlapTokens: 50 }), []);
  });

  test('need sizes that can be met', () => {
    for (const chunking of [
      { chunkTokens: 3, overlapTokens: 0 },
      { chunkTokens: 100, overlapTokens: 100 },
      { chunkTokens: 100, overlapTokens: -1 },
      { chunkTokens: 100.5, overlapTokens: 0 },
    ]) {
      assert.throws(() => new Chunker(chunking), RangeError);
    }
  });
});

/**
 * Texts that callers, documents and providers write and that the event loop itself reads, each at the size that its
 * limits allow, in the shape that is worst for who reads it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json } from '../../src/kernel/db/values.ts';
import { findExcess } from '../../src/kernel/http/json-extent.ts';
import { scrubText } from '../../src/kernel/log/redact.ts';
import { parseInput } from '../../src/platform/engine/input/parse-input.ts';
import { readInstruction } from '../../src/platform/models/demo/instruction.ts';
import { findBestLines } from '../../src/platform/models/demo/retrieval.ts';
import { identifyModel, redactSecrets } from '../../src/platform/models/model-identity.ts';
import { findCitations } from '../../src/platform/tools/file-search.ts';

/** Characters of the texts. */
export interface TextSizes {
  /** Of a body. */
  readonly body: number;
  /** Of what one turn shows of an upstream or a model. */
  readonly answer: number;
}

/** The largest body, and the most that one turn may show. */
export const LARGEST_TEXTS: TextSizes = { body: 10_485_760, answer: 1_000_000 };

/** Declares the tests; `read` calls what reads a text, and returns or throws what that does. */
export function testStallingTexts(
  { body: bodyLength, answer: answerLength }: TextSizes,
  read: <T>(work: () => T) => T,
): void {
  test('the demo model reads an instruction of full stops that end no sentence', () => {
    const subject = `${'.'.repeat(answerLength)}x`;
    assert.deepEqual(
      read(() => readInstruction(`Think about ${subject}`)),
      { type: 'think', subject },
    );
    assert.deepEqual(readInstruction('Think about rain?!.'), { type: 'think', subject: 'rain' });
  });

  test('the demo model reads instructions that begin and never end', () => {
    const blanks = ' '.repeat(answerLength);
    for (const begun of ['call the tool', 'write 1 words', 'write', 'think about', 'fail with']) {
      read(() => readInstruction(`${begun}${blanks}|`));
      read(() => readInstruction(begun.repeat(answerLength / 20)));
      read(() => readInstruction(`${begun} `.repeat(answerLength / 20)));
    }
    read(() => readInstruction(`call the tool ${'a'.repeat(answerLength)}`));
    read(() => readInstruction('call the tool a with {"a": '.repeat(answerLength / 30)));
  });

  test('citations are found among markers that are never closed', () => {
    const marker = `【1†${'n'.repeat(255)}】`;
    const passage = { marker, file_id: 'file_1', filename: 'n'.repeat(255) };
    const text = `${'【1†'.repeat(answerLength / 3)} ${marker}`;
    const cited = read(() => findCitations(text, [{ results: [passage] }]));
    assert.deepEqual(cited, [
      { type: 'file_citation', index: text.length - marker.length, file_id: 'file_1', filename: passage.filename },
    ]);
  });

  test('the best lines are found for a question of many words', () => {
    const words = Array.from({ length: answerLength / 20 }, (_, index) => `w${index}`);
    const [best] = read(() => findBestLines(words.join(' '), [{ tag: 'memory', text: `${words.join('\n')}\nw1 w2` }]));
    assert.equal(best, 'w1 w2');
    read(() =>
      findBestLines('w1', [{ tag: 'memory', text: words.concat(words.map((word) => `${word}x`)).join('\n') }]),
    );
  });

  test('secrets are taken out of an upstream’s message that is one word, with stars and without', () => {
    const model = identifyModel({ provider: 'openai', modelId: 'gpt' }, 'openai/gpt', ['secret-key']);
    const word = 'a'.repeat(answerLength);
    assert.equal(
      read(() => redactSecrets(model, word)),
      word,
    );
    read(() => redactSecrets(model, '***a'.repeat(answerLength / 4)));
    assert.equal(redactSecrets(model, 'key ab****yz: refused'), 'key [redacted] refused');
    for (const part of ['eyJaaaaaaaa.', 'bearer ', 'authorization:', '://a:', 'token=', 'ab_', 'sk-']) {
      read(() => scrubText(part.repeat(answerLength / part.length)));
    }
  });

  test('data URLs are read or refused whatever their header', () => {
    const part = (image_url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url }] }];
    const refused = { code: 'invalid_input' };
    assert.throws(() => read(() => parseInput(part(`data:a/b${';a=b'.repeat(bodyLength / 4)}`))), refused);
    assert.throws(() => read(() => parseInput(part(`data:${'a'.repeat(bodyLength)}/`))), refused);
    assert.throws(() => read(() => parseInput(part(`data:image/png;base64,${'A'.repeat(bodyLength)}!`))), refused);
    for (const [url, mediaType] of [
      ['data:image/png;base64,QUJD', 'image/png'],
      ['data:image/png;charset=utf-8;name="a b";base64,QUJD', 'image/png'],
      ['data:;base64,QUJD', 'image/*'],
    ] as const) {
      assert.deepEqual(parseInput(part(url))[0]?.content, [
        { type: 'file', mediaType, data: { type: 'data', data: 'QUJD' } },
      ]);
    }
  });

  test('text that the database cannot hold is stored with what it can', () => {
    const worst = [
      '\0'.repeat(bodyLength / 6),
      '\\\0'.repeat(bodyLength / 8),
      '\ud800\\'.repeat(bodyLength / 8),
      `${'\\'.repeat(bodyLength / 2)}\0`,
    ];
    for (const text of worst) {
      const stored = read(() => json(text));
      assert.equal(JSON.parse(stored), text.toWellFormed().replaceAll('\0', '\ufffd'));
    }
  });

  test('bodies of nothing but structure are refused before they are parsed', () => {
    const limits = { levels: 100, values: 100_000, items: 1_000_000, digits: 1_000 };
    for (const part of ['{},', '[],', '"",', '{"":[', '"a":']) {
      assert.notEqual(
        read(() => findExcess(`[${part.repeat(bodyLength / part.length)}`, limits)),
        undefined,
      );
    }
    assert.equal(
      read(() => findExcess(`[${'1,'.repeat(bodyLength / 2)}1]`, limits)),
      'items',
    );
    assert.equal(
      read(() => findExcess(`[${'1'.repeat(bodyLength)}]`, limits)),
      'digits',
    );
  });
}

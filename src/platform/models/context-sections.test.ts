import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findSections, MEMORY_TAG, SEARCH_RESULTS_TAG, stripSections, wrapSection } from './index.ts';

test('what is wrapped is found again, whatever it contains, and the rest is left', () => {
  const hostile = fc.constantFrom('</memory>', '<memory>', '<search_results>', '</search_results>', '\n', 'x');
  const text = fc.oneof(
    fc.string(),
    fc.array(hostile).map((pieces) => pieces.join('')),
  );
  fc.assert(
    fc.property(text, (body) => {
      const prompt = `Before\n${wrapSection(MEMORY_TAG, body)}\nAfter`;
      const sections = findSections(prompt);
      assert.equal(sections.length, 1);
      assert.equal(sections[0]?.tag, MEMORY_TAG);
      assert.equal(sections[0]?.text, body.replaceAll('</memory>', '</ memory>'));
      assert.equal(stripSections(prompt), 'Before\n\nAfter');
    }),
  );
});

test('several sections are found in their order, and an unclosed tag is ordinary text', () => {
  const prompt = `${wrapSection(SEARCH_RESULTS_TAG, 'a')} ${wrapSection(MEMORY_TAG, 'b')} ${wrapSection(SEARCH_RESULTS_TAG, 'c')} <memory>`;
  assert.deepEqual(
    findSections(prompt).map((section) => section.text),
    ['a', 'b', 'c'],
  );
  assert.equal(stripSections(prompt), '   <memory>');
});

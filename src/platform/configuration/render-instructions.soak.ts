import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../test/support/computed-time.ts';
import { renderInstructions } from './render-instructions.ts';

test('summing forty thousand placeholders of a large value takes less than 2 s of computing', async () => {
  const metadata = { x: { list: Array.from({ length: 1_000_000 }, () => 'nine bytes') } };
  const ms = await medianComputedMs(() => renderInstructions('{{x}}'.repeat(40_000), [], metadata));
  assert.ok(ms < 2_000, `${ms} ms`);
});

test('braces, blanks and names that come to nothing are read in linear time', async () => {
  for (const text of ['{', '{{', '{{ ', '{{x', '{{x ', `{{${'x'.repeat(70)}`, `{{${' '.repeat(100)}`]) {
    for (const long of [text.repeat(200_000 / text.length), text + ' '.repeat(200_000)]) {
      const ms = await medianComputedMs(() => renderInstructions(long, [], { x: 'x' }));
      assert.ok(ms < 1_000, `${text}: ${ms} ms`);
    }
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AgentVariable } from '../tables.ts';
import { MAX_INSTRUCTIONS_BYTES, renderInstructions } from './render-instructions.ts';

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,10}$/);
const plain = fc.string().filter((text) => !text.includes('{{'));

function variable(fields: Partial<AgentVariable> & { name: string }): AgentVariable {
  return { default: null, description: null, required: false, ...fields };
}

test('a variable is the metadata of its name, else its default, else empty', () => {
  const variables = [variable({ name: 'tone', default: 'warm' }), variable({ name: 'city' })];
  const render = (metadata: Record<string, unknown>) =>
    renderInstructions('Be {{tone}} in {{ city }}.', variables, metadata).text;
  assert.equal(render({ tone: 'brief', city: 'Oslo' }), 'Be brief in Oslo.');
  assert.equal(render({ city: 'Oslo' }), 'Be warm in Oslo.');
  assert.equal(render({ tone: null }), 'Be warm in .');
});

test('a required variable without metadata or default is missing, whether or not the text uses it', () => {
  const variables = [
    variable({ name: 'plan', required: true }),
    variable({ name: 'city', required: true, default: 'Oslo' }),
    variable({ name: 'tone', required: true }),
  ];
  assert.deepEqual(renderInstructions('In {{city}}.', variables, { tone: 'warm' }), {
    text: 'In Oslo.',
    bytes: 8,
    missing: ['plan'],
  });
  assert.deepEqual(renderInstructions('', variables, { plan: '', tone: null }).missing, ['tone']);
});

test('an undeclared name is filled from the metadata, and stays as written where there is none', () => {
  assert.equal(renderInstructions('{{a}} {{b}}', [], { a: 'x' }).text, 'x {{b}}');
});

test('names of every object are no metadata', () => {
  assert.equal(renderInstructions('{{constructor}} {{toString}}', [], {}).text, '{{constructor}} {{toString}}');
});

test('values that are no text are written as JSON', () => {
  const metadata = { n: 3, ok: false, list: [1, 'a'], thing: { b: null } };
  assert.equal(renderInstructions('{{n}} {{ok}} {{list}} {{thing}}', [], metadata).text, '3 false [1,"a"] {"b":null}');
});

test('text without placeholders comes out as it went in', () => {
  fc.assert(
    fc.property(plain, fc.dictionary(name, fc.string()), (text, metadata) => {
      assert.deepEqual(renderInstructions(text, [], metadata), {
        text,
        bytes: Buffer.byteLength(text),
        missing: [],
      });
    }),
  );
});

test('a value appears literally, whatever it holds: never expanded a second time', () => {
  const tricky = fc.oneof(fc.string(), fc.constantFrom('{{other}}', '$&', '$1', '\\', "$'", '{{', '}}'));
  fc.assert(
    fc.property(plain, tricky, plain, name, (before, value, after, key) => {
      fc.pre(key !== 'other');
      // A brace at the seam would join the placeholder.
      fc.pre(!before.endsWith('{') && !after.startsWith('}'));
      const { text } = renderInstructions(`${before}{{${key}}}${after}`, [], { [key]: value, other: 'SECRET' });
      assert.equal(text, before + value + after);
    }),
  );
});

test('once every required variable has a value nothing is missing, and each one is in the text', () => {
  const values = fc.dictionary(name, fc.string(), { minKeys: 1, maxKeys: 6 });
  fc.assert(
    fc.property(values, (metadata) => {
      const keys = Object.keys(metadata);
      const variables = keys.map((key) => variable({ name: key, required: true }));
      const instructions = keys.map((key) => `{{${key}}}`).join('|');
      const text = keys.map((key) => metadata[key]).join('|');
      assert.deepEqual(renderInstructions(instructions, variables, metadata), {
        text,
        bytes: Buffer.byteLength(text),
        missing: [],
      });
      assert.deepEqual(renderInstructions(instructions, variables, {}).missing, keys);
    }),
  );
});

test('the size that is summed is that of the text', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('{{a}}', '{{ b }}', '{{\u3000c\u00a0}}', '{{d}}', '{{{a}}}', '{{'),
  );
  const metadata = fc.record({ a: fc.string({ unit: 'binary' }), b: fc.jsonValue(), d: fc.constant(null) });
  fc.assert(
    fc.property(fc.array(piece), metadata, (pieces, given) => {
      const { text, bytes } = renderInstructions(pieces.join(''), [variable({ name: 'c', default: 'é' })], given);
      assert.equal(bytes, Buffer.byteLength(text ?? ''));
    }),
  );
});

test('a text of the largest size is made, and of one byte more only its size is told', () => {
  const [half, metadata] = ['{{x}}', { x: 'é'.repeat(MAX_INSTRUCTIONS_BYTES / 4) }];
  const whole = renderInstructions(half + half, [], metadata);
  assert.deepEqual(
    [whole.bytes, Buffer.byteLength(whole.text ?? '')],
    [MAX_INSTRUCTIONS_BYTES, MAX_INSTRUCTIONS_BYTES],
  );
  const larger = renderInstructions(`${half}.${half}`, [], metadata);
  assert.deepEqual([larger.bytes, larger.text], [MAX_INSTRUCTIONS_BYTES + 1, undefined]);
});

test('of forty thousand placeholders of a large value only the size is told', () => {
  const metadata = { x: { list: Array.from({ length: 1_000_000 }, () => 'nine bytes') } };
  const { bytes, text } = renderInstructions('{{x}}'.repeat(40_000), [], metadata);
  assert.equal(text, undefined);
  assert.ok(bytes > 5e11);
});

test('braces, blanks and names that come to nothing are kept as they are, however many there are', () => {
  for (const text of ['{', '{{', '{{ ', '{{x', '{{x ', `{{${'x'.repeat(70)}`, `{{${' '.repeat(100)}`]) {
    for (const long of [text.repeat(200_000 / text.length), text + ' '.repeat(200_000)]) {
      const rendered = renderInstructions(long, [], { x: 'x' });
      assert.deepEqual([rendered.bytes, rendered.text], [long.length, long]);
    }
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AgentVariable } from '../tables.ts';
import { renderInstructions } from './render-instructions.ts';

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
      assert.deepEqual(renderInstructions(text, [], metadata), { text, missing: [] });
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
      assert.deepEqual(renderInstructions(instructions, variables, metadata), {
        text: keys.map((key) => metadata[key]).join('|'),
        missing: [],
      });
      assert.deepEqual(renderInstructions(instructions, variables, {}).missing, keys);
    }),
  );
});

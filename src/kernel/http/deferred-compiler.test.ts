import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeferredCompiler, onceForComponents, onceForSchema } from './deferred-compiler.ts';
import { createSerializers } from './serialization.ts';
import { Type } from './type-builder.ts';
import { createValidators } from './validation.ts';

const components = new Map();
const faulty = Type.Unsafe<string>({ type: 'no such type' });

test('compiles at the first call and never again', () => {
  const compiler = createDeferredCompiler();
  let count = 0;
  const compiled = compiler.defer(() => {
    count += 1;
    return 'compiled';
  });
  assert.equal(count, 0);
  assert.deepEqual([compiled(), compiled(), count], ['compiled', 'compiled', 1]);
  assert.equal(compiler.compileAll(), 1);
  assert.equal(count, 1);
});

test('a faulty schema of a request or a reply is found when all are compiled', () => {
  const ofRequests = createDeferredCompiler();
  createValidators(components, ofRequests).compile('body', faulty);
  assert.throws(() => ofRequests.compileAll(), /schema is invalid|no such type/);
  const ofReplies = createDeferredCompiler();
  createSerializers(components, ofReplies)({ schema: { ...faulty } });
  assert.throws(() => ofReplies.compileAll(), /schema is invalid|no such type|unsupported/);
});

test('replies with equal schemas share one serializer', () => {
  const compiler = createDeferredCompiler();
  const serializerOf = createSerializers(components, compiler);
  const [first, second] = [1, 2].map(() => serializerOf({ schema: Type.Object({ id: Type.String() }) }));
  assert.equal(first, second);
  assert.equal(first?.({ id: 'a', secret: 'b' }), '{"id":"a"}');
  assert.equal(compiler.compileAll(), 1);
});

test('services with equal components and schemas share what is compiled', () => {
  const compiled: string[] = [];
  const openCompiler = onceForComponents((components) =>
    onceForSchema((schema) => compiled.push(`${[...components.keys()]} ${JSON.stringify(schema)}`)),
  );
  const withComponents = (...names: string[]) => openCompiler(new Map(names.map((name) => [name, Type.String()])));
  for (let service = 0; service < 2; service += 1) withComponents('Run')(Type.Integer());
  withComponents('Run')(Type.Boolean());
  withComponents('Smith')(Type.Integer());
  assert.deepEqual(compiled, ['Run {"type":"integer"}', 'Run {"type":"boolean"}', 'Smith {"type":"integer"}']);
});

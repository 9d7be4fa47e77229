import assert from 'node:assert/strict';
import { test } from 'node:test';
import TypeBox from 'typebox';
import { component, componentOf } from './schema.ts';
import { Type } from './type-builder.ts';

/** Schemas of every kind that the services build, by whichever builder. */
function buildAll(builder: typeof Type): object[] {
  const limited = builder.String({ minLength: 1, description: 'A text.' });
  const point = builder.Object({ x: builder.Integer(), y: builder.Optional(builder.Number({ minimum: 0 })) });
  return [
    ...[
      builder.String(),
      limited,
      builder.Integer({ maximum: 9 }),
      builder.Number(),
      builder.Boolean(),
      builder.Null(),
    ],
    ...[builder.Literal('a'), builder.Literal(1), builder.Literal(true, { description: 'Always.' })],
    builder.Array(limited, { maxItems: 3 }),
    builder.Union([limited, builder.Null()], { description: 'Or none.' }),
    point,
    builder.Object({}),
    builder.Object({ point, other: builder.Optional(point) }, { additionalProperties: false, required: ['other'] }),
    builder.Object({ ...point.properties, z: builder.Optional(builder.Unsafe<number>({ type: ['integer', 'null'] })) }),
  ];
}

test('the builders make what TypeBox makes, to the order of the members', () => {
  assert.equal(JSON.stringify(buildAll(Type)), JSON.stringify(buildAll(TypeBox)));
});

test('an optional member of a named type is still that type', () => {
  const Point = component('Point', Type.Object({ x: Type.Integer() }));
  const optional = Type.Optional(Point);
  assert.equal(componentOf(optional)?.name, 'Point');
  assert.deepEqual(Type.Object({ at: Type.Optional(Type.Unsafe(optional)) }).required, undefined);
  assert.deepEqual(Type.Object({ at: Point }).required, ['at']);
});

test('a schema that is made of an optional one’s members is not optional itself', () => {
  const optional = Type.Optional(Type.String());
  assert.deepEqual(Type.Object({ name: Type.Unsafe({ ...optional }) }).required, ['name']);
});

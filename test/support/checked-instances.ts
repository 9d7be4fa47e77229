/** Instances that are made by schemas, held against another program that knows schemas. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import type { JsonSchemaOrFlag } from '../../src/platform/schemas/instance/json-schema.ts';
import { makeInstance } from '../../src/platform/schemas/instance/schema-instance.ts';

/** What is wrong with the instance. */
export function checkInstance(schema: unknown, value: unknown): string | undefined {
  const ajv = new Ajv2020({ strict: false, logger: false });
  formats.default(ajv);
  const validate = ajv.compile(Object(schema));
  return validate(value)
    ? undefined
    : `${JSON.stringify(value)} is not valid by ${JSON.stringify(schema)}: ${ajv.errorsText(validate.errors)}`;
}

/** Declares the test of so many schemas. */
export function testGeneratedSchemas(numRuns: number): void {
  test('instances of generated schemas are valid', async () => {
    const { schema } = fc.letrec<{ schema: JsonSchemaOrFlag }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.constantFrom<JsonSchemaOrFlag>(
          { type: 'boolean' },
          { type: 'null' },
          { type: 'string', format: 'date' },
          { const: 7 },
        ),
        fc
          .tuple(fc.nat(20), fc.nat(20))
          .map(([least, more]) => ({ type: 'string', minLength: least, maxLength: least + more })),
        fc
          .tuple(fc.integer({ min: -50, max: 50 }), fc.nat(9))
          .map(([low, more]) => ({ type: 'integer', minimum: low, maximum: low + more })),
        fc
          .tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 9 }))
          .map(([low, more]) => ({ type: 'number', exclusiveMinimum: low, exclusiveMaximum: low + more })),
        fc
          .uniqueArray(fc.oneof(fc.integer(), fc.string()), { minLength: 1, maxLength: 4 })
          .map((values) => ({ enum: values })),
        fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(3) }),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie('schema'), { maxKeys: 4 }).chain((properties) =>
          fc.subarray(Object.keys(properties)).map((required) => ({
            type: 'object',
            properties: { ...properties },
            required,
            additionalProperties: false,
          })),
        ),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(schema, fc.string(), async (each, text) => {
        const problem = checkInstance(each, await makeInstance(each, text));
        assert.equal(problem, undefined, problem);
      }),
      { numRuns },
    );
  });
}

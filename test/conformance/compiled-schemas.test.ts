/**
 * Validators and serializers compile on first use, of schemas that nothing has checked; here all of them are checked and
 * compile, so that no request finds a faulty schema first.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../../src/kernel/http/operation.ts';
import { startDomains } from '../support/domains.ts';
import { startPlatform } from '../support/platform.ts';

const metaschema = new Ajv2020({ strict: false, logger: false });

/** Checks and compiles what the service has, and asserts that this is at least what its operations take and answer. */
function compileAll(app: FastifyInstance, operations: readonly Operation<never>[]): void {
  const taken = operations.flatMap(({ params, query, body, upload }) => [
    params,
    query,
    upload === undefined ? body : undefined,
  ]);
  for (const schema of [...taken, ...Object.values(app.getSchemas())]) {
    if (metaschema.validateSchema(schema ?? {})) continue;
    assert.fail(`${JSON.stringify(schema)}: ${metaschema.errorsText()}`);
  }
  const count = app.compileSchemas();
  const atLeast = taken.filter((schema) => schema !== undefined).length;
  assert.ok(count > atLeast && atLeast > 0, `${count} compiled, of more than ${atLeast}`);
}

test("the platform's validators and serializers compile", async (t) => {
  const { platform, close } = await startPlatform();
  t.after(close);
  compileAll(platform.app, platform.operations);
});

test("the domain service's validators and serializers compile", async (t) => {
  const { domains, close } = await startDomains();
  t.after(close);
  compileAll(domains.app, domains.operations);
});

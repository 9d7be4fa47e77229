import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kernel/http/errors.ts';
import { hostedToolNames } from '../tools/hosted-tools.ts';
import { checkConfig } from './check-config.ts';

function refusal(config: Parameters<typeof checkConfig>[0]): { code: string; param: string | undefined } {
  try {
    checkConfig(config);
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, param: error.detail.param };
    throw error;
  }
  throw new Error('the configuration was accepted');
}

test('a configuration that sets nothing, and one that sets everything rightly, pass', () => {
  checkConfig({});
  checkConfig({ model: null, enabled_hosted_tools: null, skills: null, variables: null });
  checkConfig({
    model: 'builtin/demo',
    enabled_hosted_tools: hostedToolNames,
    skills: [{ skill_id: 'a' }, { skill_id: 'b' }],
    variables: [{ name: 'a' }, { name: 'b' }],
  });
});

test('a model of an unknown provider, or none at all, is refused', () => {
  assert.equal(refusal({ model: 'nobody/model' }).code, 'unknown_provider');
  assert.deepEqual(refusal({ model: 'builtin/other' }), { code: 'invalid_request', param: 'model' });
});

test('a hosted tool that does not exist is refused by name', () => {
  const param = 'enabled_hosted_tools';
  assert.deepEqual(refusal({ enabled_hosted_tools: ['no_such_tool'] }), { code: 'invalid_request', param });
});

test('a skill or a variable named twice is refused', () => {
  const twice = ['a', 'b', 'a'];
  assert.deepEqual(refusal({ skills: twice.map((skill_id) => ({ skill_id })) }), {
    code: 'invalid_request',
    param: 'skills',
  });
  assert.deepEqual(refusal({ variables: twice.map((name) => ({ name })) }), {
    code: 'invalid_variables',
    param: 'variables',
  });
});

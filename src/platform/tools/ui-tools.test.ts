import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UiResource } from '../tables.ts';
import type { ToolSourceTurn } from './tool.ts';
import { createUiTools, isReservedToolName, offerUi } from './ui-tools.ts';

const RESOURCE: UiResource = {
  name: 'card',
  content_hash: 'h',
  csp: null,
  permissions: null,
  prefers_border: null,
  domain: null,
  tool: { description: 'D', input_schema: {}, instruction: 'I', mutating: false, visibility: ['model', 'app'] },
};
const withTool = (name: string, more: Partial<NonNullable<UiResource['tool']>>): UiResource => ({
  ...RESOURCE,
  name,
  tool: { ...(RESOURCE.tool as NonNullable<UiResource['tool']>), ...more },
});

test('resources whose tools a model may see are offered; a mutating one is never repeated', async () => {
  const ui = offerUi('agt_1', [
    RESOURCE,
    withTool('app', { visibility: ['app'] }),
    withTool('nobody', { visibility: [] }),
    { ...RESOURCE, name: 'none', tool: null },
    withTool('changes', { mutating: true }),
  ]);
  const { tools } = await createUiTools().toolsFor({ ui } as ToolSourceTurn);
  assert.deepEqual(
    tools.map(({ name, repeatable, requiresApproval }) => [name, repeatable, requiresApproval]),
    [
      ['card', true, false],
      ['changes', false, false],
    ],
  );
});

test('an agent without such resources has nothing to offer, and costs its turns nothing', async () => {
  assert.equal(offerUi('agt_1', []), undefined);
  assert.equal(offerUi('agt_1', [withTool('app', { visibility: ['app'] })]), undefined);
  assert.deepEqual(await createUiTools().toolsFor({ ui: undefined } as ToolSourceTurn), { tools: [] });
});

test('names of the server’s own tools are reserved', () => {
  for (const name of ['file_search', 'read_skill', 'remember', 'current_time']) assert.ok(isReservedToolName(name));
  assert.equal(isReservedToolName('card'), false);
});

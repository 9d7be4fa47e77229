import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SANDBOX_SETTINGS, whyNoBoxes } from '../../../test/support/sandbox.ts';
import { checkSandbox } from './check-sandbox.ts';

test('it is said how the memory of boxes is kept, and what would mend it', { skip: await whyNoBoxes() }, async () => {
  const { status, detail } = await checkSandbox({ sandbox: { ...SANDBOX_SETTINGS, cgroup: '/nowhere' } });
  assert.equal(status, 'ok');
  assert.match(
    detail,
    /memory of boxes is watched.*: \/nowhere is not a cgroup of version 2\. With systemd, add Delegate=yes/,
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { OperatorError } from '../../kernel/operator/index.ts';
import { appendEvent } from '../feed/append-event.ts';
import { createEventSealer } from '../feed/chain/index.ts';
import { createOrganization, createProject } from '../resources/projects/index.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import { verifyEvents } from './verify-events.ts';

describeOnEachStore('events verify', {}, (current) => {
  test('goes from project to project, and names the one whose chain is broken', async (t) => {
    const { db } = current();
    assert.equal((await verifyEvents(db, {})).project_id, null, 'nothing to prove');
    const projects = await db.transaction(async (tx) => {
      const organization = await createOrganization(tx, { name: 'Acme' });
      const ids: string[] = [];
      for (const name of ['one', 'two']) {
        const id = (await createProject(tx, { organizationId: organization.id, name })).project.id;
        ids.push(id);
        for (let n = 0; n < 3; n += 1) {
          await appendEvent(new TenantTransaction(tx, id), { type: 'run.completed', actor: null, data: { n } });
        }
      }
      return ids.sort();
    });
    const sealer = createEventSealer({ db, logger: console as never });
    t.after(() => sealer.stop());
    await sealer.start();
    for (let sealed = 0; sealed < 6; await wait(20)) {
      const { rows } = await db.query<{ links: number }>({
        text: 'select count(*)::int as links from event_links',
        values: [],
      });
      sealed = rows[0]?.links ?? 0;
    }
    const first = await verifyEvents(db, {});
    assert.deepEqual(
      [first.project_id, first.place.position, first.broken, first.is_end, first.next_project_id],
      [projects[0], 3, null, true, projects[1]],
    );
    const head = { position: 2, hash: '0'.repeat(64) };
    const wrong = await verifyEvents(db, { project_id: String(projects[0]), after: head, head });
    assert.equal(wrong.broken?.reason, 'head_differs');
    await db.query({
      text: `insert into events (project_id, id, type, data, written_by) values ($1, $2, 'run.completed', '{}', '3')`,
      values: [projects[1], mintId('evt')],
    });
    const second = await verifyEvents(db, { project_id: String(projects[1]) });
    assert.deepEqual([second.broken?.reason, second.is_end, second.next_project_id], ['event_inserted', true, null]);
    await assert.rejects(verifyEvents(db, { project_id: 'proj_none' }), OperatorError);
  });
});

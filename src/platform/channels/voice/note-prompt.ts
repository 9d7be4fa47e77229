/** What a caller has said, as an inbound event, and what came of it. */
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import type { CallTicket } from './call-ticket.ts';

export interface NotedPrompt {
  readonly id: string;
  readonly data: JsonObject;
  readonly outcome:
    | { readonly runId: string }
    | { readonly error: { readonly code: string; readonly message: string } };
  readonly now: Date;
}

export async function notePrompt(
  db: Database,
  projectId: string,
  call: CallTicket,
  { id, data, outcome, now }: NotedPrompt,
): Promise<void> {
  const { callSid, accountId, deploymentId, smithId, threadId, from } = call;
  const runId = 'runId' in outcome ? outcome.runId : null;
  await new TenantDatabase(db, projectId).transaction(async (tx) => {
    await tx.raw({
      text: `
        insert into inbound_events
          (project_id, id, source, account_id, type, subject, idempotency_key, data, smith_id, deployment_id, thread_id, state,
            run_id, error, created_at)
        values ($1, $2, 'voice', $3, 'message', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      values: [
        ...[id, accountId, from, `${callSid}/${id}`, json(data), smithId, deploymentId, threadId],
        ...[runId === null ? 'failed' : 'started', runId, 'error' in outcome ? json(outcome.error) : null, now],
      ],
    });
    if (runId === null) return;
    await appendEvent(tx, {
      type: 'deployment.inbound',
      smithId,
      actor: { kind: 'smith', id: smithId, token_id: '', email: '' },
      data: { kind: 'voice', channel_id: deploymentId, triggered_run_id: runId, inbound_event_id: id },
    });
  });
}

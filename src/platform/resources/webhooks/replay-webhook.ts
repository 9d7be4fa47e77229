import { ApiError } from '../../../kernel/http/errors.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { enqueueReplay } from '../../webhooks/index.ts';
import type { WebhookDependencies } from './dependencies.ts';
import type { ReplayIn, WebhookPath } from './schema.ts';
import { findWebhook } from './store.ts';

export function replayWebhook({ jobs, clock }: Pick<WebhookDependencies, 'jobs' | 'clock'>) {
  return async ({ tx, params, body }: ProjectChange<{ params: WebhookPath; body: ReplayIn }>) => {
    if ((await findWebhook(tx, params.wid)) === undefined) throw new ApiError('not_found');
    const since = readTimestamp(body.since);
    const until = clock.now();
    if (since > until) {
      throw new ApiError('invalid_request', { param: 'since', message: '`since` is still to come. Send a past time.' });
    }
    await enqueueReplay(tx, jobs, { webhookId: params.wid, since, until });
    return { webhook_id: params.wid, status: 'queued' as const };
  };
}

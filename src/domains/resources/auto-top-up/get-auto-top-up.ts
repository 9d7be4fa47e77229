import type { Clock } from '../../../kernel/clock/clock.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { NOT_KEPT } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { findSettings } from '../../wallet/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderAutoTopUp } from './render-auto-top-up.ts';
import type { AutoTopUp } from './schema.ts';

export function getAutoTopUp({ clock }: { readonly clock: Clock }) {
  return async ({ caller, db }: WorkspaceRead): Promise<HttpReply<AutoTopUp>> => {
    const scoped = workspaceDb(db, caller.workspaceId);
    const shown = await renderAutoTopUp(scoped, await findSettings(scoped), clock.now());
    return new HttpReply(200, shown, NOT_KEPT);
  };
}

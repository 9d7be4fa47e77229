import { HttpReply } from '../../../kernel/http/operation.ts';
import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { project } from '../../access/operation.ts';
import { provisionSmith } from '../../smiths/index.ts';
import { deleteSmith } from './delete-smith.ts';
import { getSmith } from './get-smith.ts';
import { listRevisions } from './list-revisions.ts';
import { listSmiths } from './list-smiths.ts';
import { renderSmith } from './render-smith.ts';
import { restoreRevision } from './restore-revision.ts';
import {
  RestoreIn,
  RevisionPath,
  Smith,
  SmithCreate,
  SmithPatch,
  SmithPath,
  SmithQuery,
  SmithRevision,
} from './schema.ts';
import { updateSmith } from './update-smith.ts';

export function smithOperations(deps: { readonly jobs: Pick<Jobs, 'enqueue'> }) {
  return [
    project.change({
      id: 'smiths.create',
      method: 'POST',
      path: '/v1/smiths',
      posture: 'tenant',
      scope: 'runs:write',
      summary: 'Provision a smith',
      description:
        'Answers 201 with a new smith, or 200 with the live one that its `external_id` already has: on `agent_id` where ' +
        'that is given, else on whatever agent it is (`smith_exists` where several have one), ' +
        'unchanged: safe to call whenever an end user appears, any number of times at once.',
      status: 201,
      alsoStatus: [200],
      body: SmithCreate,
      example: { model: 'builtin/demo', external_id: 'user-1', display_name: 'Ada' },
      reply: Smith,
      errors: ['not_found', 'agent_unpublished', 'smith_exists', 'invalid_timezone', 'unknown_provider'],
      async handler({ tx, caller, body }) {
        const { smith, isNew } = await provisionSmith(tx, caller, body);
        return new HttpReply(isNew ? 201 : 200, renderSmith(smith));
      },
    }),
    project.read({
      id: 'smiths.list',
      method: 'GET',
      path: '/v1/smiths',
      posture: 'any',
      scope: 'runs:read',
      summary: 'List smiths, newest first',
      description: 'Filters combine. A smith token sees its own smith only.',
      query: SmithQuery,
      reply: pageOf(Smith),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listSmiths,
    }),
    project.read({
      id: 'smiths.get',
      method: 'GET',
      path: '/v1/smiths/{sid}',
      posture: 'any',
      scope: 'runs:read',
      summary: 'Get a smith',
      params: SmithPath,
      reply: Smith,
      handler: getSmith,
    }),
    project.change({
      id: 'smiths.update',
      method: 'PATCH',
      path: '/v1/smiths/{sid}',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Change a smith',
      description:
        'Changes the members that are given. Null clears one: a setting is inherited again. ' +
        'A smith token keeps the agent, the pin and the customer, and may add what it can get itself to the lists. ' +
        'A change is a new revision; a patch that changes nothing is not. It holds from the next turn on.',
      params: SmithPath,
      body: SmithPatch,
      example: { display_name: 'Ada L.' },
      reply: Smith,
      errors: ['empty_patch', 'agent_unpublished', 'smith_exists', 'invalid_timezone', 'unknown_provider'],
      handler: updateSmith,
    }),
    project.change({
      id: 'smiths.delete',
      method: 'DELETE',
      path: '/v1/smiths/{sid}',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Archive a smith',
      description:
        'It is gone from every list and takes no new turn; one in flight runs to its end, and one that waits for somebody is ' +
        'cancelled. Its tokens are revoked and its `external_id` is free again.',
      params: SmithPath,
      handler: deleteSmith(deps),
    }),
    project.read({
      id: 'smiths.revisions.list',
      method: 'GET',
      path: '/v1/smiths/{sid}/revisions',
      posture: 'any',
      scope: 'runs:read',
      summary: 'List a smith’s revisions, newest first',
      params: SmithPath,
      query: Type.Object(pageQuery),
      reply: pageOf(SmithRevision),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listRevisions,
    }),
    project.change({
      id: 'smiths.revisions.restore',
      method: 'POST',
      path: '/v1/smiths/{sid}/revisions/{n}/restore',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Restore a revision',
      description:
        'Makes the smith what it was after that revision, as a new revision. ' +
        '`invalid_state` when the agent or the customer of that time has been deleted.',
      params: RevisionPath,
      body: RestoreIn,
      example: { note: 'as it was' },
      reply: Smith,
      errors: ['invalid_state', 'smith_exists'],
      handler: restoreRevision,
    }),
  ];
}

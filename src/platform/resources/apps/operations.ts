import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { organization } from '../../access/operation.ts';
import { deleteApp } from './delete-app.ts';
import { listApps } from './list-apps.ts';
import { AppInstall, AppPath } from './schema.ts';

export function appOperations() {
  return [
    organization.read({
      id: 'organization.apps.list',
      method: 'GET',
      path: '/v1/organization/apps',
      posture: 'org',
      summary: 'List apps, newest first',
      description: 'One for each project that an app was let into; disconnected ones too.',
      query: Type.Object(pageQuery),
      reply: pageOf(AppInstall),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listApps,
    }),
    organization.change({
      id: 'organization.apps.delete',
      method: 'DELETE',
      path: '/v1/organization/apps/{id}',
      posture: 'org',
      summary: 'Disconnect an app',
      description: 'Every token that it holds in the organization ends at once, in all projects.',
      params: AppPath,
      handler: deleteApp,
    }),
  ];
}

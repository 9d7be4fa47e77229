import { BASE_PATH, workspace } from '../../operation.ts';
import { changeSettings } from './change-settings.ts';
import type { SettingsDependencies } from './dependencies.ts';
import { getGlue } from './get-glue.ts';
import { Glue, Settings, SettingsChange, SettingsPath } from './schema.ts';

export function settingsOperations(deps: SettingsDependencies) {
  return [
    workspace.turn({
      id: 'settings.update',
      method: 'PATCH',
      path: `${BASE_PATH}/domains/{name}/settings`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Change a domain’s settings',
      description:
        'All of a call, or nothing: what the registry refuses changes nothing here. ' +
        'Turning `auto_renew` off before the charge costs nothing; after it the renewal stands, and `renewed_until` says until when.',
      idempotent: true,
      params: SettingsPath,
      body: SettingsChange,
      example: { auto_renew: true },
      reply: Settings,
      errors: ['no_hosted_zone', 'pending_at_registry', 'pending_operation'],
      handler: changeSettings(deps),
    }),
    workspace.read({
      id: 'glue.list',
      method: 'GET',
      path: `${BASE_PATH}/domains/{name}/glue`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List the nameservers below a domain',
      description: 'With the addresses that its registry answers with. `glue` of PATCH …/settings changes them.',
      params: SettingsPath,
      reply: Glue,
      errors: ['not_found', 'pending_at_registry'],
      handler: getGlue(deps),
    }),
  ];
}

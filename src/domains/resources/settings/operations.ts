import { BASE_PATH, workspace } from '../../operation.ts';
import { changeSettings } from './change-settings.ts';
import type { SettingsDependencies } from './dependencies.ts';
import { Settings, SettingsChange, SettingsPath } from './schema.ts';

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
  ];
}
